"""A link with a round trip and a rate, between a port of its own and a server. A process, so that
it does not wait for others:

    python -m tests.support.slow_link PORT TARGET ROUND_TRIP_S MB_PER_S [LOG]"""

from __future__ import annotations

import asyncio
import socket
import struct
import subprocess
import sys
import time
from asyncio import Queue, StreamReader, StreamWriter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TextIO

_ROOT = Path(__file__).parents[2]

_Due = tuple[float, bytes]
"""When bytes arrive; none: the connection ends."""


class Traffic(NamedTuple):
    """Requests for bytes of files, and all bytes that came back."""

    n_requests: int
    n_bytes: int

    @classmethod
    def of(cls, log: Path) -> Traffic:
        """What a link has noted since the file was last emptied."""
        words = [line.split() for line in log.read_text().splitlines()]
        n_requests = sum(int(n) for what, n in words if what == "asked")
        return cls(n_requests, sum(int(n) for what, n in words if what == "back"))


class Requests:
    """Counts requests for bytes of files in what a client sends, by XRootD or HTTP."""

    _HANDSHAKE_BYTES = 20
    _HEADER = struct.Struct(">2xH16xI")
    """Of an XRootD request: its kind, and the bytes of what follows."""
    _READS = (3013, 3025, 3030)
    """kXR_read, kXR_readv and kXR_pgread."""

    def __init__(self) -> None:
        self._data = b""
        self._is_begun = False

    def count(self, data: bytes) -> int:
        """In the next bytes, with what is left of those before."""
        self._data += data
        if self._data[:1].isalpha():  # a method of HTTP: a handshake of XRootD begins with 0
            *requests, self._data = self._data.split(b"\r\n\r\n")
            return sum(request.startswith(b"GET ") for request in requests)
        return self._count_of_xrootd()

    def _count_of_xrootd(self) -> int:
        n = 0
        if not self._is_begun and len(self._data) >= self._HANDSHAKE_BYTES:
            self._is_begun = True
            self._data = self._data[self._HANDSHAKE_BYTES :]
        while self._is_begun and len(self._data) >= self._HEADER.size:
            kind, n_more = self._HEADER.unpack_from(self._data)
            if len(self._data) < self._HEADER.size + n_more:
                break
            n += kind in self._READS
            self._data = self._data[self._HEADER.size + n_more :]
        return n


class SlowLink:
    """`delay_s`: each way; `rate`: bytes per second that come back, of all connections together.
    `log`: for `Traffic`."""

    def __init__(self, target: int, delay_s: float, rate: float, log: TextIO | None) -> None:
        self._target, self._delay_s, self._rate, self._log = target, delay_s, rate, log
        self._free_s = 0.0

    async def connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Serves one connection to its end."""
        back, out = await asyncio.open_connection("127.0.0.1", self._target)
        await asyncio.gather(self._pass_on(reader, out, False), self._pass_on(back, writer, True))

    async def _pass_on(self, reader: StreamReader, writer: StreamWriter, comes_back: bool) -> None:
        due: Queue[_Due] = Queue()
        sending = asyncio.create_task(self._send(due, writer))
        requests = Requests()
        try:
            while data := await reader.read(1 << 16):
                at_s = time.monotonic() + self._delay_s
                if comes_back:  # a sender that wakes late has not lost time of the link
                    self._free_s = at_s = max(self._free_s, at_s) + len(data) / self._rate
                due.put_nowait((at_s, data))
                if self._log:
                    said = ("back", len(data)) if comes_back else ("asked", requests.count(data))
                    print(*said, file=self._log)
        except OSError:
            pass  # it was reset
        due.put_nowait((0.0, b""))
        await sending

    async def _send(self, due: Queue[_Due], writer: StreamWriter) -> None:
        while True:
            at_s, data = await due.get()
            if not data:
                writer.close()
                return
            await asyncio.sleep(max(at_s - time.monotonic(), 0))
            writer.write(data)


@contextmanager
def slow_link(
    target: int, round_trip_s: float, mb_per_s: float, log: Path | None = None
) -> Iterator[int]:
    """Its port. `log`: for `Traffic`."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = int(unused.getsockname()[1])
    told = [str(each) for each in (port, target, round_trip_s, mb_per_s, log) if each is not None]
    command = [sys.executable, "-m", "tests.support.slow_link", *told]
    with subprocess.Popen(command, cwd=_ROOT) as process:
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        try:
            yield port
        finally:
            process.kill()


async def main(port: str, target: str, round_trip_s: str, mb_per_s: str, log: str = "") -> None:
    """Serves for ever."""
    noted = open(log, "a", buffering=1, encoding="utf-8") if log else None  # noqa: SIM115
    link = SlowLink(int(target), float(round_trip_s) / 2, float(mb_per_s) * 1e6, noted)
    server = await asyncio.start_server(link.connected, "127.0.0.1", int(port))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
