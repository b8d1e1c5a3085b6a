"""A real nginx of this machine, where it is installed."""

from __future__ import annotations

import shutil
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
  }}
}}
"""


class WebServer:
    """Serves a folder: by ranges; below /signed/ with ?token=sesame alone, below /single/ by one
    range for each request, below /whole/ without any, below /moved/ by a redirection. The same by
    TLS, with a certificate that it has made for itself."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, folder / "data"
        self.certificate = folder / "certificate"
        with socket.socket() as unused, socket.socket() as other:
            unused.bind(("127.0.0.1", 0))
            other.bind(("127.0.0.1", 0))
            self.port, self.secure_port = unused.getsockname()[1], other.getsockname()[1]

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    def secure_url(self, name: str) -> str:
        return f"https://127.0.0.1:{self.secure_port}/{name}"

    def configuration(self) -> str:
        return _CONFIGURATION.format(
            folder=self.folder, port=self.port, secure_port=self.secure_port
        )

    def certify(self) -> None:
        """Skips without the program openssl."""
        if shutil.which("openssl") is None:
            pytest.skip("the program openssl is not installed")
        subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
        files = ("-keyout", str(self.folder / "key"), "-out", str(self.certificate))
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, *files]
        subprocess.run(command, check=True, capture_output=True)


@contextmanager
def web_server() -> Iterator[WebServer]:
    """Skips where there is none (Debian, Ubuntu: apt install nginx-light)."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if program is None:
        pytest.skip("the program nginx is not installed")
    with tempfile.TemporaryDirectory() as name:
        server = WebServer(Path(name))
        server.data.mkdir()
        configuration = server.folder / "nginx.conf"
        server.certify()
        configuration.write_text(server.configuration())
        command = [program, "-p", name, "-c", str(configuration)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                deadline = time.monotonic() + PATIENCE_S
                while True:
                    assert process.poll() is None, (server.folder / "error.log").read_text()
                    with suppress(OSError), socket.create_connection(("127.0.0.1", server.port)):
                        break
                    assert time.monotonic() < deadline, "the server does not answer"
                    time.sleep(0.02)
                yield server
            finally:
                process.terminate()
