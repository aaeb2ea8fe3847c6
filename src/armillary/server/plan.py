"""What is decided before any process is forked, and handed to all of them."""

import os
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from armillary.config import Settings
from armillary.errors import Kind, Refusal
from armillary.kv.engine import Engine
from armillary.meter import MeterMap
from armillary.server.certificate import Certificate
from armillary.server.heatlog import HeatLog
from armillary.server.keeper import Job, Wake
from armillary.server.keys import Keys
from armillary.server.roll import Roll
from armillary.server.service import Application, Limits
from armillary.wire.http import HttpLimits

__all__ = ["MakeApp", "MakeJobs", "Plan", "Prepare", "Traffic", "choose_limits", "choose_workers"]

_MOST_WORKERS: Final = 4


class Traffic(NamedTuple):
    """Where the processes of a server write down what they do: the seconds in shared memory, the minutes of a day."""

    meters: MeterMap
    heat: HeatLog
    worker: int = 0


Prepare: TypeAlias = Callable[[Engine], None]
MakeApp: TypeAlias = Callable[[Engine, Settings, Keys, Traffic], Application]
MakeJobs: TypeAlias = Callable[[Engine, Settings, Keys, Traffic], Sequence[Job]]


class Plan(NamedTuple):
    """The same in every process of a family."""

    settings: Settings
    keys: Keys
    certificate: Certificate
    listeners: list[socket.socket]
    limits: Limits
    prepare: Prepare
    make_app: MakeApp
    make_jobs: MakeJobs
    wake: Wake
    roll: Roll  # the workers first, in the order of their numbers, then the keeper
    traffic: Traffic


def choose_workers(settings: Settings) -> int:
    """How many processes serve: as many as asked for, else as cores, at most four. One where they cannot share."""
    alone = ""
    if settings.memory:
        alone = "what is in memory belongs to one process"
    elif sys.platform != "linux":
        alone = "several processes serve one store on Linux only"
    if not alone:
        return settings.workers or min(_MOST_WORKERS, len(os.sched_getaffinity(0)))
    if settings.workers is not None and settings.workers > 1:
        reason = f"{alone}, so there is one worker and not {settings.workers}"
        raise Refusal(Kind.BAD_DEFINITION, what="setting workers", reason=reason)
    return 1


def choose_limits(settings: Settings, descriptors: int) -> Limits:
    """The limits of a worker that may open this many files, most of which the store may want."""
    store = 3 * min(400, max(0, descriptors - 200) // 3)
    return Limits(
        HttpLimits(header_bytes=settings.max_header_bytes, body_bytes=settings.max_body_bytes),
        header_timeout=settings.header_timeout,
        body_timeout=settings.body_timeout,
        idle_timeout=settings.idle_timeout,
        connections=max(16, min(settings.max_connections, descriptors - store - 64)),
        write_queue=settings.write_queue,
    )
