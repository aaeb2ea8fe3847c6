"""A block counts only when it measured the servers: not the load generator, not another program, not errors."""

import pytest
from bench.blocks import Block, Workload
from bench.wrk import Result


def make_block(**rates: list[float]) -> Block:
    good = Result(rate=1, processor=1, p50=100, p99=200, bytes=1000, bad=0, requests=1000)
    results = {
        name: [good._replace(rate=rate, processor=1e6 / rate) for rate in rounds] for name, rounds in rates.items()
    }
    return Block(Workload("point reads", 0, "items"), 16, results, [])


def test_a_good_block() -> None:
    assert make_block(floor=[60_000, 50_000, 55_000], armillary=[20_000, 21_000, 19_000]).doubts() == []


def test_middle_of_the_rounds() -> None:
    block = make_block(floor=[60_000, 50_000, 55_000], armillary=[20_000, 40_000, 25_000])
    assert block.rate("armillary") == 25_000
    assert block.processor("armillary") == pytest.approx(40)


@pytest.mark.parametrize(
    ("rates", "word"),
    [
        ({"floor": [60_000], "armillary": [10_000]}, "fewer than three"),
        ({"floor": [30_000] * 3, "armillary": [10_000] * 3, "cosmium": [25_000] * 3}, "1.20 times the fastest"),
        ({"floor": [60_000, 50_000, 30_000], "armillary": [10_000] * 3}, "2.00 times its slowest"),
    ],
)
def test_doubts(rates: dict[str, list[float]], word: str) -> None:
    (doubt,) = make_block(**rates).doubts()
    assert word in doubt


def test_errors_do_not_count_as_speed() -> None:
    block = make_block(floor=[60_000] * 3, armillary=[20_000] * 3, vercel=[15_000] * 3)
    block.results["vercel"][0] = block.results["vercel"][0]._replace(bad=1)
    assert block.doubts() == ["refused or broken answers: vercel"]
