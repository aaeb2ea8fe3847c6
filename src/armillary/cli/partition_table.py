"""The table of `armillary partitions`: a page in, something to print out. It asks nobody and knows no time.

Colour says nothing that is not there in figures or words too, so the table is whole without it. The hottest keys get
what is left of the width, and are cut first.
"""

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from armillary.cli.pages import Container, Offer, Partition, Partitions

__all__ = ["draw_partitions"]

_WIDE: Final = 110  # columns; below it bars are short, and only the hottest key is told
_LONG_BAR: Final = 20
_SHORT_BAR: Final = 8
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_WARM: Final = 0.7
_KEYS: Final = 3
_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")
_COLUMNS: Final = ("RANGE", "ITEMS", "SIZE", "OF LIMIT", "BUDGET USED", "RU/S", "429S", "HOTTEST KEYS")
_LEFT: Final = ("RANGE", "BUDGET USED", "HOTTEST KEYS")


def draw_partitions(page: Partitions, width: int) -> RenderableType:
    """All containers of a page, one table for each, for so many columns of the terminal."""
    parts: list[RenderableType] = []
    if page.scale != 1:
        parts.append(Text(f"All limits of this server are scaled by {page.scale:g}: storage, RU/s and caps."))
    for container in page.containers:
        if parts:
            parts.append(Text())
        title = (f"{container.database}/{container.container}", "bold")
        parts.append(Text.assemble(title, "  ", _describe_offer(container.offer)))
        parts.append(_draw_table(container, width >= _WIDE))
        parts.extend(Text(line, "bold") for line in _tell_splits(container))
    return Group(*parts) if page.containers else Text("There are no containers.")


def _draw_table(container: Container, wide: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for title in _COLUMNS:
        if wide or title != "OF LIMIT":
            table.add_column(title, justify="left" if title in _LEFT else "right", no_wrap=title != "HOTTEST KEYS")
    for part in container.partitions:
        limit = [f"{part.bytes / part.limit_bytes:.0%}" if part.limit_bytes else "-"] if wide else []
        keys = "\n".join(_tell_keys(part, _KEYS if wide else 1))
        table.add_row(
            part.range,
            f"{part.items:,}",
            _show_bytes(part.bytes),
            *limit,
            _draw_bar(part.ru, part.budget, _LONG_BAR if wide else _SHORT_BAR),
            f"{part.ru:,.0f} / {part.budget:,.0f}" if part.budget else f"{part.ru:,.0f}",
            Text(f"{part.throttled:,}", "bold red" if part.throttled else ""),
            Text(keys or "-", no_wrap=True, overflow="ellipsis"),
        )
    return table


def _describe_offer(offer: Offer | None) -> str:
    if offer is None:
        return "shares the throughput of its database"
    if offer.autoscale:
        now = "" if offer.factor == 1 else f", now at {offer.factor:.0%} of it"
        return f"autoscale to {offer.throughput:,} RU/s{now}"
    return f"{offer.throughput:,} RU/s{', implicit: metered, not throttled' if offer.implicit else ''}"


def _show_bytes(count: float) -> str:
    if count < 1024:
        return f"{count:.0f} B"
    for unit in _UNITS:
        count /= 1024
        if count < 1024 or unit == _UNITS[-1]:
            break
    return f"{count:.1f} {unit}"


def _draw_bar(used: float, budget: float, long: int) -> Text:
    """A bar that is full when the budget is used up, and the share in figures."""
    if not budget:
        return Text("no budget", "dim")
    share = used / budget
    eighths = round(min(share, 1.0) * long * 8)
    bar = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    colour = "red" if share >= 1 else "yellow" if share >= _WARM else "blue"
    return Text.assemble((bar, colour), ("·" * (long - len(bar)), "dim"), f" {share:4.0%}")


def _tell_keys(part: Partition, most: int) -> Iterator[str]:
    for key in part.hot[:most]:
        yield f"{key.key} {key.ru:,.0f} RU{f', {key.throttled:,} x 429' if key.throttled else ''}"


def _tell_splits(container: Container) -> Iterator[str]:
    for part in container.partitions:
        if part.split is not None:
            yield f"range {part.range} is being split ({part.split.id}): {part.split.state}, {part.split.phase}"
