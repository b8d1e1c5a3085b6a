"""Remote files: where their bytes are kept on this machine, and reasons for which a server refuses
access: a proxy or token is missing or has expired. What is done in the cache is C++
(`remote_cache.cpp`), in processes that read; they are told by a variable of the environment."""

from __future__ import annotations

import base64
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from forkrun.config.anchor import cache_folder, is_url

_TOLD = "FORKRUN_REMOTE_CACHE"
"""Variable with the form of the cache, its limit, the job's begin [s] and the folder."""
_DECODED = "FORKRUN_DECODED_CACHE"
"""Variable that is set if uncompressed blocks are kept there, too."""
FORMS = {"auto": "own", "on": "asked", "off": ""}
"""Settings of source.cache that are no folder."""


def remote_cache_folder(cache: str = "auto") -> Path | None:
    """Folder of a setting; None: nothing is kept."""
    return cache_folder("remote") if cache in FORMS else Path(cache)


def use_remote_cache(
    files: Iterable[str], cache: str = "auto", limit: str | int = "5%", decoded: bool = False
) -> None:
    """Tells this process and those that it starts where to keep what they read of remote files.
    `cache`, `limit`, `decoded`: as in [source]."""
    folder, form = remote_cache_folder(cache), FORMS.get(cache, "shared")
    if decoded:
        os.environ[_DECODED] = "on"
    else:
        os.environ.pop(_DECODED, None)
    if folder is None or not form or not (decoded or any(map(is_url, files))):
        os.environ.pop(_TOLD, None)
        return
    os.environ[_TOLD] = f"{form} {limit} {int(time.time())} {folder.absolute()}"


_REFUSED = re.compile(r"auth failed|not allowed|authoriz|permission denied", re.IGNORECASE)


def about_access(message: str) -> str:
    """Addition to the message of a server that refuses access; "" for another one, and of files
    that are here."""
    if "://" not in message or not _REFUSED.search(message):
        return ""
    found = [*_token(), *_proxy()]
    if not found:
        return (
            "; there is neither a proxy (X509_USER_PROXY; voms-proxy-init makes one) nor a token"
            " (BEARER_TOKEN, BEARER_TOKEN_FILE)"
        )
    return "; " + ", ".join(f"{what} {_age(until)}" for what, until in found)


_Until = float | str
"""End of something's validity [s since the epoch], or why that is not known."""


def _age(until_s: _Until) -> str:
    if isinstance(until_s, str):
        return until_s
    minutes = (until_s - time.time()) / 60
    when = f"{abs(minutes) / 60:.1f} h" if abs(minutes) > 90 else f"{abs(minutes):.0f} min"
    return f"is valid for {when}" if minutes > 0 else f"expired {when} ago: make a new one"


def _token() -> Iterator[tuple[str, _Until]]:
    """The token that clients find (`https_client.cpp`), and until when it is valid."""
    if token := os.environ.get("BEARER_TOKEN"):
        yield "the token in BEARER_TOKEN", _end_of_token(token)
        return
    file = _token_file()
    if file.exists() or "BEARER_TOKEN_FILE" in os.environ:
        try:
            yield f"the token in {file}", _end_of_token(file.read_text())
        except (OSError, ValueError) as error:
            yield f"the token in {file}", f"cannot be read: {error}"


def _token_file() -> Path:
    if named := os.environ.get("BEARER_TOKEN_FILE"):
        return Path(named)
    name, folder = f"bt_u{os.geteuid()}", os.environ.get("XDG_RUNTIME_DIR")
    own = Path(folder or "/tmp") / name
    return own if own.exists() else Path("/tmp") / name


def _end_of_token(token: str) -> _Until:
    """End of a JSON web token; tokens of other forms do not show it."""
    if not token.strip():
        return "is empty"
    try:
        middle = token.strip().split(".")[1]
        content = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        return float(content["exp"])
    except (ValueError, LookupError, TypeError):
        return "does not say until when it is valid: it may have expired"


def _proxy() -> Iterator[tuple[str, _Until]]:
    """The proxy that clients find, and until when it is valid."""
    file = Path(os.environ.get("X509_USER_PROXY") or f"/tmp/x509up_u{os.getuid()}")
    if not file.exists() and "X509_USER_PROXY" not in os.environ:
        return
    import ssl  # takes longer to load than the rest of this

    try:
        decoded = ssl._ssl._test_decode_cert(str(file))  # type: ignore[attr-defined]
        yield f"the proxy {file}", float(ssl.cert_time_to_seconds(decoded["notAfter"]))
    except (OSError, ValueError, LookupError):
        yield f"the proxy {file}", "cannot be read"
