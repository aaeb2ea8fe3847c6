"""The server as its owner starts it: a process with children, in a process group of its own, killed in several ways."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DEADLINE: Final = 60.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Family:
    """One running server. `ready_after` are the seconds of its start, `ready_cpu` those that its processes worked."""

    def __init__(self, folder: Path, log: Path, failpoints: str = "", files: int = 0, workers: int = 1) -> None:
        command = ["serve", "--data", str(folder), "--port", "0", "--ready-json", "--log-level", "error"]
        command += ["--workers", str(workers)]
        limit = ["sh", "-c", f'ulimit -n {files} && exec "$@"', "sh"] if files else []
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ARMILLARY_")}
        if failpoints:
            environment["ARMILLARY_FAILPOINTS"] = failpoints
        began = time.monotonic()
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [*limit, sys.executable, "-P", "-m", "armillary.cli", *command],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.ready_after = time.monotonic() - began
        assert line.endswith(b"\n"), f"no server: exit code {self.process.wait()}\n{log.read_text()[-4000:]}"
        ready = json.loads(line)
        self.http: str = ready["http"]
        self.key: str = ready["key"]
        *self.workers, self.keeper = self.children()
        assert len(self.workers) == workers
        self.ready_cpu = sum(map(measure_cpu, (self.process.pid, *self.workers, self.keeper)))

    def children(self) -> list[int]:
        """In the order of their start: the workers, then the keeper, then whoever replaces one."""
        pid = self.process.pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def kill(self) -> None:
        """All at once."""
        os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> int:
        """Wait until the parent is gone; its exit code."""
        assert self.process.stdout is not None
        code = self.process.wait(DEADLINE)
        self.process.stdout.close()
        return code

    def stop(self) -> int:
        """Tell it to stop; its exit code."""
        self.process.terminate()
        return self.end()

    def replace_worker(self, worker: int) -> float:
        """Kill a worker; the seconds until its parent has another one."""
        began = time.monotonic()
        os.kill(worker, signal.SIGKILL)
        self.workers[self.workers.index(worker)] = self._await_child()
        return time.monotonic() - began

    def replace_keeper(self) -> None:
        os.kill(self.keeper, signal.SIGKILL)
        self.keeper = self._await_child()

    def _await_child(self) -> int:
        before = {*self.workers, self.keeper}
        until = time.monotonic() + DEADLINE
        while time.monotonic() < until:
            fresh = set(self.children()) - before
            if fresh:
                return fresh.pop()
            time.sleep(0.002)
        raise AssertionError("the parent started no other child")


def await_free(folder: Path) -> None:
    """Wait until nobody holds the folder: the killed are gone a moment later than their killer thinks."""
    until = time.monotonic() + DEADLINE
    with (folder / "lock").open("rb") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                assert time.monotonic() < until, "the folder is still in use"
                time.sleep(0.002)
            else:
                return


def measure_cpu(pid: int) -> float:
    """The seconds that a process has worked."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
