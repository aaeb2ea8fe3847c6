"""The command line starts in a blink: what it does not need at once is not imported, and a bound holds what is.

Processor time is measured, not the clock, and the best of several runs counts: a busy machine does not fail this law.
"""

import json
import resource
import subprocess
import sys
from typing import Final

STARTS: Final = 5
# The command line may cost this many starts of a bare interpreter; `click` alone is one and a half.
BARE_STARTS: Final = 6
LATE: Final = (
    "asyncio",
    "ssl",
    "importlib.metadata",
    "cryptography",
    "rich",
    "uvloop",
    "lmdb",
    "cassandra",
    "armillary.server",
    "armillary.api",
)


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout


def measure_start(code: str) -> float:
    """Processor seconds of the fastest of several starts."""
    seconds = []
    for _ in range(STARTS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run_python(code)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)


def test_help_needs_no_server() -> None:
    loaded = json.loads(run_python("import armillary.cli.main, sys, json; print(json.dumps(list(sys.modules)))"))
    assert not {name for name in LATE if name in loaded}


def test_import_is_quick() -> None:
    bare, ours = measure_start("pass"), measure_start("import armillary.cli.main")
    print(f"bare interpreter {bare * 1000:.0f} ms of processor, with armillary.cli.main {ours * 1000:.0f} ms")
    assert ours <= BARE_STARTS * bare
