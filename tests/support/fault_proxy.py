"""A connection to a server that can be cut, refused, damaged or made silent."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class FaultProxy:
    """Passes bytes on between a port of its own and that of a server. `n_cuts`: so many times a
    connection is cut when `cut_after` bytes came from the server; `is_silent`: what is under way
    stays where it is until it is no longer so; `n_refused`: so many connections are closed at once.
    Of each connection the byte that follows `damage_after` from the server becomes another one,
    then one each `damage_every` bytes; of the next `n_to_damage` pieces that come from the server
    as well; `n_damaged`: how many did. `n_bytes`: that came from the server, on all."""

    def __init__(self, target: int) -> None:
        self._target = target
        self.n_cuts = self.n_refused = self.n_connections = 0
        self.cut_after = 1 << 16
        self.damage_after: int | None = None
        self.damage_every = 0
        self.n_to_damage = self.n_damaged = 0
        self.n_bytes = 0
        self._draw = random.Random(target)
        self._flows = threading.Event()
        self._flows.set()
        self._due: list[tuple[int, Callable[[], object]]] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def is_silent(self) -> bool:
        return not self._flows.is_set()

    @is_silent.setter
    def is_silent(self, is_so: bool) -> None:
        (self._flows.clear if is_so else self._flows.set)()

    def when(self, n_bytes: int, what: Callable[[], object]) -> None:
        """Does this once so many bytes came from the server, before it passes on more."""
        with self._lock:
            self._due.append((n_bytes, what))

    def close(self) -> None:
        """Ends it; connections that are there stay."""
        self._listener.close()
        self.is_silent = False

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
                if comes_back:
                    self._count(len(data))
                self._flows.wait()
                if comes_back and self.n_cuts and n_passed > self.cut_after:
                    self.n_cuts -= 1
                    break
                sink.sendall(self._damaged(data, n_passed - len(data)) if comes_back else data)
        for each in (source, sink):
            _cut(each)

    def _count(self, n: int) -> None:
        with self._lock:
            self.n_bytes += n
            now = [what for n_bytes, what in self._due if n_bytes <= self.n_bytes]
            self._due = [due for due in self._due if due[0] > self.n_bytes]
        for what in now:
            what()

    def _damaged(self, data: bytes, n_before: int) -> bytes:
        places = list(self._places(len(data), n_before))
        if not places:
            return data
        changed = bytearray(data)
        for place in places:
            self.n_damaged += 1
            changed[place] ^= 0x55
        return bytes(changed)

    def _places(self, n: int, n_before: int) -> Iterator[int]:
        """Of bytes that are to be damaged, in this piece."""
        if self.n_to_damage:
            self.n_to_damage -= 1
            yield self._draw.randrange(n)
        if self.damage_after is not None:
            place, every = self.damage_after - n_before, self.damage_every
            if place < 0 and every:
                place %= every
            while 0 <= place < n:
                yield place
                place += every or n


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
