"""A web server on this machine that gives ranges of files, and does what some servers do: by the
first folder of a URL, as `/refuses-many-403/s.root`."""

from __future__ import annotations

import email.utils
import ssl
import threading
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_BOUNDARY = "between"


class OddWebServer(ThreadingHTTPServer):
    """Serves the files of `folder`. After request `odd_after` of a path its oddness begins.
    `requests`: paths, and the ranges that were asked for; `tokens`: that were shown. Below
    /guarded/ it wants `valid_token`, for which `renew` may make another when oddness begins.
    `certificate`: of TLS, with its key."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder: Path, certificate: Path | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.folder = folder
        self._scheme = "https" if certificate else "http"
        if certificate:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate, certificate.with_name("key"))
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.odd_after = 0
        self.n_requests: Counter[str] = Counter()
        self.requests: list[tuple[str, str]] = []
        self.tokens: list[str] = []
        self.valid_token = ""
        self.renew: Callable[[], None] = lambda: None
        self.lock = threading.Lock()

    def url(self, name: str) -> str:
        return f"{self._scheme}://127.0.0.1:{self.server_address[1]}/{name}"

    def handle_error(self, *_: object) -> None:
        """A client may leave."""


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: OddWebServer

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""

    def do_GET(self) -> None:
        with suppress(ConnectionError):
            self._answer()

    def _answer(self) -> None:
        asked = self.headers.get("Range", "")
        with self.server.lock:
            self.server.n_requests[self.path] += 1
            self.n = self.server.n_requests[self.path]
            self.server.requests.append((self.path, asked))
            if self.n == self.server.odd_after + 1:
                self.server.renew()
            token = self.headers.get("Authorization", "")
            self.server.tokens.append(token)
        odd, _, name = urllib.parse.urlsplit(self.path).path.lstrip("/").partition("/")
        self.is_odd = self.n > self.server.odd_after
        if odd == "loop":
            self._say(302, Location=f"/loop/{name}?token=secret")
        elif odd == "guarded" and token != f"Bearer {self.server.valid_token}":
            self._say(401)
        elif not (file := self.server.folder / urllib.parse.unquote(name)).is_file():
            self._say(404)
        else:
            self._give(odd, file, [_range(text) for text in asked.partition("=")[2].split(",")])

    def _say(self, code: int, **heads: str) -> None:
        self.send_response(code)
        for key, value in {"Content-Length": "0", **heads}.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()

    def _give(self, odd: str, file: Path, ranges: list[tuple[int, int]]) -> None:
        if odd.startswith("replaced-by-") and self.is_odd:
            file = file.with_suffix(f".{odd.rpartition('-')[2]}")
        content = file.read_bytes()
        ranges = [(first, min(last, len(content) - 1)) for first, last in ranges]
        if odd.startswith("refuses-many-") and len(ranges) > 1:
            self._say(int(odd[-3:]))
        elif odd == "whole" and self.is_odd:
            self._send(200, content, self._version(odd, file))
        elif len(ranges) == 1:
            self._send_one(odd, file, content, *ranges[0])
        else:
            parts = [self._part(content, *each) for each in ranges]
            kind = {"Content-Type": f"multipart/byteranges; boundary={_BOUNDARY}"}
            text = b"".join(parts) + f"\r\n--{_BOUNDARY}--\r\n".encode()
            self._send(206, text, kind | self._version(odd, file))

    def _send_one(self, odd: str, file: Path, content: bytes, first: int, last: int) -> None:
        if odd == "shifted" and self.is_odd and first > 100:
            first, last = first - 64, last - 64
        told = {"Content-Range": f"bytes {first}-{last}/{len(content)}"}
        if odd == "silent" and self.is_odd:
            told = {}
        self._send(206, content[first : last + 1], told | self._version(odd, file))

    def _part(self, content: bytes, first: int, last: int) -> bytes:
        head = f"\r\n--{_BOUNDARY}\r\nContent-Range: bytes {first}-{last}/{len(content)}\r\n\r\n"
        return head.encode() + content[first : last + 1]

    def _send(self, code: int, body: bytes, heads: dict[str, str]) -> None:
        self._say(code, **{**heads, "Content-Length": str(len(body))})
        self.wfile.write(body)

    def _version(self, odd: str, file: Path) -> dict[str, str]:
        """ETag and date. Nodes that share a disk tell tags of their own; those with copies dates,
        too."""
        state, node = file.stat(), self.n % 2
        seconds = int(state.st_mtime) + (node if odd == "copies" else 0)
        seconds += self.n if odd == "always-new" else 0
        tag = f'"{state.st_ino:x}-{node if odd in ("nodes", "copies") else 2}"'
        told = {"ETag": f"W/{tag}" if odd == "weak" else tag}
        told["Last-Modified"] = email.utils.formatdate(seconds, usegmt=True)
        left_out = {"no-tag": ["ETag"], "always-new": ["ETag"], "no-version": list(told)}
        return {key: value for key, value in told.items() if key not in left_out.get(odd, [])}


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last)


@contextmanager
def odd_web_server(folder: Path, certificate: Path | None = None) -> Iterator[OddWebServer]:
    """Answers until the end of the block."""
    with OddWebServer(folder, certificate) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
