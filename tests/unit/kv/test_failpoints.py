"""Failpoints: unarmed they do nothing, armed they kill."""

import os
import subprocess
import sys

import pytest

from armillary.kv.failpoints import arm

PROGRAM = "from armillary.kv.failpoints import reach; reach('here'); reach('there'); print('alive')"


def test_unarmed_does_nothing() -> None:
    arm("")("anything")


def test_armed_kills_at_its_place_only() -> None:
    for setting, expected in (("there=kill", -9), ("elsewhere=kill", 0), ("here=kill:0,there=kill:0", 0)):
        assert run(PROGRAM, setting).returncode == expected, setting


def test_a_time_counts_how_often_a_place_was_reached() -> None:
    program = "from armillary.kv.failpoints import reach\nfor at in range(4): reach('here'); print(at, flush=True)"
    for setting, printed in (("here=kill#3", b"0\n1\n"), ("here=kill#9", b"0\n1\n2\n3\n")):
        assert run(program, setting).stdout == printed, setting


def test_a_family_dies_together() -> None:
    program = (
        "import os, signal\nfrom armillary.kv.failpoints import reach\n"
        "os.fork() or signal.pause()\nreach('here')\nprint('alive')"
    )
    done = run(program, "here=kill-family")
    assert (done.returncode, done.stdout) == (-9, b"")


def run(program: str, setting: str) -> "subprocess.CompletedProcess[bytes]":
    """A program that would write to its output for ever if a child of it lived on."""
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "ARMILLARY_FAILPOINTS": setting},
        capture_output=True,
        start_new_session=True,
        timeout=30,
    )


def test_a_wrong_setting_is_an_error() -> None:
    with pytest.raises(ValueError, match="sleep"):
        arm("here=sleep")
