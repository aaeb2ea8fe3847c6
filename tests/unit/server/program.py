"""A server as a program of its own, for tests of its processes: `program.py memory|FOLDER [WORKERS] [how it starts]`.

Prints one JSON line when ready. The application is that of the rig; `/pid` says who serves.
"""

import contextlib
import json
import os
import sys
from pathlib import Path

from tests.unit.server.rig import HEAD, PARTITION, TestApp

from armillary.config import Settings
from armillary.errors import Kind, Refusal
from armillary.kv.engine import Engine
from armillary.kv.steps import Steps
from armillary.server.keys import Keys
from armillary.server.plan import Traffic
from armillary.server.start import Ready, serve
from armillary.wire.http import Request, Response

PLACE = sys.argv[1]
WORKERS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
HOW = sys.argv[3] if len(sys.argv) > 3 else ""


class Program(TestApp):
    def handle(self, request: Request) -> Response | Steps[Response]:
        if request.path == b"/pid":
            return Response(200, HEAD, b"%d" % os.getpid())
        if request.path == b"/open":
            self.gate.set()
        return super().handle(request)


def prepare(engine: Engine) -> None:
    """A new partition, and a line in a file for each time that this was called."""
    if HOW == "unprepared":
        raise Refusal(Kind.FORMAT_NEWER, folder=PLACE, found=7, known=1)
    if HOW == "killed":
        os.kill(os.getpid(), 9)
    if PARTITION in engine.partitions():
        engine.drop(PARTITION)
    engine.create(PARTITION, b"header")
    if PLACE != "memory":
        _note("prepared")


def make_app(engine: Engine, _: Settings, __: Keys, ___: Traffic) -> Program:
    if HOW == "refused":
        raise Refusal(Kind.FORMAT_NEWER, folder=PLACE, found=9, known=1)
    if HOW == "broken":
        raise LookupError("the application is broken")
    if PLACE != "memory":
        preparation = int(Path(PLACE, "prepared").read_text().split()[-1])
        with contextlib.suppress(ProcessLookupError):
            os.kill(preparation, 0)
            raise LookupError("the preparation has not ended")
        _note_clearing(engine)
    return Program()


def _note_clearing(engine: Engine) -> None:
    """Write down who clears up after a death."""
    clear_up = engine.clear_up  # type: ignore[attr-defined]  # an engine in a folder has it

    def clear_up_and_tell() -> None:
        clear_up()
        _note("cleared")

    setattr(engine, "clear_up", clear_up_and_tell)  # noqa: B010 - the contract has no such name


def _note(name: str) -> None:
    with Path(PLACE, name).open("a") as lines:
        lines.write(f"{os.getpid()}\n")


def announce(ready: Ready) -> None:
    sys.stdout.write(json.dumps([ready.http, ready.pid]) + "\n")
    sys.stdout.flush()


def main() -> int:
    memory = PLACE == "memory"
    settings = Settings(memory=memory, port=0, data=Path("unused") if memory else Path(PLACE), workers=WORKERS)
    try:
        return serve(settings, make_app, announce, prepare=prepare)
    except Refusal as refusal:
        sys.stdout.write(json.dumps([refusal.kind.name, str(refusal)]) + "\n")
        return 3


if __name__ == "__main__":
    sys.exit(main())
