"""Real servers with a file of the input, and a proxy before them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.remote_faults.proxies import CONFIGURATION, make_certificates
from tests.support.fault_proxy import FaultProxy, fault_proxy
from tests.support.web_server import WebServer, web_server
from tests.support.xrootd_server import XrootdServer, xrootd_server

NAME = "s.root"
_MODIFIED_S = 1_700_000_000
_CACHE = """
oss.localroot {folder}/disk/files
ofs.osslib libXrdPss.so
pss.cachelib libXrdPfc.so
pfc.blocksize 128k
"""
_DISK_OF_CACHE = "size=16m"  # with less than 10 MB it does not start


@dataclass
class Site:
    """`url`: of the file, past the proxy; `direct`: not past it. `credential`: the file of the
    user's proxy or token, `expired`: what it has once it has expired. `disk`: of a cache."""

    server: XrootdServer | WebServer
    proxy: FaultProxy
    url: str
    direct: str
    environment: dict[str, str] = field(default_factory=dict)
    credential: Path | None = None
    expired: str = ""
    disk: Path | None = None

    @property
    def file(self) -> Path:
        return self.server.data / NAME

    def put(self, content: bytes) -> None:
        """As the file, at once."""
        whole = self.file.with_suffix(".new")
        whole.write_bytes(content)
        whole.replace(self.file)


@contextmanager
def site(kind: str) -> Iterator[Site]:
    """One of `SITES`. Skips where a program is missing, or a right."""
    with ExitStack() as stack:
        yield SITES[kind](stack)


def _root(stack: ExitStack) -> Site:
    server = stack.enter_context(xrootd_server())
    proxy = stack.enter_context(fault_proxy(server.port))
    return Site(server, proxy, _root_url(proxy.port, server), server.url(NAME))


def _root_url(port: int, server: XrootdServer) -> str:
    return f"root://127.0.0.1:{port}/{server.data}/{NAME}"


def _gsi(stack: ExitStack) -> Site:
    server = stack.enter_context(xrootd_server(CONFIGURATION, prepare=make_certificates))
    proxy = stack.enter_context(fault_proxy(server.port))
    grid = server.folder / "grid"
    credential = server.folder / "proxy"
    shutil.copy(grid / "fresh.proxy", credential)
    environment = {
        "X509_USER_PROXY": str(credential), "X509_CERT_DIR": str(grid / "authorities"),
        "XrdSecGSISRVNAMES": "*",
    }  # fmt: skip
    url, direct = _root_url(proxy.port, server), server.url(NAME)
    expired = (grid / "expired.proxy").read_text()
    return Site(server, proxy, url, direct, environment, credential, expired)


def _redirected(stack: ExitStack) -> Site:
    origin = _root(stack)
    redirects = f"xrootd.redirect 127.0.0.1:{origin.proxy.port} /"
    first = stack.enter_context(xrootd_server(redirects, "/"))
    origin.url = f"root://127.0.0.1:{first.port}/{origin.file}"
    return origin


def _cached(stack: ExitStack) -> Site:
    server = stack.enter_context(xrootd_server())

    def mount(cache: XrootdServer) -> None:
        disk = cache.folder / "disk"
        disk.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", _DISK_OF_CACHE, "tmpfs", str(disk)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("no mounts here")
        (disk / "files").mkdir()

    more = f"{_CACHE}\npss.origin 127.0.0.1:{server.port}"
    cache = stack.enter_context(xrootd_server(more, "/", mount))
    disk = cache.folder / "disk"
    stack.callback(subprocess.run, ["umount", "--lazy", str(disk)], check=True)
    proxy = stack.enter_context(fault_proxy(cache.port))
    url = _root_url(proxy.port, server)
    return Site(server, proxy, url, server.url(NAME), disk=disk)


def _http(stack: ExitStack) -> Site:
    server = stack.enter_context(web_server())
    proxy = stack.enter_context(fault_proxy(server.port))
    url = f"http://127.0.0.1:{proxy.port}/{NAME}"
    return Site(server, proxy, url, server.url(NAME))


def _moved(stack: ExitStack) -> Site:
    origin = _http(stack)
    first = stack.enter_context(web_server(elsewhere=origin.proxy.port))
    origin.url = first.url(f"elsewhere/{NAME}")
    return origin


def _https(stack: ExitStack) -> Site:
    server = stack.enter_context(web_server())
    proxy = stack.enter_context(fault_proxy(server.secure_port))
    credential = server.folder / "token"
    credential.write_text("sesame")
    environment = {
        "BEARER_TOKEN_FILE": str(credential), "SSL_CERT_FILE": str(server.certificate)
    }  # fmt: skip
    name = f"guarded/{NAME}"
    url = f"https://127.0.0.1:{proxy.port}/{name}"
    direct = server.secure_url(name)
    return Site(server, proxy, url, direct, environment, credential, "stale")


SITES = {
    "root": _root, "gsi": _gsi, "redirected": _redirected, "cached": _cached, "http": _http,
    "moved": _moved, "https": _https,
}  # fmt: skip


def serve(one: Site, content: bytes) -> None:
    """The file, with the date that it always has."""
    one.put(content)
    os.utime(one.file, (_MODIFIED_S, _MODIFIED_S))
