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
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env={**os.environ, "ARMILLARY_FAILPOINTS": setting}, capture_output=True
        )
        assert done.returncode == expected, setting


def test_a_wrong_setting_is_an_error() -> None:
    with pytest.raises(ValueError, match="sleep"):
        arm("here=sleep")
