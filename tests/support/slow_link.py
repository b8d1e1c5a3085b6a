"""A link with a round trip and a rate, between a port of its own and a server. A process, so that
it does not wait for others:

    python -m tests.support.slow_link PORT TARGET ROUND_TRIP_S MB_PER_S"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from asyncio import Queue, StreamReader, StreamWriter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_ROOT = Path(__file__).parents[2]

_Due = tuple[float, bytes]
"""When bytes arrive; none: the connection ends."""


class SlowLink:
    """`delay_s`: each way; `rate`: bytes per second that come back, of all connections together."""

    def __init__(self, target: int, delay_s: float, rate: float) -> None:
        self._target, self._delay_s, self._rate = target, delay_s, rate
        self._free_s = 0.0

    async def connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Serves one connection to its end."""
        back, out = await asyncio.open_connection("127.0.0.1", self._target)
        await asyncio.gather(self._pass_on(reader, out, False), self._pass_on(back, writer, True))

    async def _pass_on(self, reader: StreamReader, writer: StreamWriter, comes_back: bool) -> None:
        due: Queue[_Due] = Queue()
        sending = asyncio.create_task(self._send(due, writer, comes_back))
        try:
            while data := await reader.read(1 << 16):
                due.put_nowait((time.monotonic() + self._delay_s, data))
        except OSError:
            pass  # it was reset
        due.put_nowait((0.0, b""))
        await sending

    async def _send(self, due: Queue[_Due], writer: StreamWriter, comes_back: bool) -> None:
        while True:
            at_s, data = await due.get()
            if not data:
                writer.close()
                return
            if comes_back:
                self._free_s = max(self._free_s, time.monotonic()) + len(data) / self._rate
                at_s = max(at_s, self._free_s)
            await asyncio.sleep(max(at_s - time.monotonic(), 0))
            writer.write(data)


@contextmanager
def slow_link(target: int, round_trip_s: float, mb_per_s: float) -> Iterator[int]:
    """Its port."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = int(unused.getsockname()[1])
    numbers = [str(number) for number in (port, target, round_trip_s, mb_per_s)]
    command = [sys.executable, "-m", "tests.support.slow_link", *numbers]
    with subprocess.Popen(command, cwd=_ROOT) as process:
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        try:
            yield port
        finally:
            process.kill()


async def main(port: int, target: int, round_trip_s: float, mb_per_s: float) -> None:
    """Serves for ever."""
    link = SlowLink(target, round_trip_s / 2, mb_per_s * 1e6)
    server = await asyncio.start_server(link.connected, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), *map(float, sys.argv[3:])))
