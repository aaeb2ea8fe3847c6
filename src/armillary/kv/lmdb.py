"""The embedded engine: two LMDB environments for each partition. The only module that imports `lmdb`.

    <data>/partitions/<id>/items    HEAD (00) -> LSN 8 | commit id 8 | header, key -> value      synced at every commit
    <data>/partitions/<id>/index    main: STATE -> watermark 8 | watermark before it 8
                                    `terms`: term -> item numbers of 8 bytes, sorted      data synced, meta page not

A commit of items is on the disk when `write` answers. A commit of the index is written in full before its meta page is,
and the meta page becomes durable with the next commit: a power failure can undo the last batch, never tear it. That is
why the state keeps the watermark of the commit before: that one nothing can take back (`TermReader.synced`).

The map is reserved once and never resized; values are copied out; nothing here outlives its transaction. A dropped
partition first gets an empty HEAD in a commit, so that other processes, which may have it open for a long time to come,
can neither read it nor be told that they wrote to it. Leaves out: which files stay open (`environments`), the folder
and its lock (`folder`), which thread calls (`server`).
"""

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import lmdb

from armillary.clock import Clock
from armillary.errors import Kind, Refusal
from armillary.kv.cursors import pack_number
from armillary.kv.engine import Applied, Outcome, Rejected, TermChanges, Unknown, Work
from armillary.kv.environments import Environments, Opened, count_affordable
from armillary.kv.failpoints import reach
from armillary.kv.folder import DataFolder, publish
from armillary.kv.overlay import Overlay
from armillary.kv.rules import EMBEDDED, check_terms, weigh_changes
from armillary.kv.snapshots import (
    HEAD,
    STATE,
    Head,
    NoTerms,
    SnapshotReader,
    SnapshotTermReader,
    State,
    Stored,
    pack_head,
    pack_state,
    read_head,
    read_state,
)

GIB: Final = 1 << 30
GROUP_BYTES: Final = 4 << 20
GROUP_SECONDS: Final = 0.010
READERS: Final = 254
LOCK_BYTES: Final = 20_480  # 64 bytes for each reader, and a head
NEARLY_FULL: Final = 1 << 20
# 0.9's file format: see docs/decisions/20261119-lmdb-file-format.md
LIB_VERSION: Final = 0

TERMS: Final = b"terms"
ITEMS: Final = "items"
INDEX: Final = "index"
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

Transaction: TypeAlias = "lmdb.Transaction[bytes]"
Step: TypeAlias = Callable[[Transaction, "lmdb._Database | None"], int]


class Handle(NamedTuple):
    """One open environment; `terms` only in an index."""

    environment: lmdb.Environment
    terms: lmdb._Database | None = None


class Sizes(NamedTuple):
    """The bytes that a partition takes on the disk."""

    items: int
    terms: int


class LmdbTerms:
    """The terms of one partition."""

    __slots__ = ("_engine", "_partition")

    def __init__(self, engine: "LmdbEngine", partition: bytes) -> None:
        self._engine = engine
        self._partition = partition

    def read(self) -> SnapshotTermReader | NoTerms:
        opened = self._engine.find_index(self._partition)
        if opened is None:
            return NoTerms()
        environment, terms = opened.handle
        try:
            return SnapshotTermReader(_begin(environment), terms, opened.pins)
        except lmdb.Error as error:
            opened.pins.pop()
            raise _translate(error, self._engine.path) from error

    def apply(self, step: Callable[[int], TermChanges | None]) -> int:
        def run(transaction: Transaction, terms: lmdb._Database | None) -> int:
            watermark = read_state(transaction).watermark
            changes = step(watermark)
            if changes is None:
                return watermark
            check_terms(changes, EMBEDDED)
            for term, number in changes.removes:
                transaction.delete(term, pack_number(number), db=terms)
            with transaction.cursor(terms) as cursor:
                cursor.putmulti([(term, pack_number(number)) for term, number in sorted(changes.adds)])
            transaction.put(STATE, pack_state(State(changes.watermark, synced=watermark)))
            return changes.watermark

        return self._commit(self._engine.pin_index(self._partition), run)

    def clear(self) -> None:
        def run(transaction: Transaction, terms: lmdb._Database | None) -> int:
            assert terms is not None
            transaction.drop(terms, delete=False)
            transaction.put(STATE, pack_state(State(0, 0)))
            return 0

        opened = self._engine.find_index(self._partition)
        if opened is not None:
            self._commit(opened, run, final=True)

    def _commit(self, opened: Opened[Handle], run: Step, *, final: bool = False) -> int:
        environment, terms = opened.handle
        try:
            with environment.begin(write=True) as transaction:
                watermark = run(transaction, terms)
            if final:
                # What was cleared must not come back beside a log that was trimmed since.
                environment.sync(True)
            return watermark
        except lmdb.Error as error:
            raise _translate(error, self._engine.path) from error
        finally:
            opened.pins.pop()


# --- the engine


class LmdbEngine:
    """A data folder. Make it before the process forks, use it after: what was open before a fork is refused."""

    local = True
    durable = "a power failure"
    limits = EMBEDDED

    def __init__(self, folder: Path, *, storage_limit: int = 50 * GIB, clock: Clock | None = None) -> None:
        self.path = folder
        self._folder = DataFolder(folder)
        self._clock = clock or Clock()
        self._map = max(GIB, 4 * storage_limit)
        self._environments: Environments[Handle] = Environments(count_affordable())

    def create(self, partition: bytes, header: bytes) -> None:
        place = self._folder.locate(partition)
        if place.exists():
            raise _clash(partition)
        made = self._folder.draw_scratch()
        try:
            (made / ITEMS).mkdir(parents=True, mode=0o700)
            with self._open_file(made / ITEMS) as environment, environment.begin(write=True) as transaction:
                transaction.put(HEAD, pack_head(Head(0, 0, header)))
            publish(made, place)
        except (OSError, lmdb.Error, Refusal) as error:
            shutil.rmtree(made, ignore_errors=True)
            raise _clash(partition) if place.exists() else _translate(error, self.path) from error

    def drop(self, partition: bytes) -> None:
        try:
            opened = self._pin_items(partition)
        except Refusal as refusal:
            if refusal.kind is not Kind.PARTITION_MISSING:
                raise
            return
        try:
            with opened.handle.environment.begin(write=True) as transaction:
                transaction.put(HEAD, b"")
        except lmdb.Error as error:
            # A full disk must not keep anybody from making room; only other processes learn of it later.
            if _translate(error, self.path).kind is not Kind.DISK_FULL:
                raise _translate(error, self.path) from error
        finally:
            opened.pins.pop()
        reach("before-drop")
        self._folder.discard(self._folder.locate(partition))
        self._forget(partition)

    def partitions(self) -> list[bytes]:
        return self._folder.list_partitions()

    def read(self, partition: bytes) -> SnapshotReader:
        opened = self._pin_items(partition)
        try:
            transaction = _begin(opened.handle.environment)
            return SnapshotReader(transaction, _must_read_head(transaction, partition), opened.pins)
        except BaseException as error:
            opened.pins.pop()
            self._forget_if_missing(partition, error)
            raise _translate(error, self.path) from error

    def _forget_if_missing(self, partition: bytes, error: BaseException) -> None:
        """Another process dropped it: close what we have of it, so that its room is free."""
        if isinstance(error, Refusal) and error.kind is Kind.PARTITION_MISSING:
            self._forget(partition)

    def _forget(self, partition: bytes) -> None:
        for part in (ITEMS, INDEX):
            self._environments.retire((partition, part), _miss(partition))

    def write(self, partition: bytes, works: Sequence[Work]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        try:
            opened = self._pin_items(partition)
        except Refusal as refusal:
            return [Rejected(refusal) for _ in works]
        try:
            while len(outcomes) < len(works):
                outcomes += self._commit(opened, partition, works[len(outcomes) :])
        finally:
            opened.pins.pop()
        return outcomes

    def _commit(self, opened: Opened[Handle], partition: bytes, works: Sequence[Work]) -> list[Outcome]:
        """One transaction of as many works as may hold the lock together; an outcome for each of them."""
        environment = opened.handle.environment
        outcomes: list[Outcome] = []
        try:
            transaction = environment.begin(write=True)
        except lmdb.Error as error:
            return [Rejected(_translate(error, self.path)) for _ in works]
        try:
            head = _must_read_head(transaction, partition)
            overlay = Overlay(Stored(transaction), head.lsn + 1, head.header)
            self._run(works, overlay, outcomes)
            if overlay.lsn == head.lsn + 1:
                transaction.abort()
                return outcomes
            commit = _store(transaction, overlay)
        except (lmdb.Error, Refusal) as error:
            transaction.abort()
            self._forget_if_missing(partition, error)
            return _fail(outcomes or works, _translate(error, self.path))
        except BaseException:
            transaction.abort()
            raise
        reach("before-commit")
        try:
            transaction.commit()
        except lmdb.Error as error:
            if _is_panicked(environment):
                self._environments.retire((partition, ITEMS), _translate(error, self.path))
                return [_doubt(outcome, commit) for outcome in outcomes]
            return _fail(outcomes, _translate(error, self.path))
        reach("after-commit")
        return outcomes

    def _run(self, works: Sequence[Work], overlay: Overlay, outcomes: list[Outcome]) -> None:
        """Run works one after another until there are enough for one commit."""
        until = self._clock.monotonic() + GROUP_SECONDS
        size = 0
        for work in works[: EMBEDDED.commit_works]:
            try:
                changes = work(overlay)
                size += weigh_changes(changes, EMBEDDED)
            except lmdb.Error:
                raise
            except Exception as error:  # noqa: BLE001 - the outcome of this member, not of the commit
                outcomes.append(Rejected(error))
            else:
                outcomes.append(Applied(overlay.lsn, changes.result))
                overlay.apply(changes)
            if size >= GROUP_BYTES or self._clock.monotonic() >= until:
                return

    def settle(self, partition: bytes, unknown: Unknown) -> Outcome:
        """Look whether a commit whose last page failed to be written is there; if not, see to it that it never is."""
        opened = self._pin_items(partition)
        try:
            with opened.handle.environment.begin(write=True) as transaction:
                head = _must_read_head(transaction, partition)
                if head.commit == int.from_bytes(unknown.commit):
                    return Applied(unknown.lsn, unknown.result)
                if head.lsn >= unknown.lsn:
                    return unknown
                transaction.put(HEAD, pack_head(head._replace(commit=_draw_commit())))
        except lmdb.Error:
            return unknown
        finally:
            opened.pins.pop()
        return Rejected(Refusal(Kind.STORE_BROKEN, detail="the commit was not written"))

    def terms(self, partition: bytes) -> LmdbTerms:
        return LmdbTerms(self, partition)

    def check_readers(self) -> int:
        """Free the slots of readers that died, in all that is open here; how many there were. Slots pin old pages."""
        found = self._environments.each()
        try:
            return sum(opened.handle.environment.reader_check() for opened in found)
        except lmdb.Error as error:
            raise _translate(error, self.path) from error
        finally:
            for opened in found:
                opened.pins.pop()

    def clear_up(self) -> None:
        """Another process that used this folder died: nothing that is open here keeps waiting for it."""
        found = self._environments.each()
        try:
            for opened in found:
                _forget_dead(opened.handle.environment)
        except lmdb.Error as error:
            raise _translate(error, self.path) from error
        finally:
            for opened in found:
                opened.pins.pop()

    def measure(self, partition: bytes) -> Sizes:
        """What the files of a partition take on the disk."""
        place = self._folder.locate(partition)
        return Sizes(*(_measure_file(place / part / "data.mdb") for part in (ITEMS, INDEX)))

    def close(self) -> None:
        self._environments.close()
        self._folder.close()

    def _pin_items(self, partition: bytes) -> Opened[Handle]:
        return self._environments.pin((partition, ITEMS), partial(self._open_items, partition))

    def pin_index(self, partition: bytes) -> Opened[Handle]:
        """The open index of a partition, made if there is none."""
        return self._environments.pin((partition, INDEX), partial(self._open_index, partition))

    def find_index(self, partition: bytes) -> Opened[Handle] | None:
        """The open index of a partition; None when it never had one."""
        if (partition, INDEX) in self._environments:
            return self.pin_index(partition)
        place = self._folder.locate(partition)
        if (place / INDEX).exists():
            return self.pin_index(partition)
        if not place.exists():
            raise _miss(partition)
        return None

    def _open_items(self, partition: bytes) -> Opened[Handle]:
        place = self._folder.locate(partition)
        try:
            environment = self._open_file(place / ITEMS)
        except Refusal as refusal:
            raise _find_reason(refusal, place, partition) from refusal
        return Opened(Handle(environment), environment.close)

    def _open_index(self, partition: bytes) -> Opened[Handle]:
        place = self._folder.locate(partition)
        try:
            if not (place / INDEX).exists():
                self._make_index(place / INDEX)
            environment = self._open_file(place / INDEX, metasync=False, max_dbs=1)
        except Refusal as refusal:
            raise _find_reason(refusal, place, partition) from refusal
        return Opened(Handle(environment, environment.open_db(TERMS, create=False)), environment.close)

    def _make_index(self, place: Path) -> None:
        made = self._folder.draw_scratch()
        try:
            made.mkdir(mode=0o700)
            with self._open_file(made, max_dbs=1) as environment, environment.begin(write=True) as transaction:
                environment.open_db(TERMS, transaction, dupsort=True, dupfixed=True)
                transaction.put(STATE, pack_state(State(0, 0)))
            publish(made, place)
        except (OSError, lmdb.Error, Refusal) as error:
            shutil.rmtree(made, ignore_errors=True)
            # Another process may have made it first: theirs is as good.
            if not place.exists():
                raise _translate(error, self.path) from error

    def _open_file(self, place: Path, *, metasync: bool = True, max_dbs: int = 0) -> lmdb.Environment:
        try:
            _allocate_lock(place / "lock.mdb")
            environment = lmdb.open(
                str(place),
                map_size=self._map,
                metasync=metasync,
                max_dbs=max_dbs,
                max_readers=READERS,
                max_spare_txns=1,
                mode=0o700,
                create=False,
                lib_version=LIB_VERSION,
            )
        except (OSError, lmdb.Error) as error:
            raise _translate(error, self.path) from error
        _forget_dead(environment)
        return environment


def _forget_dead(environment: lmdb.Environment) -> None:
    """Free the slots of readers that died, and see what writers that died had committed."""
    environment.reader_check()
    # A writer killed between its meta page and telling other processes has committed, and readers do not see it
    # before somebody takes its lock: what was found absent after a restart must not come to light later.
    environment.begin(write=True).abort()


def _allocate_lock(file: Path) -> None:
    """Give the lock file its blocks before LMDB maps it: a mapped page that a full disk cannot hold is a bus error."""
    if hasattr(os, "posix_fallocate"):
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if os.fstat(descriptor).st_blocks * 512 < LOCK_BYTES:
                os.posix_fallocate(descriptor, 0, LOCK_BYTES)
        finally:
            os.close(descriptor)


def _begin(environment: lmdb.Environment) -> Transaction:
    try:
        return environment.begin()
    except lmdb.ReadersFullError:
        environment.reader_check()
        return environment.begin()


def _must_read_head(transaction: Transaction, partition: bytes) -> Head:
    head = read_head(transaction)
    if head is None:
        raise _miss(partition)
    return head


def _store(transaction: Transaction, overlay: Overlay) -> int:
    """Write what the members came to; the id of the commit."""
    commit = _draw_commit()
    puts = [(HEAD, pack_head(Head(overlay.lsn - 1, commit, overlay.header)))]
    for key, value in overlay.fold():
        if value is None:
            transaction.delete(key)
        else:
            puts.append((key, value))
    with transaction.cursor() as cursor:
        cursor.putmulti(puts)
    return commit


def _draw_commit() -> int:
    return int.from_bytes(os.urandom(8))


def _fail(members: Sequence[Outcome | Work], refusal: Refusal) -> list[Outcome]:
    """The commit came to nothing: whoever had not refused by himself is told why."""
    return [member if isinstance(member, Rejected) else Rejected(refusal) for member in members]


def _doubt(outcome: Outcome, commit: int) -> Outcome:
    return Unknown(pack_number(commit), outcome.lsn, outcome.result) if isinstance(outcome, Applied) else outcome


def _is_panicked(environment: lmdb.Environment) -> bool:
    """Whether the meta page failed to be written: then LMDB goes no further, and the commit may or may not be there."""
    try:
        environment.begin(write=True).abort()
    except lmdb.Error:
        return True
    return False


def _translate(error: BaseException, folder: Path | None = None) -> Refusal:
    """What an error of the driver or the disk means to a caller."""
    if isinstance(error, Refusal):
        return error
    if not isinstance(error, lmdb.Error | OSError):
        raise error
    code = error.errno if isinstance(error, OSError) else getattr(error, "code", 0)
    if isinstance(error, lmdb.MapFullError):
        return Refusal(Kind.DISK_FULL, detail="the partition has filled the room reserved for it")
    # A short write, which is how a disk fills up, is an input/output error to LMDB.
    if code in _FULL or (code == errno.EIO and folder is not None and _is_full(folder)):
        return Refusal(Kind.DISK_FULL, detail=str(error))
    return Refusal(Kind.STORE_BROKEN, detail=str(error))


def _is_full(folder: Path) -> bool:
    return shutil.disk_usage(folder).free < NEARLY_FULL


def _find_reason(refusal: Refusal, place: Path, partition: bytes) -> Refusal:
    """Why a partition cannot be opened: another process may have dropped it at any moment."""
    return refusal if place.exists() else _miss(partition)


def _measure_file(file: Path) -> int:
    try:
        return file.stat().st_blocks * 512
    except FileNotFoundError:
        return 0


def _miss(partition: bytes) -> Refusal:
    return Refusal(Kind.PARTITION_MISSING, partition=partition.hex())


def _clash(partition: bytes) -> Refusal:
    return Refusal(Kind.PARTITION_EXISTS, partition=partition.hex())
