"""A real nginx of this machine, where it is installed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.jobs import PATIENCE_S

_CONFIGURATION = """
daemon off;
user root;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    listen 127.0.0.1:{secure_port} ssl;
    ssl_certificate {folder}/certificate;
    ssl_certificate_key {folder}/key;
    location / {{ root {folder}/data; }}
    location /signed/ {{
      if ($arg_token != "sesame") {{ return 403; }}
      alias {folder}/data/;
    }}
    location /single/ {{ max_ranges 1; alias {folder}/data/; }}
    location /whole/ {{ max_ranges 0; alias {folder}/data/; }}
    location /moved/ {{ rewrite ^/moved/(.*)$ /$1 redirect; }}
    location /elsewhere/ {{
      rewrite ^/elsewhere/(.*)$ http://127.0.0.1:{elsewhere}/$1 redirect;
    }}
    location /guarded/ {{
      if ($http_authorization != "Bearer sesame") {{ return 401; }}
      if (-f {folder}/expired) {{ return 401; }}
      alias {folder}/data/;
    }}
  }}
}}
"""


class WebServer:
    """Serves a folder: by ranges; below /signed/ with ?token=sesame alone, below /guarded/ with
    sesame as bearer token until there is a file `expired` beside the folder, below /single/ by one
    range for each request, below /whole/ without any, below /moved/ by a redirection, below
    /elsewhere/ by one to another port. The same by TLS, with a certificate that it has made for
    itself. A server that was killed is started again at the same ports."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, folder / "data"
        self.certificate = folder / "certificate"
        with socket.socket() as unused, socket.socket() as other:
            unused.bind(("127.0.0.1", 0))
            other.bind(("127.0.0.1", 0))
            self.port, self.secure_port = unused.getsockname()[1], other.getsockname()[1]
        self.elsewhere = 1
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    def secure_url(self, name: str) -> str:
        return f"https://127.0.0.1:{self.secure_port}/{name}"

    def start(self) -> None:
        """Skips where there is no program."""
        program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
        if program is None:
            pytest.skip("the program nginx is not installed")
        configuration = self.folder / "nginx.conf"
        configuration.write_text(
            _CONFIGURATION.format(
                folder=self.folder,
                port=self.port,
                secure_port=self.secure_port,
                elsewhere=self.elsewhere,
            )
        )
        command = [program, "-p", str(self.folder), "-c", str(configuration)]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + PATIENCE_S
        while True:
            assert self._process.poll() is None, (self.folder / "error.log").read_text()
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


def certify(folder: Path) -> Path:
    """A certificate for this machine that it signs itself, with its key beside it. Skips without
    the program openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("the program openssl is not installed")
    certificate = folder / "certificate"
    subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", str(folder / "key"), "-out", str(certificate))
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, *files]
    subprocess.run(command, check=True, capture_output=True)
    return certificate


@contextmanager
def web_server(elsewhere: int = 1) -> Iterator[WebServer]:
    """Skips where there is none (Debian, Ubuntu: apt install nginx-light)."""
    with tempfile.TemporaryDirectory() as name:
        server = WebServer(Path(name))
        server.elsewhere = elsewhere
        server.data.mkdir()
        certify(server.folder)
        try:
            server.start()
            yield server
        finally:
            server.kill()
