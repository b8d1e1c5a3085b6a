"""URLs of input whose secrets stay in memory: tokens, signatures and passwords are removed from
given URLs, and the rest names the file in configurations, plans, messages and reports. A file in
memory holds the whole URLs; started processes inherit its name, and the reader
(`remote_places.cpp`) looks them up there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from forkrun.errors import InputError

_PLACES = "FORKRUN_PLACES"
"""Environment variable with the name of the file in memory: on each line a public URL, a tab, and
the URL to open for it."""
_GIVEN = "FORKRUN_URLS"
"""Environment variable with the name of a user's file of whole URLs, one per line: for nodes, and
for resuming."""
_URL = re.compile(r"^([a-z][a-z0-9+.-]*)://(?:([^/?#]*)@)?([^?]*)(?:\?(.*))?$", re.DOTALL)
_IN_TEXT = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"<>\[\],]+", re.IGNORECASE)
_OF_WEB = re.compile(r"^(https?|davs)://([^/?#]*)(.*)$", re.DOTALL)
_NO_NUMBER = re.compile(r"%(?![0-9a-fA-F]{2})")
_SENT_AS_THEY_ARE = "%/?:@!$&'()*+,;=[]"
_SECRET = re.compile(
    r"auth|token|sig|secret|passw|pwd|cred|bearer|key|session|macaroon|jwt|expire"
    r"|^(x-amz|x-goog|cap)[.-]|^(se|sp|sv|st|sr|ske|skt|sks|skv|skoid|sktid|code|policy)$",
    re.IGNORECASE,
)
"""Names in queries whose values give access, or accompany such values: of XRootD, WLCG tokens, EOS,
dCache and signed URLs of Amazon, Google and Azure."""
_MOST_OF_NAME = 40
"""Characters of a value that may be part of a file's name; a UUID has 36."""


class _Memory(NamedTuple):
    """The file in memory, of this process."""

    pid: int
    descriptor: int


_memory = _Memory(0, -1)


def normalized_url(url: str) -> str:
    """A URL in the form for requests and names: scheme in small letters; for web servers,
    characters not allowed in URLs are quoted: spaces, non-ASCII letters, % without a number, and #
    (part of the name: files have no fragments). Returns other texts unchanged."""
    if not _IN_TEXT.match(url.strip()):
        return url
    scheme, separator, rest = url.strip().partition("://")
    url = scheme.lower() + separator + rest
    if match := _OF_WEB.match(url):
        name = quote(
            _NO_NUMBER.sub("%25", match[3]), safe=_SENT_AS_THEY_ARE, errors="surrogateescape"
        )
        return f"{match[1]}://{match[2]}{name}"
    return url


def public_url(url: str) -> str:
    """The URL without password and secrets in its query: the same for any token. With several URLs
    of a file, separated by |, each is treated."""
    return "|".join(map(_public, url.split("|")))


def _public(url: str) -> str:
    url = normalized_url(url)
    match = _URL.match(url)
    if match is None:
        return url
    scheme, user, place, query = match.groups()
    at = f"{user}@" if user and ":" not in user and not scheme.startswith("http") else ""
    kept = [part for part in (query or "").split("&") if part and not _is_secret(part)]
    return f"{scheme}://{at}{place}" + "?" * bool(kept) + "&".join(kept)


def _is_secret(part: str) -> bool:
    name, _, value = part.partition("=")
    is_path = "/" in value or "." in value.strip(".")
    return bool(_SECRET.search(name)) or (len(value) > _MOST_OF_NAME and not is_path)


def hide_secrets(text: str) -> str:
    """Replaces whole URLs in a text by public ones."""
    return _IN_TEXT.sub(lambda match: public_url(match[0]), text)


def register_url(url: str) -> str:
    """Registers a URL, or several separated by |; returns the public form."""
    name, places = public_url(url), url.split("|")
    if name != "|".join(map(normalized_url, places)):
        _register(places)
    return name


def _register(urls: Iterable[str]) -> None:
    """Registers URLs by their public forms, for this process and those that it starts."""
    global _memory
    if _memory.pid != os.getpid():
        before = _read(os.environ.get(_PLACES, ""))
        _memory = _Memory(os.getpid(), os.memfd_create("places", 0))
        os.environ[_PLACES] = f"/proc/{_memory.pid}/fd/{_memory.descriptor}"
        os.write(_memory.descriptor, before)
    lines = (f"{_public(url)}\t{normalized_url(url)}\n" for url in urls)
    os.write(_memory.descriptor, "".join(lines).encode())


def whole_url(name: str) -> str:
    """The URL to open for a public one; returns other texts unchanged."""
    begin = f"{name}\t".encode()
    lines = _read(os.environ.get(_PLACES, "")).splitlines()
    found = [line for line in lines if line.startswith(begin)]
    return found[-1].split(b"\t")[1].decode() if found else name


def register_given_urls() -> None:
    """Registers the URLs in the user's file, if there is one. Raises InputError."""
    path = os.environ.get(_GIVEN, "")
    if path:
        try:
            lines = [line for line in Path(path).read_text().splitlines() if line.strip()]
        except (OSError, ValueError) as error:
            raise InputError(f"{_GIVEN}: {path}: cannot be read: {error}") from None
        _register(lines)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes() if path else b""
    except OSError:  # file of a process that has ended, or on another machine
        return b""
