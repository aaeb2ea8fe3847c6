"""What a load or dump says of itself."""

import re

from armillary.cli.meter import Meter, open_meter


def test_the_last_line_has_items_speed_and_units() -> None:
    with open_meter("loading", None) as meter:  # no terminal here: no bar
        for _ in range(1200):
            meter.add(1, 5.5)
    assert re.fullmatch(r"1,200 items in [\d.]+ s, [\d,]+ items/s, 6,600.00 RU", meter.describe())


def test_drawing_is_rare_and_gets_the_bytes_done() -> None:
    drawn: list[tuple[int, str]] = []
    meter = Meter(lambda done, counts: drawn.append((done, counts)))
    for number in range(100):
        meter.add(1, 1.0, number)
    assert len(drawn) < 10
