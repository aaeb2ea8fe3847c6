"""What is decided before any process is forked, and handed to all of them."""

import socket
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from armillary.config import Settings
from armillary.kv.engine import Engine
from armillary.meter import MeterMap
from armillary.server.certificate import Certificate
from armillary.server.heatlog import HeatLog
from armillary.server.keeper import Job, Wake
from armillary.server.keys import Keys
from armillary.server.service import Application, Limits
from armillary.wire.http import HttpLimits

__all__ = ["MakeApp", "MakeJobs", "Plan", "Traffic", "choose_limits"]


class Traffic(NamedTuple):
    """Where the processes of a server write down what they do: the seconds in shared memory, the minutes of a day."""

    meters: MeterMap
    heat: HeatLog
    worker: int = 0


MakeApp: TypeAlias = Callable[[Engine, Settings, Keys, Traffic], Application]
MakeJobs: TypeAlias = Callable[[Engine, Settings, Keys, Traffic], Sequence[Job]]


class Plan(NamedTuple):
    """The same in every process of a family."""

    settings: Settings
    keys: Keys
    certificate: Certificate
    listeners: list[socket.socket]
    limits: Limits
    make_app: MakeApp
    make_jobs: MakeJobs
    wake: Wake
    traffic: Traffic


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
