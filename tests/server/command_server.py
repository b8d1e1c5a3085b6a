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
from pathlib import Path
from typing import Any, NoReturn

from forkrun import _core
from forkrun.fork.single_thread import limit_library_threads

_PRELOADED = (
    "awkward", "hist", "forkrun.api", "forkrun.cli.parser", "forkrun.cli.run", "forkrun.cli.plan",
    "forkrun.cli.merge", "forkrun.monitoring", "forkrun.parent.job", "forkrun.parent.merging",
    "forkrun.monitoring.report.write", "forkrun.modules.loading",
)  # fmt: skip
_LONGEST = 1 << 16  # bytes of a message


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
        streams: list[int],
        timeout_s: float,
    ) -> int:
        """Gives the exit code, as of `subprocess`. `streams`: descriptors of the command's standard
        input, output and error. Kills what takes too long, with all that it has started."""
        request = json.dumps([arguments, str(cwd), environment]).encode()
        assert len(request) < _LONGEST
        socket.send_fds(self._socket, [request], streams)
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

    def close(self) -> None:
        """Ends the process."""
        self._socket.close()
        self._process.wait()


def _serve(connection: socket.socket) -> int:
    """Until the client closes its end."""
    while True:
        request, streams, _, _ = socket.recv_fds(connection, _LONGEST, 3)
        if not request:
            return 0
        pid = os.fork()
        if pid == 0:
            connection.close()
            arguments, cwd, environment = json.loads(request)
            _command(arguments, cwd, environment, streams)
        for stream in streams:
            os.close(stream)
        connection.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())


def _command(
    arguments: list[str], cwd: str, environment: dict[str, str], streams: list[int]
) -> NoReturn:
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["forkrun", *arguments]
    from forkrun.cli import command

    command()


def _preload() -> None:
    limit_library_threads()
    for name in _PRELOADED:
        importlib.import_module(name)
    _core.warm_up()


def main(arguments: list[Any]) -> int:
    """The process itself. `arguments`: the descriptor of its end of the socket."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _preload()
    return _serve(socket.socket(fileno=int(arguments[0])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
