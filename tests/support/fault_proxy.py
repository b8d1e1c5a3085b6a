"""A connection to a server that can be cut, refused or made silent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class FaultProxy:
    """Passes bytes on between a port of its own and that of a server. `n_cuts`: so many times a
    connection is cut when `cut_after` bytes came from the server; `is_silent`: nothing is
    passed on; `n_refused`: so many connections are closed at once. Of each connection the byte that
    follows `damage_after` from the server becomes another one; `n_damaged`: how many did.
    `n_bytes`: that came from the server, on all."""

    def __init__(self, target: int) -> None:
        self._target = target
        self.n_cuts = self.n_refused = self.n_connections = 0
        self.cut_after = 1 << 16
        self.is_silent = False
        self.damage_after: int | None = None
        self.n_damaged = 0
        self.n_bytes = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Ends it; connections that are there stay."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.n_connections += 1
                if self.n_refused:
                    self.n_refused -= 1
                    _cut(client)
                    continue
                try:
                    server = socket.create_connection(("127.0.0.1", self._target))
                except OSError:  # the server is dead, and may come back
                    _cut(client)
                    continue
                for pair in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, comes_back: bool) -> None:
        n_passed = 0
        with suppress(OSError):
            while data := source.recv(1 << 16):
                n_passed += len(data)
                self.n_bytes += len(data) if comes_back else 0
                if self.is_silent:
                    continue
                if comes_back and self.n_cuts and n_passed > self.cut_after:
                    self.n_cuts -= 1
                    break
                if comes_back and self.damage_after is not None:
                    data = self._damaged(data, n_passed)
                sink.sendall(data)
        for each in (source, sink):
            _cut(each)

    def _damaged(self, data: bytes, n_passed: int) -> bytes:
        assert self.damage_after is not None
        place = self.damage_after - (n_passed - len(data))
        if not 0 <= place < len(data):
            return data
        self.n_damaged += 1
        return data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]


def _cut(connection: socket.socket) -> None:
    """Also wakes a thread that waits for its bytes."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def fault_proxy(target: int) -> Iterator[FaultProxy]:
    """In front of this port."""
    proxy = FaultProxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
