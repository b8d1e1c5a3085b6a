"""Certificates of an authority of one's own, by openssl: proxies of a user, fresh and expired."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.xrootd_server import XrootdServer

CONFIGURATION = """
xrootd.seclib libXrdSec.so
sec.protocol gsi -certdir:{folder}/grid/authorities -cert:{folder}/grid/host.pem \
-key:{folder}/grid/host.key -gmapopt:nomap -crl:0
sec.protbind * only gsi
"""
_POLICY = """access_id_CA X509 '/O=forkrun/CN=authority'
pos_rights globus CA:sign
cond_subjects globus '"/O=forkrun/*"'
"""
_OF_PROXY = """keyUsage=critical,digitalSignature,keyEncipherment
proxyCertInfo=critical,language:id-ppl-inheritAll,pathlen:0
"""
_NAMES = ("-subj", "/O=forkrun/CN={name}", "-nodes", "-newkey", "rsa:2048")


def make_certificates(server: XrootdServer) -> None:
    """Of the authority, the server and a user, with two proxies of the user, in the folder `grid`.
    Skips without the program openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("the program openssl is not installed")
    folder = server.folder / "grid"
    (folder / "authorities").mkdir(parents=True)
    (folder / "proxy.ext").write_text(_OF_PROXY)
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    _openssl(folder, "req", "-x509", *_new("authority"), "-out", "authority.pem", *usage)
    for option in ("-hash", "-subject_hash_old"):
        told = _openssl(folder, "x509", "-in", "authority.pem", "-noout", option).strip()
        shutil.copy(folder / "authority.pem", folder / "authorities" / f"{told}.0")
        (folder / "authorities" / f"{told}.signing_policy").write_text(_POLICY)
    for name in ("host", "user"):
        _sign(folder, name, _new(name), "authority")
    names = list(_new("user/CN=12345", "proxy"))
    for name, days in (("fresh", 1), ("expired", -1)):
        more = ("-set_serial", "12345", "-extfile", "proxy.ext")
        _sign(folder, name, names, "user", *more, days=days)
        parts = [folder / part for part in (f"{name}.pem", "proxy.key", "user.pem")]
        proxy = folder / f"{name}.proxy"
        proxy.write_text("".join(part.read_text() for part in parts))
        proxy.chmod(0o600)


def _new(subject: str, name: str = "") -> tuple[str, ...]:
    key = ("-keyout", f"{name or subject}.key")
    return (*(part.format(name=subject) for part in _NAMES), *key)


def _sign(
    folder: Path, name: str, new: tuple[str, ...] | list[str], by: str, *more: str, days: int = 30
) -> None:
    _openssl(folder, "req", *new, "-out", f"{name}.request")
    signs = ("-CA", f"{by}.pem", "-CAkey", f"{by}.key")
    serial = () if more else ("-CAcreateserial",)
    whose = ("-in", f"{name}.request", "-out", f"{name}.pem", "-days", str(days))
    _openssl(folder, "x509", "-req", *whose, *signs, *serial, *more)


def _openssl(folder: Path, *arguments: str) -> str:
    command = ["openssl", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
