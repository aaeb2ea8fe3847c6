"""The keeper: jobs that run beside the workers, each by its own clock.

One process (or one thread, where everything is in memory) that runs what is due, in the order it became due, and sleeps
otherwise. A worker can wake it. A job that fails is logged and tried again later and later; it takes no other with it.
A job must return within moments: what is long does a piece and says when it wants the next.
"""

import heapq
import select
import socket
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from armillary.server.log import LOG

__all__ = ["Job", "Wake", "keep"]

_FIRST_RETRY: Final = 1.0
_LAST_RETRY: Final = 60.0


class Job(NamedTuple):
    """What is to be done every so many seconds; the call may name the seconds until its next run."""

    name: str
    every: float
    call: Callable[[], float | None]
    wakes: bool = False  # runs at once when a worker wakes the keeper
    stop: Callable[[], None] = lambda: None  # ends what the job has under way


class Wake:
    """A bell between processes, made before they part: any of them rings it, the keeper hears it once."""

    def __init__(self) -> None:
        self._ear, self._rope = socket.socketpair()
        self._ear.setblocking(False)
        self._rope.setblocking(False)

    def close(self) -> None:
        self._ear.close()
        self._rope.close()

    def fileno(self) -> int:
        return self._ear.fileno()

    def ring(self) -> None:
        try:
            self._rope.send(b"!")
        except BlockingIOError:
            return  # it is ringing already

    def hear(self) -> None:
        try:
            while self._ear.recv(4096):
                pass
        except BlockingIOError:
            return


class _Due(NamedTuple):
    at: float
    order: int
    failures: int


def keep(jobs: Sequence[Job], wake: Wake, control: socket.socket) -> None:
    """Run jobs until something, or the end, is read from `control`. All jobs run once at the start."""
    try:
        _keep(jobs, wake, control)
    finally:
        for job in jobs:
            job.stop()


def _keep(jobs: Sequence[Job], wake: Wake, control: socket.socket) -> None:
    now = time.monotonic()
    due = [_Due(now, order, 0) for order in range(len(jobs))]
    while True:
        pause = max(0.0, due[0].at - time.monotonic()) if due else None
        readable, _, _ = select.select([control.fileno(), wake.fileno()], [], [], pause)
        if control.fileno() in readable:
            return
        if wake.fileno() in readable:
            wake.hear()
            due = [_Due(0.0, item.order, item.failures) if jobs[item.order].wakes else item for item in due]
            heapq.heapify(due)
        if due and due[0].at <= time.monotonic():
            heapq.heapreplace(due, _run(jobs[due[0].order], due[0]))


def _run(job: Job, due: _Due) -> _Due:
    try:
        pause = job.call()
    except Exception:  # noqa: BLE001 - handled: logged, and the job is tried again
        LOG.exception("the job %s failed", job.name)
        retry = min(_LAST_RETRY, _FIRST_RETRY * 2**due.failures)
        return _Due(time.monotonic() + retry, due.order, due.failures + 1)
    return _Due(time.monotonic() + (job.every if pause is None else pause), due.order, 0)
