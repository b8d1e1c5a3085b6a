"""URLs of input whose secrets stay in memory: tokens, signatures and passwords are taken out where
a URL is given, and what is left names the file in configurations, plans, messages and reports.

The whole URLs are in a file in memory, of which processes that are started know the name; where
bytes are read (`remote_places.cpp`), they are looked up there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from forkrun.errors import InputError

_PLACES = "FORKRUN_PLACES"
"""Variable with the name of the file in memory: on each line a public URL, a tab, and the URL
that is to be opened for it."""
_GIVEN = "FORKRUN_URLS"
"""Variable with the name of a user's file of whole URLs, one a line: for nodes, and to resume."""
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
"""Names in queries whose values give access, or come and go with those that do: of XRootD, WLCG
tokens, EOS, dCache and signed URLs of Amazon, Google and Azure."""
_MOST_OF_NAME = 40
"""Characters of a value that may be part of a file's name; a UUID has 36."""


class _Memory(NamedTuple):
    """The file in memory, of this process."""

    pid: int
    descriptor: int


_memory = _Memory(0, -1)


def spelled(url: str) -> str:
    """A URL as it is sent and named: its scheme in small letters and, of web servers, what URLs do
    not have quoted: spaces, letters beyond ASCII, % without a number, and # (it is part of a name:
    files have no parts with names). Other texts stay."""
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
    """The URL without password and without what is secret in its query. The same file has it with
    any token. Of several places of a file, with | between them, each."""
    return "|".join(map(_public, url.split("|")))


def _public(url: str) -> str:
    url = spelled(url)
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
    """A text with public URLs in the place of whole ones."""
    return _IN_TEXT.sub(lambda match: public_url(match[0]), text)


def known_as(url: str) -> str:
    """The public form of a URL, or of several with | between them, which stands for it from now
    on."""
    name, places = public_url(url), url.split("|")
    if name != "|".join(map(spelled, places)):
        _know(places)
    return name


def _know(urls: Iterable[str]) -> None:
    """From now on their public forms stand for these URLs, in this process and in those that it
    starts."""
    global _memory
    if _memory.pid != os.getpid():
        before = _read(os.environ.get(_PLACES, ""))
        _memory = _Memory(os.getpid(), os.memfd_create("places", 0))
        os.environ[_PLACES] = f"/proc/{_memory.pid}/fd/{_memory.descriptor}"
        os.write(_memory.descriptor, before)
    lines = (f"{_public(url)}\t{spelled(url)}\n" for url in urls)
    os.write(_memory.descriptor, "".join(lines).encode())


def whole_url(name: str) -> str:
    """What is to be opened for a public URL; other texts stay."""
    begin = f"{name}\t".encode()
    lines = _read(os.environ.get(_PLACES, "")).splitlines()
    found = [line for line in lines if line.startswith(begin)]
    return found[-1].split(b"\t")[1].decode() if found else name


def know_given_urls() -> None:
    """Those of the user's file, if there is one. Raises InputError."""
    path = os.environ.get(_GIVEN, "")
    if path:
        try:
            lines = [line for line in Path(path).read_text().splitlines() if line.strip()]
        except (OSError, ValueError) as error:
            raise InputError(f"{_GIVEN}: {path}: cannot be read: {error}") from None
        _know(lines)


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes() if path else b""
    except OSError:  # of a process that has ended, or on another machine
        return b""
