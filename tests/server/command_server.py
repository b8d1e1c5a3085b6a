"""Runs `forkrun` commands in forks of a process that has imported everything: what an import costs
is paid once for all tests of a worker. A command has its own session, environment, folder and
streams, as one that was started by a shell."""

from __future__ import annotations

import atexit
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from fcntl import F_DUPFD, fcntl
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

from forkrun import _core
from forkrun.config import JobConfig
from forkrun.fork import command as starts
from forkrun.fork import helper
from forkrun.fork.single_thread import limit_library_threads
from forkrun.monitoring.host import describe_host
from tests.server.forked_worker import ForkedWorker, keep

_PRELOADED = (
    "awkward", "hist", "forkrun.api", "forkrun.cli.parser", "forkrun.cli.run", "forkrun.cli.plan",
    "forkrun.cli.merge", "forkrun.monitoring", "forkrun.parent.job", "forkrun.parent.merging",
    "forkrun.monitoring.report.write", "forkrun.modules.loading", "forkrun.modules.functions",
    "forkrun.modules.expressions", "forkrun.histograms.booking", "forkrun.batch.collecting",
    "forkrun.index.worker", "forkrun.formats.ttree", "numpy.ma", "psutil",
)  # fmt: skip
Call = tuple[str, str, list[Any]]
"""Module, function, arguments."""
_LONGEST = 1 << 16  # bytes of a message
_MOST_STREAMS = 16
WORKER = "worker"
"""In the place of a command: starts one and ends."""
_OF_WORKER = (3, 4, 5)
"""Descriptors of its input, output and status."""
_ASIDE = 500
"""Descriptors of a command are smaller."""


class CommandServer:
    """The process, as its client sees it; it ends with the client."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.server.command_server", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment,
            )
        atexit.register(self.close)

    def run(
        self,
        arguments: list[str],
        cwd: Path,
        environment: dict[str, str],
        streams: Mapping[int, int],
        timeout_s: float,
        before: Call | None = None,
    ) -> int:
        """Gives the exit code, as of `subprocess`. `streams`: by the number of a descriptor of the
        command, its standard input, output and error at least, one of this process. `before`: what
        it calls first. Kills what takes too long, with all that it has started."""
        request = json.dumps([arguments, str(cwd), environment, before, list(streams)]).encode()
        assert len(request) < _LONGEST
        socket.send_fds(self._socket, [request], list(streams.values()))
        pid = int(self._socket.recv(_LONGEST))
        self._socket.settimeout(timeout_s)
        try:
            return int(self._socket.recv(_LONGEST))
        except TimeoutError:
            os.killpg(pid, signal.SIGKILL)
            self._socket.settimeout(None)
            self._socket.recv(_LONGEST)  # it ends, and the next command can come
            raise
        finally:
            self._socket.settimeout(None)

    def start_worker(self, module: str, environment: dict[str, str]) -> ForkedWorker:
        """A worker that is no child of this process, which may have threads."""

        def begin(module: str, *theirs: int) -> None:
            streams = dict(zip((0, 1, 2, *_OF_WORKER), (theirs[0], 1, 2, *theirs), strict=True))
            assert self.run([WORKER, module], Path.cwd(), environment, streams, 60.0) == 0

        return ForkedWorker(module, begin)

    def close(self) -> None:
        """Ends the process."""
        self._socket.close()
        self._process.wait()


def _serve(connection: socket.socket) -> int:
    """Until the client closes its end."""
    while True:
        request, received, _, _ = socket.recv_fds(connection, _LONGEST, _MOST_STREAMS)
        if not request:
            return 0
        pid = os.fork()
        if pid == 0:
            connection.close()
            arguments, cwd, environment, before, numbers = json.loads(request)
            streams = dict(zip(numbers, received, strict=True))
            _command(arguments, cwd, environment, before, streams)
        for stream in received:
            os.close(stream)
        connection.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _command(
    arguments: list[str],
    cwd: str,
    environment: dict[str, str],
    before: Call | None,
    streams: dict[int, int],
) -> NoReturn:
    os.setsid()
    aside = {number: fcntl(stream, F_DUPFD, _ASIDE) for number, stream in streams.items()}
    for stream in streams.values():
        os.close(stream)
    for number, stream in aside.items():
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    importlib.reload(starts)  # takes its variable out of the environment
    if arguments[0] == WORKER:
        if os.fork() == 0:
            keep(arguments[1], *_OF_WORKER)
        os._exit(0)
    sys.argv = ["forkrun", *arguments]
    if before:
        module, function, given = before
        getattr(importlib.import_module(module), function)(*given)
    mock.patch.object(helper, "start_worker", ForkedWorker).start()
    from forkrun.cli import command

    command()


def _preload() -> None:
    limit_library_threads()
    for name in _PRELOADED:
        importlib.import_module(name)
    JobConfig.model_rebuild()  # the first configuration that is validated does so else
    _core.warm_up()
    describe_host()  # it keeps versions, and the digest of this forkrun


def main(arguments: list[Any]) -> int:
    """The process itself. `arguments`: the descriptor of its end of the socket."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _preload()
    return _serve(socket.socket(fileno=int(arguments[0])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
