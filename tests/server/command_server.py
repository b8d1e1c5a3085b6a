"""Runs `forkrun` commands, and programs in Python, in forks of a process that has imported
everything: what an import costs is paid once for all tests of a worker. What runs has its own
session, environment, folder and streams, as if a shell had started it."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import linecache
import marshal
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping, Sequence
from fcntl import F_DUPFD, fcntl
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from unittest import mock

from forkrun import _core
from forkrun.fork import command as starts
from forkrun.fork import helper
from forkrun.fork.single_thread import limit_library_threads
from forkrun.modules.program.outside import environment_digest
from forkrun.modules.program.own_code import put_into_libraries
from forkrun.monitoring.host import describe_host
from tests.server import fault_injection
from tests.server.forked_worker import ForkedWorker, KeptWorker, keep
from tests.server.served_python import write_program

_PRELOADED = (
    "awkward", "hist", "forkrun.api", "forkrun.cli.parser", "forkrun.cli.run", "forkrun.cli.plan",
    "forkrun.cli.merge", "forkrun.monitoring", "forkrun.parent.job", "forkrun.parent.merging",
    "forkrun.monitoring.report.write", "forkrun.modules.loading", "forkrun.modules.entries",
    "forkrun.modules.expressions", "forkrun.histograms.booking", "forkrun.batch.collecting",
    "forkrun.index.worker", "forkrun.formats.ttree", "numpy.ma", "psutil",
    "forkrun.cli.check", "forkrun.cli.submit", "forkrun.cli.collect", "forkrun.parent.checking",
    "forkrun.modules.late_imports", "forkrun.schedule.imports_ahead",
    "forkrun.schedule.trial.rounds",
)  # fmt: skip
Call = tuple[str, str, list[Any]]
"""Module, function, arguments."""
_LONGEST = 1 << 16  # bytes of a message
_MOST_STREAMS = 64
WORKER = "worker"
"""In the place of words of Python: starts one and ends."""
_COMMAND = ("-m", "forkrun")
_OF_WORKER = (3, 4, 5, 6)
"""Descriptors of its input, output, stderr and status."""
_ASIDE = 500
"""Descriptors of a command are smaller."""


class CommandServer:
    """The process, as its client sees it; it ends with the client, whose threads may use it at the
    same time."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._address = f"\0forkrun-tests-{os.getpid()}-{id(self)}"
        self._folder = tempfile.TemporaryDirectory(prefix="forkrun-tests-")
        self.python = f"{self._folder.name}/python"
        """A program that may take the place of Python: see served_python.py."""
        write_program(self.python, self._address, sys.executable, environment)
        self._life, theirs = socket.socketpair()
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(self._address)
            listener.listen(64)
            passed = (listener.fileno(), theirs.fileno())
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, *map(str, passed), self.python],
                pass_fds=passed,
                env=environment,
            )
        atexit.register(self.close)

    def run(
        self,
        words: Sequence[str],
        cwd: Path,
        environment: dict[str, str],
        streams: Mapping[int, int],
        timeout_s: float,
        before: Call | None = None,
        is_served_too: bool = False,
    ) -> int:
        """Gives the exit code, as of `subprocess`. `words`: what Python would be given. `streams`:
        by the number of a descriptor of the process, its standard input, output and error at least,
        one of this process. `before`: what it calls first. `is_served_too`: so are processes of
        Python that it starts. Kills what takes too long, with all that it has started."""
        request = (list(words), str(cwd), environment, before, list(streams), is_served_too)
        message = marshal.dumps(request)
        assert len(message) < _LONGEST
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.connect(self._address)
            socket.send_fds(connection, [message], list(streams.values()))
            pid = int(connection.recv(_LONGEST))
            connection.settimeout(timeout_s)
            try:
                return int(connection.recv(_LONGEST))
            except TimeoutError:
                os.killpg(pid, signal.SIGKILL)
                raise

    def start_worker(self, module: str, errors: int, environment: dict[str, str]) -> KeptWorker:
        """A worker that is no child of this process, which may have threads."""

        def begin(module: str, *theirs: int) -> None:
            streams = dict(zip((0, 1, 2, *_OF_WORKER), (theirs[0], 1, 2, *theirs), strict=True))
            assert self.run([WORKER, module], Path.cwd(), environment, streams, 60.0) == 0

        return KeptWorker(module, errors, begin)

    def close(self) -> None:
        """Ends the process."""
        self._life.close()
        self._process.wait()
        self._folder.cleanup()


class _Server:
    """The process itself."""

    def __init__(self, listener: socket.socket, life: socket.socket, python: str) -> None:
        self._listener, self._life, self._python = listener, life, python
        self._running: dict[int, tuple[int, socket.socket]] = {}
        """By descriptor of a process: its number, and who waits for it."""

    def serve(self) -> None:
        """Until the client closes its end. In a fork: raises SystemExit."""
        while True:
            watched = select.poll()
            for number in (self._listener.fileno(), self._life.fileno(), *self._running):
                watched.register(number, select.POLLIN)
            for _, connection in self._running.values():
                watched.register(connection, select.POLLHUP)
            ready = {number for number, _ in watched.poll()}
            if self._life.fileno() in ready:
                return
            if self._listener.fileno() in ready:
                self._begin(self._listener.accept()[0])
            for number, (pid, connection) in list(self._running.items()):
                if number in ready:
                    self._end(number)
                elif connection.fileno() in ready:  # who waits for it has died
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
                    self._end(number)

    def _begin(self, connection: socket.socket) -> None:
        request, received, _, _ = socket.recv_fds(connection, _LONGEST, _MOST_STREAMS)
        if not request:
            connection.close()
            return
        pid = os.fork()
        if pid == 0:
            self._leave(connection)
            words, cwd, environment, before, numbers, is_served_too = marshal.loads(request)
            _begin(cwd, environment, dict(zip(numbers, received, strict=True)))
            if is_served_too:
                sys.executable = self._python
            _run(words, before)
        for stream in received:
            os.close(stream)
        self._running[os.pidfd_open(pid)] = pid, connection
        with contextlib.suppress(BrokenPipeError):
            connection.send(str(pid).encode())

    def _end(self, number: int) -> None:
        pid, connection = self._running.pop(number)
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(BrokenPipeError):
            connection.send(str(os.waitstatus_to_exitcode(status)).encode())
        connection.close()
        os.close(number)

    def _leave(self, connection: socket.socket) -> None:
        """In a fork: nothing of the server is left open."""
        for each in (self._listener, self._life, connection):
            each.close()
        for number, (_, other) in self._running.items():
            os.close(number)
            other.close()


def _begin(cwd: str, environment: dict[str, str], streams: dict[int, int]) -> None:
    """Makes a fork what a process is that a shell starts."""
    os.setsid()
    aside = {number: fcntl(stream, F_DUPFD, _ASIDE) for number, stream in streams.items()}
    for stream in streams.values():
        os.close(stream)
    for number, stream in aside.items():
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(cwd)
    _find_modules(cwd, environment.get("PYTHONPATH", ""))
    os.environ.clear()
    os.environ.update(environment)
    importlib.reload(starts)  # takes its variable out of the environment


def _find_modules(cwd: str, given: str) -> None:
    """Where a Python finds them that starts in this folder with this PYTHONPATH."""
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    others = [path for path in sys.path[1:] if path not in own]
    sys.path[:] = [cwd, *filter(None, given.split(os.pathsep)), *others]


def _run(words: list[str], before: Call | None) -> NoReturn:
    """What Python does with these words."""
    if words[0] == WORKER:
        if os.fork() == 0:
            keep(words[1], *_OF_WORKER)
        os._exit(0)
    if before:
        module, function, given = before
        getattr(importlib.import_module(module), function)(*given)
    mock.patch.object(helper, "start_worker", ForkedWorker).start()
    if fault_injection.VARIABLE in os.environ:
        fault_injection.install()
    if tuple(words[:2]) == _COMMAND:
        sys.argv = words[1:]
        from forkrun.cli import command

        command()
    if words[0] == "-m":
        sys.argv = words[1:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # it has been imported
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        _run_program(words)
    _end()


def _end() -> NoReturn:
    """Ends as Python does, which would take 80 ms to tidy up what a fork shares with the server."""
    if threading.active_count() == 1:
        atexit._run_exitfuncs()
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
    sys.exit(0)


def _run_program(words: list[str]) -> None:
    """A file in Python. An error is shown as Python does, without what is here."""
    path = os.path.abspath(words[0])
    sys.argv, sys.path[0] = words, os.path.dirname(path)
    main = ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = main
    linecache.clearcache()
    try:
        exec(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True), main.__dict__)
    except Exception as error:
        trace = error.__traceback__
        sys.excepthook(type(error), error, trace and trace.tb_next)
        sys.exit(1)


def _preload() -> None:
    limit_library_threads()
    for name in _PRELOADED:
        importlib.import_module(name)
    _core.warm_up()
    describe_host()  # it keeps versions, and the digest of this forkrun
    put_into_libraries()  # keeps which files are installed
    environment_digest()
    gc.collect()
    gc.freeze()  # forks leave alone, also when they end, what there is by now
    _core.join_pages()  # a fork takes two thirds of the time


def main(listener: str, life: str, python: str) -> None:
    """The process itself: descriptors of its sockets, and the program that takes Python's place."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _preload()
    ends = [socket.socket(fileno=int(number)) for number in (listener, life)]
    _Server(ends[0], ends[1], python).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
