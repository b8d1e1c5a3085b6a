"""The folder tree is the design: imports go down the stairs, and never in circles."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

FLOORS = (
    ("errors", "_core"),
    ("base",),
    ("config",),
    ("formats",),
    ("fork", "rundir", "histograms"),
    ("index",),
    ("plan", "merge", "monitoring", "conditions"),
    ("modules",),
    ("schedule",),
    ("child",),
    ("parent",),
    ("studies", "batch"),
    ("api",),
    ("analysis",),
    ("cli",),
    ("__init__", "__main__"),
)
"""Rooms of the Python package from the ground up; those of one floor do not know each other."""
NARROW = {
    "merge": {"errors", "_core", "base", "config", "formats", "rundir", "histograms"},
    "monitoring": {"errors", "_core", "base", "config", "rundir"},
}
"""Rooms that may import less than all that is below them."""
ONLY_TYPES = {("__init__", "conditions"), ("__init__", "modules")}
MOST_FLOORS = 9
"""Folders in the longest chain of imports."""
MOST_NAMES = 24
"""In one folder: a screen of them."""

CPP = {
    "concurrency": set(),
    "random": set(),
    "pages": {"concurrency"},
    "plan": set(),
    "core/data": {"random", "concurrency"},
    "histograms": {"core/data", "concurrency"},
    "core/module": {"histograms", "core/data", "random"},
    "core/schedule": {"core/module", "histograms", "core/data", "random", "concurrency"},
    "process": {"core/data", "concurrency"},
    "core/run": {"core/schedule", "core/module", "core/data", "process", "concurrency", "random"},
    "core/testing": {"core/run", "core/schedule", "core/module", "core/data", "concurrency"},
    "conditions": {"module.hpp", "core/module", "core/data"},
    "modules": {"module.hpp", "core/module", "core/data", "random", "replay"},
    "replay": {
        "core/run", "core/schedule", "core/module", "core/data", "histograms", "concurrency",
    },
    "bytes": {"core/data"},
    "bytes/remote": {"bytes", "core/data"},
    "bytes/xrootd": {"bytes/remote", "bytes"},
    "fragments": {"bytes", "core/module", "core/data", "process"},
    "formats/root_file": {"bytes", "core/data", "process"},
    "formats/root_histograms": {"formats/root_file", "bytes", "core/data"},
    "formats/table": {"bytes", "core/data"},
    "formats/lcio": {"formats/table", "bytes", "core/data"},
    "formats/rntuple": {"formats/table", "formats/root_file", "bytes", "core/data"},
    "formats/rntuple/write": {"formats/rntuple", "formats/root_file", "bytes", "core/data"},
    "formats/rntuple/output": {
        "formats/rntuple/write", "formats/rntuple", "formats/source", "formats/ttree/read",
        "formats/table", "formats/root_file", "fragments", "bytes", "core/data",
    },
    "formats/ttree/layout": {"formats/root_file", "fragments", "bytes", "core/data"},
    "formats/ttree/read": {
        "formats/ttree/layout", "formats/rntuple", "formats/table", "formats/root_file",
        "bytes", "core/data",
    },
    "formats/source": {
        "formats/ttree/read", "formats/rntuple", "formats/table", "bytes", "core/data",
    },
    "formats/index": {
        "formats/source", "formats/ttree/read", "formats/ttree/layout", "formats/rntuple",
        "formats/root_file", "bytes", "core/data",
    },
    "formats/ttree/write": {
        "formats/ttree/read", "formats/ttree/layout", "formats/root_file", "fragments", "bytes",
        "core/data", "process",
    },
    "formats/ttree/verify": {
        "process",
        "formats/ttree/write", "formats/ttree/read", "formats/ttree/layout", "bytes",
    },
    "formats/ttree/merge": {
        "formats/ttree/verify", "formats/ttree/write", "formats/ttree/read",
        "formats/ttree/layout", "formats/table", "formats/root_file", "fragments", "bytes",
        "core/data",
    },
    "formats/ttree/output": {
        "formats/ttree/merge", "formats/ttree/verify", "formats/ttree/write", "formats/ttree/read",
        "formats/ttree/layout", "formats/source", "formats/table", "formats/root_file",
        "fragments", "bytes", "core/data",
    },
    "formats/merge": {
        "formats/ttree/output", "formats/ttree/merge", "formats/ttree/write", "formats/ttree/read",
        "formats/ttree/layout", "formats/rntuple/output", "formats/rntuple/write",
        "formats/rntuple", "formats/index", "formats/source", "formats/table",
        "formats/root_file", "fragments", "bytes", "core/data",
    },
    "formats/output": {
        "formats/ttree/output", "formats/ttree/merge", "formats/rntuple/output", "formats/source",
        "formats/table", "fragments", "core/data",
    },
    "formats/testing": set(),
    "python_memory": {"random"},
}  # fmt: skip
"""Folders of cpp/forkrun, and which others each may include; tests may include core/testing."""


OPENS_FILES = {
    "bytes/local_file.cpp": "input",
    "bytes/remote/cached_file.cpp": "the cache of input on servers",
    "bytes/remote/decoded_blocks.cpp": "content of blocks in the cache",
    "bytes/remote/remote_ends.cpp": "ends of input on servers",
    "formats/root_file/input_file.cpp": "input on a server, by ROOT",
    "formats/root_file/output_descriptor.cpp": "outputs",
    "formats/lcio/record_writer.cpp": "outputs of LCIO",
    "fragments/fragment.cpp": "fragments",
}
ROOTS_COMPRESSION = {"forkrun/bytes/zip.cpp", "forkrun/bytes/compression.cpp"}
"""Use the functions of ROOT that pack and unpack."""


def name_of(file: Path) -> str:
    """`forkrun.child.loop`; merge/ and monitoring/ are in the package by links."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    whole = parts if parts[0] == "forkrun" else ("forkrun", *parts)
    return ".".join(whole[:-1] if whole[-1] == "__init__" and len(whole) > 2 else whole)


@cache
def python_files() -> dict[str, Path]:
    """By full name."""
    folders = (ROOT / "forkrun", ROOT / "merge", ROOT / "monitoring")
    return {
        name_of(file): file
        for folder in folders
        for file in sorted(folder.rglob("*.py"))
        if not any(parent.is_symlink() for parent in file.parents if parent != ROOT)
    }


def imported(text: str, known: Iterable[str]) -> set[str]:
    """Full names of what a file of ours imports from us, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {n if n in known or n == "forkrun._core" else node.module for n in inner}
    return {name for name in found if name == "forkrun" or name.startswith("forkrun.")}


def room_of(name: str) -> str:
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def wrong_imports(imports: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """`imports`: full names by full name. One line for each that does not go down the stairs."""
    floor_of = {room: n for n, floor in enumerate(FLOORS) for room in floor}
    for name, others in imports.items():
        room = room_of(name)
        for other in others:
            target = room_of(other)
            if target in (room, "__init__") or (room, target) in ONLY_TYPES:
                continue
            is_narrow = room in NARROW and target not in NARROW[room]
            if floor_of[target] >= floor_of[room] or is_narrow:
                yield f"{name} imports {other}"


@cache
def all_imports() -> dict[str, set[str]]:
    files = python_files()
    return {name: imported(file.read_text(), files) for name, file in files.items()}


def test_rooms_import_from_the_floors_below_them() -> None:
    assert list(wrong_imports(all_imports())) == []


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("forkrun.child.loop", "forkrun.parent.job"),
        ("forkrun.base.durable", "forkrun.config"),
        ("forkrun.merge.run", "forkrun.plan"),
        ("forkrun.fork.forking", "forkrun.index"),
        ("forkrun.monitoring.records", "forkrun.merge.run"),
    ],
)
def test_an_import_up_the_stairs_or_along_a_floor_is_found(name: str, other: str) -> None:
    assert list(wrong_imports({name: [other]})) == [f"{name} imports {other}"]


def test_files_do_not_import_each_other_in_circles() -> None:
    imports = all_imports()
    packages = {name for name, file in python_files().items() if file.name == "__init__.py"}
    graph = {  # a package's own __init__ is imported with each of its files
        name: {o for o in others if o in imports and not (o in packages and name.startswith(o))}
        for name, others in imports.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' → '.join(error.args[1])}")


def longest_chain(edges: Mapping[str, set[str]]) -> list[str]:
    chains: dict[str, list[str]] = {}
    for room in TopologicalSorter(edges).static_order():
        below = (chains[other] for other in edges.get(room, ()))
        chains[room] = [room, *max(below, key=len, default=[])]
    return max(chains.values(), key=len)


def test_no_chain_of_folders_is_long() -> None:
    folders = {f.name for f in (ROOT / "forkrun").iterdir() if f.is_dir()} - {"include", "lib"}
    edges: dict[str, set[str]] = {}
    for name, others in all_imports().items():
        rooms = {room_of(other) for other in others} & folders - {room_of(name)}
        if room_of(name) in folders:
            edges.setdefault(room_of(name), set()).update(rooms)
    chain = longest_chain(edges)
    assert len(chain) <= MOST_FLOORS, " → ".join(chain)


def test_a_folder_is_seen_on_one_screen() -> None:
    skipped = {"__pycache__", "lib", "include", "_core", "py"}  # built; py.typed
    folders = {file.parent for file in [*python_files().values(), *(ROOT / "cpp").rglob("*.cpp")]}
    for folder in folders:
        names = {f.name.split(".")[0].removesuffix("_test") for f in folder.iterdir()} - skipped
        assert len(names) <= MOST_NAMES, f"{folder.relative_to(ROOT)} has {len(names)} names"


def test_one_python_file_forks() -> None:
    files = [f for f in (ROOT / "forkrun").rglob("*.py") if "_core.fork(" in f.read_text()]
    assert [file.name for file in files] == ["forking.py"]


def including(pattern: str) -> set[str]:
    includes = re.compile(rf"^#include <{pattern}", re.MULTILINE)
    files = [f for f in (ROOT / "cpp").rglob("*.?pp") if includes.search(f.read_text())]
    return {file.relative_to(ROOT / "cpp").as_posix() for file in files}


def test_root_is_known_to_its_folder_alone() -> None:
    users = including(r"(T[A-Z]\w*|ROOT/\w+|RZip|Compression)\.h")
    assert users
    assert {name for name in users if not name.startswith("forkrun/formats/")} == ROOTS_COMPRESSION


def test_tbb_is_known_to_executor_files_alone() -> None:
    users = including(r"(oneapi/)?tbb/")
    assert users
    executors = {n for n in users if re.fullmatch(r"forkrun/concurrency/\w*executor\w*\.cpp", n)}
    assert users == executors


def cpp_folder(path: str) -> str:
    """`core/run` of core/run/lane.hpp, `formats/ttree/read` of formats/ttree/read/tree_file.hpp."""
    folder = Path(path).parent.as_posix()
    return path if folder == "." else folder


def strangers(folder: str, name: str, text: str) -> set[str]:
    """Folders that a file includes and should not. Tests use what they need of their library."""
    included = re.findall(r"^#include <forkrun/([^>]+)>", text, re.MULTILINE)
    others = {cpp_folder(path) for path in included} - {folder} - CPP[folder]
    if folder.startswith("core/"):
        others -= {"concurrency"}
    if "_test" in name:
        library = folder.split("/")[0]
        others = {o for o in others if o.split("/")[0] not in (library, "core", "process")}
    return others


def test_each_cpp_folder_is_in_the_table() -> None:
    files = (ROOT / "cpp/forkrun").rglob("*.?pp")
    folders = {cpp_folder(f.relative_to(ROOT / "cpp/forkrun").as_posix()) for f in files}
    assert folders - {"module.hpp"} == set(CPP)


@pytest.mark.parametrize("folder", sorted(CPP))
def test_cpp_folders_look_one_way(folder: str) -> None:
    files = sorted((ROOT / "cpp/forkrun" / folder).glob("*.?pp"))
    assert files
    for file in files:
        found = strangers(folder, file.name, file.read_text())
        assert not found, f"{file.relative_to(ROOT)} includes {found}"


def test_the_table_of_cpp_folders_has_no_circle() -> None:
    order = list(TopologicalSorter(CPP).static_order())
    assert order.index("core/data") < order.index("bytes") < order.index("formats/source")


@pytest.mark.parametrize(
    ("folder", "header"),
    [
        ("core/data", "formats/ttree/read/tree_file.hpp"),
        ("fragments", "formats/ttree/layout/basket.hpp"),
        ("formats/root_histograms", "formats/ttree/read/tree_file.hpp"),
        ("formats/ttree/read", "formats/ttree/write/branch_writer.hpp"),
    ],
)
def test_a_wrong_include_is_found(folder: str, header: str) -> None:
    found = strangers(folder, "some.cpp", f"#include <forkrun/{header}>\n")
    assert found == {cpp_folder(header)}


def test_files_of_events_are_opened_in_few_places() -> None:
    opens = re.compile(r"(?<!\w)::open\(|TFile::Open\(")
    folder = ROOT / "cpp/forkrun"
    files = [
        f for room in ("bytes", "fragments", "formats") for f in folder.glob(f"{room}/**/*.?pp")
    ]
    found = {f.relative_to(folder).as_posix() for f in files if opens.search(f.read_text())}
    assert {name for name in found if "test" not in name} == set(OPENS_FILES)


HOLDS_LOCKS = {
    "forkrun/rundir/opening.py": "the lock of a run directory",
    "forkrun/batch/scratch.py": "that of a node, for its parent on scratch, and of a folder there",
    "forkrun/batch/systems/local.py": "that of a queue",
    "merge/output_parts.py": "that of parts of a merge",
}


def test_a_run_directory_is_opened_in_one_place() -> None:
    holders = {
        str(file.relative_to(ROOT))
        for file in python_files().values()
        if "RunLock.held(" in file.read_text()
    }
    assert holders == set(HOLDS_LOCKS)
