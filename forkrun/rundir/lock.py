"""Lock that lets one parent at a time work in a run directory, on any node."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forkrun.base.durable import open_new, output_errors, read_json, temporary_name
from forkrun.base.regular_file import read_regular
from forkrun.errors import LockedError, OutputError

_STALE_S = 120.0
_ATTEMPTS = 3
_ASK_EVERY_S = 0.2
_N_BEGIN = len('{"host": "')
"""Number of leading bytes common to all locks, for locks written in part."""
_TOUCH_EVERY_S = 20.0
_OF_A_MACHINE = ("host", "boot", "processes")


class RunLock:
    """A file next to the run's records, touched while its parent lives. File-system locks are not
    used: they are unreliable on network file systems.

    On the holder's machine its process decides: process ids are reused, so the start time counts as
    well, and a zombie is dead. Elsewhere, also in another container, the time of the last touch
    decides."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._touched_s = time.monotonic()
        self._holder = {**_this_process(), "token": secrets.token_hex(8)}

    @classmethod
    @contextlib.contextmanager
    def held(cls, path: Path, wait_s: float = 0.0) -> Iterator[RunLock]:
        """Holds the lock while the body runs. Raises OutputError if another parent works there for
        more than `wait_s`."""
        lock = cls(path)
        lock._acquire_within(wait_s)
        try:
            yield lock
        finally:
            lock._release()

    def keep(self) -> None:
        """Touches the lock from time to time; called often while the parent lives. Raises
        OutputError if another parent took over because this one did not touch the lock for too
        long."""
        now_s = time.monotonic()
        if now_s - self._touched_s < _TOUCH_EVERY_S:
            return
        self._touched_s = now_s
        with contextlib.suppress(OSError):
            if not self._is_mine():
                raise OutputError(
                    f"{self._path.parent}: another forkrun has taken over this run directory, or"
                    " its lock was removed"
                )
            os.utime(self._path, follow_symlinks=False)

    @contextlib.contextmanager
    def kept_by_thread(self) -> Iterator[None]:
        """Keeps the lock in a thread, for a body that cannot call `keep` and does not fork."""
        is_over = threading.Event()
        thread = threading.Thread(target=self._keep_until, args=(is_over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def _keep_until(self, is_over: threading.Event) -> None:
        while not is_over.wait(_TOUCH_EVERY_S / 2):
            with contextlib.suppress(OSError):
                if self._is_mine():
                    os.utime(self._path, follow_symlinks=False)

    def _is_mine(self) -> bool:
        """Whether this process holds the lock. Raises OSError if it exists but cannot be read."""
        try:
            return bool(json.loads(read_regular(self._path)) == self._holder)
        except (FileNotFoundError, ValueError):
            return False

    def _acquire_within(self, wait_s: float) -> None:
        until_s = time.monotonic() + wait_s
        while True:
            try:
                return self._acquire()
            except LockedError:
                if time.monotonic() >= until_s:
                    raise
            time.sleep(_ASK_EVERY_S)

    def _acquire(self) -> None:
        with output_errors(self._path):
            while True:
                try:
                    return self._create()
                except FileExistsError:
                    self._remove_if_dead()

    def _create(self) -> None:
        """Creates the lock with its content in one step where the file system allows: an empty lock
        left by a killed process does not tell its holder. Raises FileExistsError."""
        try:
            self._create_whole()
        except FileExistsError:
            raise
        except OSError:
            self._create_empty_first()

    def _create_whole(self) -> None:
        unnamed = os.open(self._path.parent, os.O_TMPFILE | os.O_WRONLY, 0o666)
        with open(unnamed, "wb") as file:
            file.write(self._content)
            file.flush()
            # Python follows the link to the file only if given the folder of one of the two.
            os.link(f"/proc/self/fd/{unnamed}", self._path, src_dir_fd=unnamed)

    def _create_empty_first(self) -> None:
        file = open_new(self._path)
        try:
            with file:
                file.write(self._content)
        except OSError:
            self._path.unlink()
            raise

    @property
    def _content(self) -> bytes:
        return json.dumps(self._holder).encode()

    def _release(self) -> None:
        """Removes the lock, with several attempts: processes on other hosts would have to wait for
        a leftover lock."""
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(OSError):
                if self._is_mine():
                    self._path.unlink()
                return

    def _remove_if_dead(self) -> None:
        """Removes the lock of a dead parent by a rename, which only one of several processes can
        do. Puts it back if it turns out to be another parent's lock."""
        holder = self._read_holder()
        if _is_alive(holder, self._path):
            where = f"process {holder.get('pid', '?')} on {holder.get('host', '?')}"
            raise LockedError(
                f"{self._path.parent}: another forkrun works in this run directory ({where});"
                f" wait for it, or, if it is gone, for {_STALE_S:.0f} s"
            )
        dead = temporary_name(self._path)
        with contextlib.suppress(FileNotFoundError):
            self._path.rename(dead)
            if read_json(dead) != holder:
                with contextlib.suppress(FileExistsError):
                    os.link(dead, self._path)
            _unlink(dead)

    def _read_holder(self) -> dict[str, Any]:
        """Record of the holder; empty if it was killed while writing. Raises OutputError for a
        foreign file of this name."""
        try:
            data = read_regular(self._path)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise self._no_lock(error.strerror or "") from None
        with contextlib.suppress(ValueError):
            if isinstance(holder := json.loads(data), dict) and "pid" in holder:
                return holder
        if not self._content.startswith(data[:_N_BEGIN]) and data.strip(b"\0"):
            raise self._no_lock("it is not a lock")
        return {}

    def _no_lock(self, why: str) -> OutputError:
        return OutputError(
            f"{self._path}: {why}: forkrun would keep its lock under this name; remove it, or"
            " choose another folder"
        )


def _unlink(path: Path) -> None:
    """Removes a file, with several attempts. Raises OSError."""
    for is_last in (*[False] * (_ATTEMPTS - 1), True):
        try:
            path.unlink()
        except FileNotFoundError:
            return
        except OSError:
            if is_last:
                raise
        else:
            return


def is_held(path: Path) -> bool:
    """Whether a lock exists and its holder lives."""
    holder = read_json(path)
    return bool(holder) and _is_alive(holder, path)


def holder_died_here(path: Path) -> bool:
    """Whether the holder of a lock worked on this machine and is dead, so its leftovers belong to
    nobody. False if unknown."""
    holder, here = read_json(path), _this_process()
    if "start_ticks" not in holder or holder.get("host") != here["host"]:
        return False
    if holder.get("boot") != here["boot"]:
        return True
    return holder.get("processes") == here["processes"] and not _is_alive(holder, path)


def process_of(path: Path) -> int | None:
    """Process id of the holder if it lives on this machine and belongs to the user who wrote the
    lock; else None, so no other user's process is signalled."""
    holder = read_json(path)
    pid, here = holder.get("pid"), _this_process()
    if not isinstance(pid, int) or any(holder.get(key) != here[key] for key in _OF_A_MACHINE):
        return None
    if (start := _start(pid)) is None or holder.get("start_ticks") != start:
        return None
    try:
        owner = path.lstat().st_uid
        return pid if owner == Path(f"/proc/{pid}").stat().st_uid else None
    except OSError:
        return None


def _this_process() -> dict[str, Any]:
    pid = os.getpid()
    started = _start(pid)
    return {
        "host": os.uname().nodename,
        "boot": _boot(),
        "processes": _process_namespace(),
        "pid": pid,
        "start_ticks": started,
    }


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _process_namespace() -> str:
    """Namespace of process ids: containers have their own."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _start(pid: int) -> int | None:
    """Start time of a process, in clock ticks since boot; None if it is dead or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def _is_alive(holder: dict[str, Any], path: Path) -> bool:
    """Whether the holder lives: on this machine by its process, elsewhere by the file's last
    touch."""
    here, pid = _this_process(), holder.get("pid")
    if isinstance(pid, int) and all(holder.get(k, here[k]) == here[k] for k in _OF_A_MACHINE):
        start = _start(pid)
        return start is not None and holder.get("start_ticks", start) == start
    try:
        return time.time() - path.lstat().st_mtime < _STALE_S
    except OSError:
        return False
