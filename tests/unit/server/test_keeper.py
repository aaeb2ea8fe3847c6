"""Jobs: at their time, when woken, and one failing job beside the others."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from tests.unit.server.rig import DEADLINE, await_condition

from armillary.server.keeper import Job, Wake, keep


@pytest.fixture
def run() -> Iterator[Callable[..., Wake]]:
    ours, theirs = socket.socketpair()
    threads: list[threading.Thread] = []
    wake = Wake()

    def start(*jobs: Job) -> Wake:
        threads.append(threading.Thread(target=keep, args=(jobs, wake, theirs)))
        threads[0].start()
        return wake

    yield start
    ours.close()
    for thread in threads:
        thread.join(DEADLINE)
        assert not thread.is_alive()
    theirs.close()
    wake.close()


def test_jobs_run_at_the_start_and_by_their_interval(run: Callable[..., Wake]) -> None:
    often: list[float] = []
    seldom: list[float] = []
    run(Job("often", 0.01, lambda: often.append(time.monotonic())), Job("seldom", 60, lambda: seldom.append(0)))
    await_condition(lambda: len(often) >= 10, "the frequent job ran ten times")
    assert seldom == [0]
    assert min(after - before for before, after in pairwise(often)) >= 0.009


def test_a_job_may_name_its_next_time(run: Callable[..., Wake]) -> None:
    runs: list[int] = []

    def soon_three_times() -> float:
        runs.append(1)
        return 0.0 if len(runs) < 3 else 60.0

    run(Job("pieces", 60, soon_three_times))
    await_condition(lambda: len(runs) == 3, "three pieces were done")


def test_waking_runs_what_wants_it(run: Callable[..., Wake]) -> None:
    woken: list[int] = []
    other: list[int] = []
    wake = run(Job("woken", 60, lambda: woken.append(1), wakes=True), Job("other", 60, lambda: other.append(1)))
    await_condition(lambda: woken and other, "both ran at the start")
    for _ in range(10_000):
        wake.ring()
    await_condition(lambda: len(woken) >= 2, "the woken job ran again")
    assert other == [1]


def test_a_failing_job_is_tried_again_and_harms_no_other(run: Callable[..., Wake]) -> None:
    failures: list[int] = []
    good: list[int] = []

    def fail() -> None:
        failures.append(1)
        raise OSError("not today")

    wake = run(Job("failing", 0.01, fail, wakes=True), Job("good", 0.01, lambda: good.append(1)))
    await_condition(lambda: len(good) >= 10, "the good job goes on")
    assert failures == [1]  # its next try is a second away
    wake.ring()
    await_condition(lambda: len(failures) == 2, "a woken job is tried at once")


def test_without_jobs_it_waits_for_the_end(run: Callable[..., Wake]) -> None:
    run().ring()
