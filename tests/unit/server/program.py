"""A server as a program of its own, for tests of its processes: `program.py memory|FOLDER [how the worker starts]`.

Prints one JSON line when ready. The application is that of the rig; `/pid` says who serves.
"""

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


class Program(TestApp):
    def __init__(self, engine: Engine) -> None:
        if PARTITION in engine.partitions():
            engine.drop(PARTITION)
        super().__init__(engine)

    def handle(self, request: Request) -> Response | Steps[Response]:
        if request.path == b"/pid":
            return Response(200, HEAD, b"%d" % os.getpid())
        if request.path == b"/open":
            self.gate.set()
        return super().handle(request)


def make_app(engine: Engine, _: Settings, __: Keys, ___: Traffic) -> Program:
    if sys.argv[2:] == ["refused"]:
        raise Refusal(Kind.FORMAT_NEWER, folder=sys.argv[1], found=9, known=1)
    if sys.argv[2:] == ["broken"]:
        raise LookupError("the application is broken")
    return Program(engine)


def announce(ready: Ready) -> None:
    sys.stdout.write(json.dumps([ready.http, ready.pid]) + "\n")
    sys.stdout.flush()


def main() -> int:
    memory = sys.argv[1] == "memory"
    settings = Settings(memory=memory, port=0, data=Path("unused") if memory else Path(sys.argv[1]))
    try:
        return serve(settings, make_app, announce)
    except Refusal as refusal:
        sys.stdout.write(json.dumps([refusal.kind.name, str(refusal)]) + "\n")
        return 3


if __name__ == "__main__":
    sys.exit(main())
