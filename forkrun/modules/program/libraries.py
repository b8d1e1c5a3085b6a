"""Dependence of compiled libraries of modules: their content, the libraries they load, and
functions by which they read the outside: time, environment, files, chance."""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from forkrun import _core

_OUTSIDE = re.compile(
    "_*(secure_getenv|getenv|environ|f?open(at)?(64)?|freopen|popen|system|opendir|scandir|fstatat|"
    "[fl]?stat(64)?|access|time|times|clock|gettimeofday|clock_gettime|ftime|s?rand(_r)?|"
    "s?random(_r)?|[dejlmn]rand48|arc4random.*|getrandom|getentropy|getpid|gettid|gethostname|"
    "getcwd|socket|connect|dlopen|mmap(64)?|sched_getcpu|sysconf|uname|localtime(_r)?)"
    "|_ZNSt13random_device.*|_ZNSt6chrono3_V2.*clock3nowEv|_ZNSt1[0-9]basic_i?f(stream|ilebuf).*"
    "|_ZNSt1[34]basic_i?fstream.*|_ZNSt13basic_filebuf.*|_ZNSt10filesystem.*|_ZN5TFile.*|"
    "_ZN7TSystem.*|_ZN8TRandom.*|gRandom|gSystem|curl_.*|_ZN5XrdCl.*"
)
_SYSTEM = ("/lib", "/usr/lib")
_HEADER, _SECTION, _SYMBOL = struct.Struct("<40xQ10xHHH"), struct.Struct("<II16xQQI12xQ"), 24
_DYNAMIC, _DYNAMIC_SYMBOLS, _NEEDED = 6, 11, 1


class Linked(NamedTuple):
    """Symbols of a library: functions and libraries that it requests from others."""

    functions: list[str]
    libraries: list[str]


def libraries_of(plugin: Path) -> tuple[list[str], list[str]]:
    """Digests of a loaded plugin and all libraries that it brings, except those of forkrun and
    ROOT, whose builds are known; and reasons why it depends on more than these."""
    digests, reasons, waiting, seen = [], [], [plugin], set[str]()
    loaded = {os.path.basename(path): path for path in _loaded()}
    while waiting:
        path = waiting.pop()
        seen.add(path.name)
        if str(path).startswith(_SYSTEM):
            status = path.stat()
            digests.append(f"{path} {status.st_size} {status.st_mtime_ns}")
            continue
        data = path.read_bytes()
        digests.append(hashlib.sha256(data).hexdigest())
        try:
            linked = linked_by(data)
        except (struct.error, ValueError, IndexError):
            reasons.append(f"{path.name} cannot be looked into")
            continue
        reasons += [f"{path.name} calls {name}" for name in linked.functions if _is_outside(name)]
        for name in linked.libraries:
            found = Path(loaded.get(name, ""))
            if name in seen or _is_known(found):
                continue
            if name in loaded:
                waiting.append(found)
            else:
                reasons.append(f"{path.name} needs {name}, which is not loaded")
    return sorted(digests), list(dict.fromkeys(reasons))


def linked_by(data: bytes) -> Linked:
    """Functions and libraries that a shared library requests. Raises ValueError, struct.error or
    IndexError for other files and architectures."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no shared library")
    place, size, n_sections, _ = _HEADER.unpack_from(data)
    sections = [_SECTION.unpack_from(data, place + n * size) for n in range(n_sections)]
    functions, libraries = [], []
    for _, kind, begin, n_bytes, link, _ in sections:
        names = sections[link][2]
        if kind == _DYNAMIC_SYMBOLS:
            for at in range(begin, begin + n_bytes, _SYMBOL):
                name, _, _, section = struct.unpack_from("<IBBH", data, at)
                functions += [] if section else [_text(data, names + name)]
        elif kind == _DYNAMIC:
            for at in range(begin, begin + n_bytes, 16):
                tag, value = struct.unpack_from("<qQ", data, at)
                libraries += [_text(data, names + value)] if tag == _NEEDED else []
    return Linked(functions, libraries)


def _text(data: bytes, begin: int) -> str:
    return data[begin : data.index(b"\0", begin)].decode("utf-8", "replace")


def _is_outside(function: str) -> bool:
    return _OUTSIDE.fullmatch(function) is not None


def _is_known(path: Path) -> bool:
    own = Path(_core.__file__).resolve().parent
    return path.resolve().is_relative_to(own) or path.parts[-3:-1] == ("ROOT", "lib")


def _loaded() -> Iterator[str]:
    with open("/proc/self/maps") as maps:
        for line in maps:
            if (place := line.find("/")) > 0:
                yield line[place:].rstrip()
