"""The family of processes: a parent that forks workers and a keeper, and restarts whichever dies.

    parent         imports, locks the folder, opens the listening sockets; opens no store, starts no thread
      preparation  brings the store in order, and ends before any other is forked
      workers      one event loop each; all of them accept on the parent's sockets
      keeper       jobs

Only the parent knows signals: its children ignore SIGTERM and SIGINT and end when their control socket says so, or
closes, as it does when the parent is killed. The first signal lets everybody finish; the second kills. A child that
dies is started again beside the living, at once the first time, then later and later while it keeps dying; what a start
owes the store is done once, by the preparation, and not then. If one cannot start at the first time, its reason is
raised here and nothing runs.
"""

import gc
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Final, NoReturn

from armillary.errors import Kind, Refusal
from armillary.server.log import LOG
from armillary.server.roll import Roll

__all__ = ["Role", "run_family"]

_SIGNALS: Final = frozenset((signal.SIGTERM, signal.SIGINT))
_LONGEST_PAUSE: Final = 5.0
_STEADY: Final = 10.0  # who has lived this long begins anew with short pauses
_START_WITHIN: Final = 60.0
_READY: Final = b"{}\n"

# What a process of the family does: it gets its control socket and a call that says it is ready.
Run = Callable[[socket.socket, Callable[[], None]], None]


class Role:
    """One part in the family, whichever process has it now."""

    def __init__(self, name: str, run: Run) -> None:
        self.name = name
        self.run = run
        self.pid = 0
        self.control: socket.socket | None = None
        self.started = 0.0
        self.deaths = 0
        self.due: float | None = None  # when to start it again


def run_family(
    first: Role, roles: list[Role], roll: Roll, on_ready: Callable[[], None], on_stop: Callable[[], None]
) -> int:
    """Run until a signal; the exit code. `first` ends before `roles` start, side by side; `roll` has their names."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS | {signal.SIGCHLD})
    # Children share these pages as long as nobody writes on them, and the collector writes on what it looks at.
    gc.collect()
    gc.freeze()
    try:
        _start(first, [])
        _await_ready(first)
        _await_end(first)
        for part, role in enumerate(roles):
            _start(role, roles)
            roll.enter(part, role.pid)
        for role in roles:
            _await_ready(role)
        on_ready()
        _watch(roles, roll)
        on_stop()
        return _end(roles)
    except BaseException:
        _kill([first, *roles])
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(roles: list[Role], roll: Roll) -> None:
    """Restart the dead until a signal says stop."""
    while True:
        pauses = [role.due - time.monotonic() for role in roles if role.due is not None]
        timeout = max(0.0, min(pauses)) if pauses else 3600.0
        found = signal.sigtimedwait(_SIGNALS | {signal.SIGCHLD}, timeout)
        if found is not None and found.si_signo in _SIGNALS:
            LOG.info("stopping: %s", signal.Signals(found.si_signo).name)
            return
        for part, role in enumerate(roles):
            if role.pid and (status := _reap(role)) is not None:
                roll.note_death(part)
                _note_death(role, status)
            if role.due is not None and role.due <= time.monotonic():
                _start(role, roles)
                roll.enter(part, role.pid)


def _note_death(role: Role, status: int) -> None:
    role.deaths = 0 if time.monotonic() - role.started > _STEADY else role.deaths
    pause = min(_LONGEST_PAUSE, 0.1 * 2 ** (role.deaths - 1)) if role.deaths else 0.0
    role.deaths += 1
    role.due = time.monotonic() + pause
    LOG.error("the %s ended (%s); it is started again in %.1f s", role.name, _tell(status), pause)


def _tell(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit code {os.waitstatus_to_exitcode(status)}"


def _reap(role: Role) -> int | None:
    pid, status = os.waitpid(role.pid, os.WNOHANG)
    if not pid:
        return None
    role.pid = 0
    if role.control is not None:
        role.control.close()
    return status


def _end(roles: list[Role]) -> int:
    """Let everybody finish; kill at the second signal."""
    for role in roles:
        if role.control is not None:
            role.control.close()
    while any(role.pid for role in roles):
        found = signal.sigwaitinfo(_SIGNALS | {signal.SIGCHLD})
        if found.si_signo in _SIGNALS:
            _kill(roles)
            return 128 + found.si_signo
        for role in roles:
            if role.pid and (status := _reap(role)):
                LOG.error("the %s ended with %s while stopping", role.name, _tell(status))
    return 0


def _kill(roles: list[Role]) -> None:
    for role in roles:
        if role.pid:
            os.kill(role.pid, signal.SIGKILL)
            os.waitpid(role.pid, 0)
            role.pid = 0


def _start(role: Role, roles: list[Role]) -> None:
    ours, theirs = socket.socketpair()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        ours.close()
        for other in roles:
            if other.control is not None:
                other.control.close()
        _live(role, theirs)
    theirs.close()
    role.pid, role.control, role.started, role.due = pid, ours, time.monotonic(), None


def _live(role: Role, control: socket.socket) -> NoReturn:
    """The life of a child, from fork to exit."""
    code = 1
    try:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        role.run(control, lambda: control.sendall(_READY))
        code = 0
    except Refusal as refusal:
        LOG.error("the %s cannot go on: %s", role.name, refusal)
        _tell_refusal(control, refusal)
    except BaseException:  # noqa: BLE001 - the top of this process: logged, and told by the exit code
        LOG.exception("the %s failed", role.name)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _tell_refusal(control: socket.socket, refusal: Refusal) -> None:
    context = {name: value if isinstance(value, int) else str(value) for name, value in refusal.context.items()}
    try:
        control.sendall(json.dumps({"kind": refusal.kind.name, "context": context}).encode() + b"\n")
    except OSError:
        LOG.debug("the parent is gone: nobody to tell")


def _await_end(role: Role) -> None:
    """Wait until a child that was ready has ended, well."""
    _, status = os.waitpid(role.pid, 0)
    role.pid = 0
    if role.control is not None:
        role.control.close()
    if status:
        raise Refusal(Kind.STORE_BROKEN, detail=f"the {role.name} ended badly ({_tell(status)}); the log says why")


def _await_ready(role: Role) -> None:
    """Wait until the child says that it is ready; raise what it says instead."""
    assert role.control is not None
    role.control.settimeout(_START_WITHIN)
    try:
        with role.control.makefile("rb") as told_by_child:
            line = told_by_child.readline()
    except TimeoutError:
        raise Refusal(Kind.STORE_BROKEN, detail=f"the {role.name} was not ready within {_START_WITHIN:.0f} s") from None
    if not line.endswith(b"\n"):
        raise Refusal(Kind.STORE_BROKEN, detail=f"the {role.name} ended before it was ready; the log says why")
    if line != _READY:
        told = json.loads(line)
        raise Refusal(Kind[told["kind"]], **told["context"])
