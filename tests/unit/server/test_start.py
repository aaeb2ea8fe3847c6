"""What is refused before anything starts, and what a server says about itself."""

import os
import sys

import pytest
from tests.unit.server.rig import TestApp

from armillary.config import Settings
from armillary.errors import Kind, Refusal
from armillary.meter import MeterMap
from armillary.server.certificate import Certificate
from armillary.server.heatlog import HeatLog
from armillary.server.keeper import Wake
from armillary.server.keys import WELL_KNOWN_KEY, find_keys
from armillary.server.listeners import open_listeners
from armillary.server.plan import Plan, Traffic, choose_limits, choose_workers
from armillary.server.roll import Roll
from armillary.server.start import _describe, serve


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (Settings(memory=True, port=0, workers=2), Kind.BAD_DEFINITION),
        (Settings(memory=True, port=0, host="192.0.2.1"), Kind.ADDRESS_UNUSABLE),
        (Settings(memory=True, port=0, host="0.0.0.0", key=WELL_KNOWN_KEY), Kind.BAD_DEFINITION),
    ],
)
def test_what_cannot_be_served_is_refused(settings: Settings, kind: Kind) -> None:
    with pytest.raises(Refusal) as refused:
        serve(settings, lambda _engine, _settings, _keys, _traffic: TestApp(), lambda _: None)
    assert refused.value.kind is kind


@pytest.mark.parametrize(
    ("host", "shown"),
    [(None, "127.0.0.1"), ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::1", "[::1]"), ("::", "[::1]")],
)
def test_the_endpoint_is_one_a_client_of_this_machine_can_use(host: str | None, shown: str) -> None:
    settings = Settings(memory=True, port=0, host=host)
    listeners = open_listeners(host, 0)
    wake = Wake()
    plan = Plan(
        settings=settings,
        keys=find_keys(settings),
        certificate=Certificate(None),
        listeners=listeners,
        limits=choose_limits(settings, 1024),
        prepare=lambda _engine: None,
        make_app=lambda _engine, _settings, _keys, _traffic: TestApp(),
        make_jobs=lambda _engine, _settings, _keys, _traffic: (),
        wake=wake,
        roll=Roll(["worker", "keeper"]),
        traffic=Traffic(MeterMap(), HeatLog()),
    )
    ready = _describe(plan)
    port = listeners[0].getsockname()[1]
    for listener in listeners:
        listener.close()
    wake.close()
    assert (ready.endpoint, ready.http) == (f"https://{shown}:{port}/", f"http://{shown}:{port}/")
    assert ready.connection_string == f"AccountEndpoint={ready.endpoint};AccountKey={plan.keys.primary};"


@pytest.mark.parametrize(("descriptors", "connections"), [(256, 138), (1024, 138), (4096, 2832), (65536, 10_000)])
def test_connections_leave_room_for_the_store(descriptors: int, connections: int) -> None:
    assert choose_limits(Settings(), descriptors).connections == connections


@pytest.mark.parametrize(("cores", "workers"), [(1, 1), (3, 3), (16, 4)])
def test_there_are_as_many_workers_as_cores_and_at_most_four(
    cores: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert choose_workers(Settings()) == workers
    assert choose_workers(Settings(workers=7)) == 7


@pytest.mark.parametrize(
    ("settings", "platform", "words"),
    [
        (Settings(memory=True, workers=3), "linux", "what is in memory belongs to one process"),
        (Settings(workers=3), "darwin", "several processes serve one store on Linux only"),
        (Settings(workers=3), "win32", "several processes serve one store on Linux only"),
    ],
)
def test_where_processes_cannot_share_there_is_one(
    settings: Settings, platform: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(Refusal) as refused:
        choose_workers(settings)
    assert refused.value.kind is Kind.BAD_DEFINITION
    assert str(refused.value) == f"The setting workers is not acceptable: {words}, so there is one worker and not 3"
    assert choose_workers(Settings(memory=settings.memory)) == 1
    assert choose_workers(Settings(memory=settings.memory, workers=1)) == 1
