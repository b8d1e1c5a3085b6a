"""Information that code reads from outside its input and itself: the time, the environment, files,
chance; also compiled libraries of modules: their content, the libraries they load, and functions by
which they read the outside. Results of such code have no digest: they are computed in every run."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import struct
import sys
import sysconfig
from collections.abc import Collection, Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from forkrun import _core
from forkrun.base.user_code.installed import is_installed
from forkrun.rundir.build import build_identity
from forkrun.rundir.fingerprint import value_digest

_PURE = frozenset((
    "__future__", "abc", "array", "ast", "base64", "binascii", "bisect", "builtins", "calendar",
    "cmath", "collections", "colorsys", "contextlib", "copy", "copyreg", "csv", "dataclasses",
    "datetime", "decimal", "difflib", "enum", "fractions", "functools", "genericpath", "graphlib",
    "hashlib", "heapq", "hmac", "html", "itertools", "json", "keyword", "logging", "math",
    "ntpath", "numbers", "operator", "pathlib", "posixpath", "pprint", "re", "reprlib", "sre_parse",
    "statistics", "string", "struct", "textwrap", "traceback", "types", "typing", "unicodedata",
    "warnings", "zlib", "zoneinfo",
))  # fmt: skip
"""Packages of Python's library that read only their arguments, except for `_NAMES` and
`_ATTRIBUTES`."""
_MODULES = frozenset((
    "requests", "httpx", "aiohttp", "cffi", "_cffi_backend", "urllib3", "fsspec", "s3fs", "uproot",
    "h5py", "tables", "ROOT", "cppyy", "XRootD", "pyarrow", "psutil", "cloudpickle", "dill",
    "joblib", "yaml", "toml", "dotenv",
))  # fmt: skip
"""Further packages from which only the names in `_HARMLESS` may be used, like the rest of Python's
library."""
_HARMLESS = {
    "os": {"path", "sep", "fspath", "PathLike", "linesep", "curdir", "extsep"},
    "sys": {"float_info", "maxsize", "version_info", "stderr", "stdout", "byteorder"},
    "io": {"StringIO", "BytesIO"},
    "inspect": {"signature", "Parameter"},
    "time": {"struct_time"},
}
_NAMES = frozenset((
    "open", "input", "eval", "exec", "compile", "__import__", "globals", "locals", "id", "hash",
    "breakpoint", "memoryview",
))  # fmt: skip
"""Built-in functions."""
_ATTRIBUTES = frozenset((
    "now", "today", "utcnow", "read_text", "read_bytes", "read_csv", "read_parquet", "read_hdf",
    "iterdir", "rglob", "is_file", "is_dir", "environ", "getenv", "getenvb", "urandom",
    "import_module", "from_file", "InferenceSession", "load_model", "loadtxt", "genfromtxt",
    "fromfile", "memmap", "from_parquet", "open_memmap", "_getframe", "modules", "f_globals",
    "__globals__", "__builtins__", "__subclasses__", "gmtime", "localtime", "monotonic",
    "perf_counter", "open", "fdopen", "popen", "listdir", "scandir", "walk", "glob", "exists",
    "stat", "lstat", "getsize", "getmtime", "cwd", "getcwd", "home", "expanduser", "time_ns",
    "process_time", "clock_gettime", "getpid", "get_data", "urlopen", "__doc__", "__annotations__",
    "get_type_hints", "f_locals", "tb_frame", "__reduce__", "__reduce_ex__", "__getstate__",
))  # fmt: skip
"""Names of attributes of any object."""
_OF_PACKAGES = {
    "numpy": {"random", "load", "empty", "empty_like", "DataSource"},
    "scipy": {"rvs", "random_state", "io", "datasets"},
    "typing": {"get_type_hints"},
    "builtins": _NAMES,
    "awkward": {"from_parquet", "from_json", "from_feather"},
    "torch": {"load", "rand", "randn", "randint", "manual_seed", "empty"},
    "onnxruntime": {"InferenceSession"},
    "xgboost": {"load_model", "Booster"},
    "lightgbm": {"Booster"},
    "pandas": {"read_json", "read_pickle", "read_table"},
}
_FORKRUN = "forkrun"
_COMPUTING = (
    "numpy", "awkward", "awkward_cpp", "vector", "hist", "boost_histogram", "correctionlib",
    "onnxruntime", "numba",
)  # fmt: skip
"""Packages that compute values for expressions and functions."""
_RECORD = re.compile(r"(.+?)-(\d[^-]*)(?:-py[^-]*)?\.(?:dist|egg)-info")


def uses_outside(attributes: Collection[str]) -> list[str]:
    """Used attributes that read the outside, of any object."""
    return sorted(_ATTRIBUTES.intersection(attributes))


def builtin_outside(name: str) -> bool:
    """Whether the built-in function with this name reads the outside, or depends on more than its
    arguments."""
    return name in _NAMES


def module_outside(module: ModuleType, attributes: set[str]) -> str:
    """Use of a library's module without a digest; "" if there is none."""
    top, *inner = module.__name__.split(".")
    used = set(attributes)
    if module.__name__ in ("posixpath", "os.path"):
        changing = {"exists", "isfile", "isdir", "getsize", "getmtime", "expandvars", "expanduser"}
        return next((f"os.path.{name}" for name in sorted(used & changing)), "")
    if "*" in used and top not in ("math", "cmath", "operator", "itertools"):
        return f"{module.__name__} as a whole"
    if _is_outside(top):
        used -= _HARMLESS.get(top, set())
        return f"{module.__name__}.{min(used)}" if used else top if top not in _HARMLESS else ""
    wrong = _OF_PACKAGES.get(top, set())
    if wrong & set(inner):
        return module.__name__
    return next((f"{module.__name__}.{name}" for name in sorted(used & wrong)), "")


def name_outside(module: str, name: str) -> str:
    """Use of a directly imported name without a digest, as in `from time import time`; "" if
    harmless."""
    top, *inner = module.split(".")
    first = name.partition(".")[0]
    if _is_outside(top) and first not in _HARMLESS.get(top, set()) and top != "posix":
        return f"{module}.{name}"
    if top in ("builtins", "_io") and (first in _NAMES or top == "_io"):
        return first
    wrong = _OF_PACKAGES.get(top, set())
    return f"{module}.{name}" if wrong & {first, *inner} or first in _ATTRIBUTES else ""


def _is_outside(package: str) -> bool:
    """Whether a package reads the outside."""
    is_of_python = package in sys.stdlib_module_names and package.lstrip("_") not in _PURE
    return package in _MODULES or is_of_python


def environment_digest() -> str:
    """Digest of the builds of forkrun, Python and packages that compute values, and of the machine:
    libraries may compute or compress differently on another processor."""
    processor = ""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        processor = next((line for line in file if line.startswith("model name")), "")
    return value_digest(
        [
            *(build_identity(), sys.version, _core.root_version(), processor),
            *map(installed_version, _COMPUTING),
            *map(edited_files, _COMPUTING),
            os.confstr("CS_GNU_LIBC_VERSION") or "",
        ]
    )


@functools.cache
def edited_files(package: str) -> str:
    """Digest of files of an installed package that were edited after the installation; of all its
    loaded files if it has no record. Files of Python's library are never edited."""
    if package in sys.stdlib_module_names or package == _FORKRUN:
        return ""
    modules = [m for name, m in list(sys.modules.items()) if name.partition(".")[0] == package]
    files = {f for m in modules if isinstance(f := getattr(m, "__file__", None), str)}
    found = hashlib.sha256()
    for file in sorted(files):
        with contextlib.suppress(OSError):
            if is_installed(file) and os.stat(file).st_mtime > _installed_s(
                package, file[: file.rindex(f"{os.sep}{package}")]
            ):
                found.update(f"{os.path.basename(file)}\0".encode())
                found.update(Path(file).read_bytes())
    return found.hexdigest()


@functools.cache
def _installed_s(package: str, folder: str) -> float:
    """Time of a package's installation in a folder, from its record; 0 without one."""
    version = package_version(package)
    record = Path(folder, f"{package}-{version}.dist-info", "RECORD")
    return record.stat().st_mtime + 60 if record.is_file() else 0.0


@functools.cache
def package_version(name: str) -> str | None:
    """Version of a module's package; None if it has none, so that changes go unnoticed."""
    top = name.partition(".")[0].lstrip("_")
    package = sys.modules.get(name.partition(".")[0])
    file = getattr(package, "__file__", None)
    if name.partition(".")[0] in sys.stdlib_module_names or package is None:
        return sys.version if name.partition(".")[0] in sys.stdlib_module_names else None
    if top == _FORKRUN:
        return "own"  # the build is a part of every digest
    version = getattr(package, "__version__", None)
    if isinstance(version, str) and (file is None or is_installed(file)):
        return version
    return installed_version(top)


def installed_version(package: str) -> str | None:
    """Version of an installed package; None if it is not installed, or has none."""
    return _installed_versions().get(_plain(package))


@functools.cache
def _installed_versions() -> dict[str, str]:
    """Versions by the plain name of each installed package, from the names of the records:
    importing their reader takes 20 ms."""
    matches = filter(None, map(_RECORD.fullmatch, reversed(_records())))
    return {_plain(match[1]): match[2] for match in matches}


def _plain(package: str) -> str:
    return re.sub("[-_.]+", "_", package).lower()


@functools.cache
def installed_packages() -> str:
    """Names and versions of all installed packages."""
    return " ".join(sorted({*_records()}))


@functools.cache
def _records() -> list[str]:
    """Names of the folders that describe packages, in order of import precedence."""
    places = dict.fromkeys([*sys.path, *map(sysconfig.get_path, ("purelib", "platlib"))])
    names = (n for p in places if os.path.isdir(p or "") for n in os.listdir(p))
    return [n for n in names if n.endswith((".dist-info", ".egg-info"))]


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
        reasons += [
            f"{path.name} calls {name}" for name in linked.functions if _is_outside_call(name)
        ]
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


def _is_outside_call(function: str) -> bool:
    return _OUTSIDE.fullmatch(function) is not None


def _is_known(path: Path) -> bool:
    own = Path(_core.__file__).resolve().parent
    return path.resolve().is_relative_to(own) or path.parts[-3:-1] == ("ROOT", "lib")


def _loaded() -> Iterator[str]:
    with open("/proc/self/maps") as maps:
        for line in maps:
            if (place := line.find("/")) > 0:
                yield line[place:].rstrip()
