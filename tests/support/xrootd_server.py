"""A real XRootD server of this machine, where its program is installed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.jobs import PATIENCE_S

_CONFIGURATION = """
all.export {exported}
all.adminpath {folder}/admin
all.pidpath {folder}/admin
xrd.port {port}
{more}
"""


class XrootdServer:
    """Serves a folder. A server that was killed is started again at the same port. `more`: lines of
    its configuration, in which {folder} is its own; `exported`: other paths that it serves."""

    def __init__(self, folder: Path, more: str = "", exported: str = "") -> None:
        self._more = more.replace("{folder}", str(folder))
        self._exported = exported or f"{folder}/data"
        self.folder = folder
        self.data = folder / "data"
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            self.port: int = unused.getsockname()[1]
        self.prefix = f"root://127.0.0.1:{self.port}//"
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, name: str) -> str:
        return f"root://127.0.0.1:{self.port}/{self.data / name}"

    def start(self) -> None:
        configuration = self.folder / "xrootd.cfg"
        lines = _CONFIGURATION.format(
            folder=self.folder, port=self.port, exported=self._exported, more=self._more
        )
        configuration.write_text(lines)
        as_daemon = ["-R", "daemon"] if os.geteuid() == 0 else []  # it refuses to be root
        log = str(self.folder / "log")
        command = ["xrootd", "-c", str(configuration), "-l", log, *as_daemon]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        deadline = time.monotonic() + PATIENCE_S
        while True:
            assert self._process.poll() is None, (self.folder / "log").read_text()
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.02)

    def is_dead(self) -> bool:
        return self._process is None

    def kill(self) -> None:
        if self._process:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


@contextmanager
def xrootd_server(
    more: str = "", exported: str = "", prepare: Callable[[XrootdServer], object] | None = None
) -> Iterator[XrootdServer]:
    """Skips where there is none (Debian, Ubuntu: apt install xrootd-server). Its folder is one that
    another user, as whom it runs, can read. `prepare`: what is to be done before it starts."""
    if shutil.which("xrootd") is None:
        pytest.skip("the program xrootd is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = XrootdServer(folder, more, exported)
        server.data.mkdir()
        (folder / "admin").mkdir()
        try:
            if prepare:
                prepare(server)
            if os.geteuid() == 0:
                for path in (folder, *folder.rglob("*")):
                    shutil.chown(path, "daemon")
            server.start()
            yield server
        finally:
            server.kill()
