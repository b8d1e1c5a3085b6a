"""Nodes that work on a local disk. A separate process copies their commits into the run directory
on the shared file system. A file is copied under a temporary name, compared with its checksum and
renamed; the ledger's line follows its files. So others see only complete commits. `python -m
forkrun.batch.scratch LOCAL SHARED EVERY_S`; its input ends with the parent."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from forkrun import _core
from forkrun.base.durable import open_to_append, output_errors, published, write_all
from forkrun.base.json_lines import end_last_line
from forkrun.base.regular_file import open_regular
from forkrun.errors import BatchError, ForkrunError, OutputError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, CommittedFile
from forkrun.rundir.lock import RunLock, holder_died_here, is_held

READY = "ready"
"""Printed by the process once it has fetched the node's files and holds its lock."""
PUBLISHER = "publisher.lock"
"""File in a node's folder on scratch, locked while it is being published."""
_TURN_S = 0.5
_TRIES, _WAIT_S = 3, 2.0
"""A failed copy is repeated somewhat later."""
_APART = {"ledger", "units", "lock"}


class Publisher:
    """Copies from `local` to `shared`, two run directories of the same node."""

    def __init__(self, local: RunDirectory, shared: RunDirectory) -> None:
        self._local, self._shared = local, shared
        self._n_bytes: dict[str, int] = {}
        self._is_described = False

    def fetch(self) -> None:
        """Copies the published work of earlier parents."""
        with output_errors(self._local.path):
            if self._shared.fingerprint.exists():
                ignored = shutil.ignore_patterns("lock", "*.part", self._shared.packed_units.name)
                shutil.copytree(self._shared.path, self._local.path, ignore=ignored)
        self._n_bytes = {file.name: file.stat().st_size for file in self._ledgers()}

    def publish(self) -> None:
        """Publishes all commits since the last call. Raises OutputError."""
        if not self._local.fingerprint.exists():
            return
        with output_errors(self._shared.path):
            if not self._is_described:
                self.publish_rest()
                self._is_described = True
            for ledger in self._ledgers():
                self._publish_ledger(ledger)

    def publish_rest(self) -> None:
        """Publishes the files other than ledgers and units; last the fingerprint, as at the start
        of a run, and the list of outputs."""
        files = [file for file in self._local.path.rglob("*") if file.is_file()]
        names = [file.relative_to(self._local.path) for file in files]
        final = [name for name in names if not any(p.endswith(".part") for p in name.parts)]
        own = [name for name in final if name.parts[0] not in _APART]
        last = (self._local.fingerprint.name, self._local.outputs_of_node.name)
        for name in sorted(own, key=lambda name: name.name in last):
            self._copy(name)

    def _ledgers(self) -> list[Path]:
        """Ledgers, that of revoked commits first."""
        files = self._local.ledger.glob("*.jsonl")
        return sorted(files, key=lambda file: (not file.name.startswith("revoked"), file.name))

    def _publish_ledger(self, ledger: Path) -> None:
        begin = self._n_bytes.get(ledger.name, 0)
        with os.fdopen(open_regular(ledger), "rb") as file:
            file.seek(begin)
            data = file.read()
        lines = data[: data.rfind(b"\n") + 1]
        if not lines:
            return
        if ledger.name.startswith("child-"):
            for line in lines.splitlines():
                with suppress(ValueError):  # Damaged lines are skipped.
                    for part in Commit.from_line(line).parts:
                        self._copy(Path(part.file), part)
        self._append(ledger.name, lines)
        self._n_bytes[ledger.name] = begin + len(lines)

    def _append(self, name: str, lines: bytes) -> None:
        self._shared.ledger.mkdir(parents=True, exist_ok=True)
        descriptor = open_to_append(self._shared.ledger / name)
        try:
            end_last_line(descriptor)
            write_all(descriptor, lines)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _copy(self, name: Path, part: CommittedFile | None = None) -> None:
        """Copies a file, with repeated tries. `part`: expected size and checksum."""
        for is_last in [False] * (_TRIES - 1) + [True]:
            try:
                with published(self._shared.path / name) as temporary:
                    shutil.copy(self._local.path / name, temporary)
                    if part and _core.file_checksum(str(temporary)) != part.checksum:
                        raise OutputError(f"{name}: the checksum of its copy from scratch differs")
                return
            except OutputError:
                if is_last:
                    raise
                time.sleep(_WAIT_S)


def _work(publisher: Publisher, lock: RunLock, every_s: float) -> None:
    """Publishes until the parent has ended, and repeats later what failed."""
    publisher.fetch()
    print(READY, flush=True)
    next_s = time.monotonic() + every_s
    while not select.select([sys.stdin], [], [], _TURN_S)[0]:
        lock.keep()
        if time.monotonic() >= next_s:
            with suppress(OutputError):
                publisher.publish()
            next_s = time.monotonic() + every_s
    with lock.kept_by_thread():
        publisher.publish()
        publisher.publish_rest()


def main() -> int:
    """Entry of the process. Ignores signals to its group: the parent ends first."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    local, shared, every_s = sys.argv[1:]
    folders = RunDirectory(Path(local)), RunDirectory(Path(shared))
    try:
        with output_errors(shared):
            folders[1].path.mkdir(parents=True, exist_ok=True)
        own = folders[0].path.parent / PUBLISHER
        with RunLock.held(own), RunLock.held(folders[1].lock) as lock:
            _work(Publisher(*folders), lock, float(every_s))
    except ForkrunError as error:
        print(f"forkrun: {error}", file=sys.stderr)
        return error.exit_code
    return 0


_PREFIX = "forkrun-"
_PARENT = "parent.lock"
"""File in a node's folder on scratch, locked by the parent that works there."""
PUBLISH_S = 10.0
"""Part of a node's time reserved for publishing its last commits."""


@contextmanager
def on_scratch(scratch: str, shared: RunDirectory, every_s: float) -> Iterator[RunDirectory]:
    """A node's run directory below `scratch`, whose commits are published in `shared`. Raises
    BatchError if the folder does not exist, OutputError if its disk is full or fails, or if commits
    cannot be published."""
    if not scratch or not Path(scratch).is_dir():
        what = (
            f'"{scratch}" is not a folder on this node' if scratch else "it is empty on this node"
        )
        raise BatchError(f"batch.scratch: {what}; name another one, or none")
    _remove_abandoned(Path(scratch))
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{shared.path.name}-", dir=scratch))
    except OSError as error:
        raise BatchError(f"batch.scratch: {scratch}: {error.strerror}") from None
    local = RunDirectory(folder / "node")
    command = [sys.executable, "-P", "-m", "forkrun.batch.scratch", local.path, shared.path]
    publisher = subprocess.Popen(
        [*map(str, command), str(every_s)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        with RunLock.held(folder / _PARENT):
            _begin(publisher, shared)
            yield local
    except OutputError as error:
        if str(folder) not in str(error):
            raise
        raise OutputError(
            f"scratch of this node ({scratch}; batch.scratch names another place): {error}"
        ) from None
    finally:
        code = _end(publisher)
        shutil.rmtree(folder, ignore_errors=True)
    if code:
        raise OutputError(f"{shared.path}: commits of the node on scratch could not be published")


def _remove_abandoned(scratch: Path) -> None:
    """Removes folders of this user's nodes that were killed on this machine and are no longer being
    published."""
    for folder in scratch.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            is_own = folder.lstat().st_uid == os.geteuid() and not folder.is_symlink()
            publishes = is_held(folder / PUBLISHER)
            if is_own and not publishes and holder_died_here(folder / _PARENT):
                shutil.rmtree(folder, ignore_errors=True)


def _begin(publisher: subprocess.Popen[str], shared: RunDirectory) -> None:
    assert publisher.stdout is not None
    if publisher.stdout.readline().strip() != READY:
        raise OutputError(f"{shared.path}: it cannot be copied to scratch")


def _end(publisher: subprocess.Popen[str]) -> int:
    """Closes its input and waits until it has published everything."""
    for stream in (publisher.stdin, publisher.stdout):
        if stream:
            stream.close()
    return publisher.wait()


if __name__ == "__main__":
    sys.exit(main())
