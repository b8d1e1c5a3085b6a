"""Information that code reads from outside its input and itself: the time, the environment, files,
chance. Results of such code have no digest: they are computed in every run."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import sys
import sysconfig
from collections.abc import Collection
from pathlib import Path
from types import ModuleType

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
