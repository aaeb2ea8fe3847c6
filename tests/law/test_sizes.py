"""Nothing grows past what one page can tell."""

from collections.abc import Iterable

from tests.law import sizes
from tests.law.source import PACKAGE, read_everything, read_product


def find_larger(found: Iterable[sizes.Size], limit: int) -> list[str]:
    return [f"{size.place}: {size.value} is over {limit}" for size in found if size.value > limit]


def test_print_the_table() -> None:
    print("\n" + sizes.draw_table(read_product()))


def test_files_are_short() -> None:
    assert not find_larger(sizes.measure_files(read_everything()), sizes.FILE_LINES)


def test_functions_are_short() -> None:
    assert not find_larger(sizes.measure_functions(read_everything()), sizes.FUNCTION_LINES)


def test_functions_take_few_arguments() -> None:
    found = sizes.measure_arguments(read_product())
    assert not find_larger(found, sizes.ARGUMENTS)
    assert sizes.pick(found, 0.9) <= 4


def test_most_things_are_small() -> None:
    assert sizes.pick(sizes.measure_files(read_product()), 0.5) <= 150
    assert sizes.pick(sizes.measure_functions(read_product()), 0.5) <= 7
    assert sizes.pick(sizes.measure_functions(read_product()), 0.9) <= 25


def test_modules_show_few_names() -> None:
    root = [size for size in sizes.measure_names(read_product()) if size.place == f"src/{PACKAGE}/__init__.py"]
    assert not find_larger(root, sizes.ROOT_NAMES)
    found = sizes.measure_names(read_product())
    assert not find_larger(found, sizes.NAMES)
    assert sizes.pick(found, 0.5) <= 4
    assert sizes.pick(found, 0.9) <= 15
