"""What children share stays shared: real forks, real memory."""

from __future__ import annotations

import collections
import datetime
import functools
import gc
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import textwrap
import time
import types
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun import _core
from forkrun.config.model import MemoryConfig
from forkrun.fork.forking import Process, fork_processes
from forkrun.fork.memory import prepare_memory
from forkrun.parent.warm_up import run_warm_up_job
from tests.support.jobs import environment

MB = 1_000_000
N = 1_000_000

needs_immortal_objects = pytest.mark.skipif(
    not _core.HAS_IMMORTAL_OBJECTS, reason="Python before 3.12 counts all references"
)


@pytest.fixture(autouse=True)
def _thawed() -> Any:
    """What a test prepares for a fork, the next ones need not live with."""
    yield
    gc.unfreeze()
    gc.enable()


def private_bytes() -> int:
    """Pages that were written to. Pages of libraries that only this process maps are private as
    well, but no copies."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_Dirty:"))


def private_bytes_of(work: Callable[[], object], folder: Path) -> int:
    """What `work` makes private in a child; what it returns is held meanwhile."""
    answer = folder / "answer"

    def body() -> int:
        before = private_bytes()
        held = work()
        answer.write_text(str(private_bytes() - before))
        del held
        return 0

    (pid,) = fork_processes([Process(body, folder / "log")])
    _, status = os.waitpid(pid, 0)
    assert status == 0, (folder / "log").read_text()
    return int(answer.read_text())


class Calibration:
    """A user's class."""

    table = {"a": 1.5}

    def __init__(self, gain: float, name: str) -> None:
        self.gain = gain
        self.name = name


class Slotted:
    __slots__ = ("gain",)

    def __init__(self, gain: float) -> None:
        self.gain = gain


def read_tuples(values: list[tuple[float, str]]) -> float:
    return sum(gain * (hash(name) > 0) for gain, name in values)


def read_dict(values: dict[str, float]) -> float:
    return sum(gain for name, gain in values.items() if hash(name))


def read_instances(values: list[Calibration]) -> float:
    return sum(item.gain * len(item.name) for item in values)


def read_dates(values: list[datetime.datetime]) -> int:
    return sum(hash(value) & 1 for value in values)


def read_any(values: Any) -> int:
    return sum(hash(value) & 1 for value in values)


def read_arrays(values: list[Any]) -> float:
    return sum(float(value[0]) for value in values)


PASSES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "tuples": (lambda: [(float(i), f"k{i}") for i in range(N)], read_tuples),
    "dict": (lambda: {f"k{i}": float(i) for i in range(N)}, read_dict),
    "instances": (lambda: [Calibration(float(i), f"n{i}") for i in range(N // 2)], read_instances),
    "slots": (lambda: [Slotted(float(i)) for i in range(N)], lambda v: sum(i.gain for i in v)),
    "sets": (lambda: [frozenset({i, f"x{i}"}) for i in range(N // 4)], read_any),
    "bytes": (lambda: [b"%d" % i for i in range(N)], read_any),
    "dates": (
        lambda: [datetime.datetime.fromtimestamp(i * 3600) for i in range(N // 2)],
        read_dates,
    ),
    "object array": (lambda: np.array([f"s{i}" for i in range(N)], dtype=object), read_any),
    "small arrays": (lambda: [np.full(8, i) for i in range(N // 5)], read_arrays),
}


@needs_immortal_objects
@pytest.mark.parametrize("kind", PASSES)
def test_reading_many_python_objects_keeps_them_shared(kind: str, tmp_path: Path) -> None:
    make, read = PASSES[kind]
    values = make()
    prepared = prepare_memory(MemoryConfig(huge_pages=False), [values], 1)
    assert prepared.warning() is None
    assert private_bytes_of(lambda: read(values), tmp_path) < MB


@pytest.mark.slow
def test_without_it_reading_copies_the_memory_and_a_warning_says_so(tmp_path: Path) -> None:
    values = [(float(i), f"k{i}") for i in range(N)]
    prepared = prepare_memory(MemoryConfig(immortal=False, huge_pages=False), [values], 1)
    copied = private_bytes_of(lambda: read_tuples(values), tmp_path)
    assert copied > 100 * MB
    assert prepared.n_objects == 3 * N + 1
    assert copied < 1.1 * prepared.n_object_bytes
    warning = prepared.warning()
    assert warning is not None
    assert "3,000,001 Python objects" in warning
    assert ("memory.immortal is false" in warning) == _core.HAS_IMMORTAL_OBJECTS
    assert ("Python 3.12 or newer" in warning) != _core.HAS_IMMORTAL_OBJECTS


@pytest.mark.parametrize("immortal", [True, False])
def test_reading_large_arrays_keeps_them_shared(tmp_path: Path, immortal: bool) -> None:
    arrays = {f"a{i}": np.full(MB, float(i)) for i in range(10)}
    prepare_memory(MemoryConfig(immortal=immortal, huge_pages=False), [arrays], 1)
    assert private_bytes_of(lambda: sum(a.sum() for a in arrays.values()), tmp_path) < MB


@pytest.mark.slow
def test_the_garbage_collector_of_a_child_leaves_frozen_objects_alone(tmp_path: Path) -> None:
    values = [[float(i)] for i in range(N)]
    prepare_memory(MemoryConfig(immortal=False, huge_pages=False), [values], 1)

    def collect() -> None:
        assert gc.isenabled()
        gc.collect()

    assert private_bytes_of(collect, tmp_path) < MB
    assert len(values) == N


def fragmented_objects() -> list[tuple[float, str]]:
    """A hole between any sixteen objects and the next."""
    values = [(float(i), f"k{i}") for i in range(N)]
    return [value for i, value in enumerate(values) if i % 16]


def private_bytes_in_holes_and_beside(folder: Path) -> tuple[int, int]:
    """What a child makes private that makes objects: with holes between those of its parent, and
    where these were filled before the fork."""
    values = fragmented_objects()

    def work() -> object:
        return [(float(i), f"k{i}") for i in range(50_000)]  # about 8 MB

    prepare_memory(MemoryConfig(fill_holes=False, huge_pages=False), [values], 1)
    in_holes = private_bytes_of(work, folder)
    prepare_memory(MemoryConfig(huge_pages=False), [values], 1)
    return in_holes, private_bytes_of(work, folder)


@pytest.mark.long
def test_what_a_child_makes_does_not_go_into_the_holes_between_objects(tmp_path: Path) -> None:
    new = multiprocessing.get_context("spawn")  # it has no free memory left by earlier tests
    with ProcessPoolExecutor(1, new) as process:
        in_holes, in_new_memory = process.submit(
            private_bytes_in_holes_and_beside, tmp_path
        ).result()
    assert in_new_memory < 16 * MB
    assert in_holes > 2 * in_new_memory


def test_nor_into_those_of_the_heap_of_c(tmp_path: Path) -> None:
    """Of 600 bytes, one on each page."""
    n = 4_000
    both = [(b"k" * (3_400 + i % 2), b"f" * (600 + i % 2)) for i in range(n)]
    kept = [one for one, _ in both]
    del both

    def made() -> object:
        return [b"m" * (600 + i % 2) for i in range(n // 2)]

    prepare_memory(MemoryConfig(fill_holes=False, huge_pages=False), [kept], 1)
    in_holes = private_bytes_of(made, tmp_path)
    prepare_memory(MemoryConfig(huge_pages=False), [kept], 1)
    assert private_bytes_of(made, tmp_path) < in_holes / 2


@pytest.mark.slow
def test_huge_pages_leave_values_as_they_are_and_a_write_copies_little(tmp_path: Path) -> None:
    values = [np.full(1000, float(i)) for i in range(5000)]
    joined = prepare_memory(MemoryConfig(huge_pages=True), [values], 1).huge_page_bytes
    if not joined:
        pytest.skip("this kernel joins no pages (it needs Linux 6.1)")
    assert joined > 20 * MB
    assert [value[-1] for value in values] == list(range(5000))

    def write() -> None:
        values[2500][0] = 7

    assert private_bytes_of(write, tmp_path) < MB


def is_immortal(value: object) -> bool:
    return sys.getrefcount(value) > 1 << 30


@needs_immortal_objects
def test_immortal_is_all_that_a_condition_is_made_of_and_nothing_of_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = types.ModuleType("calibrations")
    exec("def read():\n    return len(table)\ntable = ['of the module']", vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)

    class Untouched:
        """Nothing refers to it."""

    def outer() -> Callable[[], list[str]]:
        inside = ["closed over"]
        return lambda: inside

    calibration = Calibration(2.5, "crystal" + str(os.getpid()))
    function = outer()
    nested = np.empty(2, dtype=object)
    nested[0] = [str(os.getpid()) + "x"]
    record = np.array([(1, [3])], dtype=[("n", "i4"), ("o", "O")])
    base = np.arange(10)
    view = base[2:]
    condition = {
        "calibration": calibration,
        ("a", 7.25): function,
        "partial": functools.partial(function),
        "arrays": [nested, view, record],
        "ordered": collections.OrderedDict(x=[1]),
        "module": [module, vars(module)],
        "read": module.read,
    }
    _core.make_immortal([condition])
    inside = function()
    members = [
        condition, calibration, calibration.name, function, inside, inside[0], nested, nested[0],
        nested[0][0], view, base, record, record["o"][0], condition["ordered"],
        condition["ordered"]["x"], *condition, Calibration, Calibration.table,
        Calibration.__init__, Calibration.__init__.__code__,
    ]  # fmt: skip
    assert [m for m in members if not is_immortal(m)] == []
    assert is_immortal(module.read)
    borders = [module, vars(module), module.table, Untouched]
    assert [type(b).__name__ for b in borders if is_immortal(b)] == []
    assert calibration.gain == 2.5
    assert condition[("a", 7.25)]() == ["closed over"]


def run_script(script: str) -> list[int]:
    """The numbers that it prints, in a Python of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True, text=True, check=True, env=environment(),
    )  # fmt: skip
    return [int(word) for word in done.stdout.split()]


@needs_immortal_objects
def test_calling_functions_of_an_immortal_program_keeps_it_shared() -> None:
    private = run_script(
        """
        import dataclasses, email.message, json, os, pathlib, statistics, xml.dom.minidom
        from forkrun import _core
        from forkrun.fork.memory import prepare_memory
        from forkrun.config.model import MemoryConfig

        def work():
            for _ in range(20):
                json.loads(json.dumps({"a": [1, 2.5, None], "b": {"c": "d"}}, indent=1))
                str(pathlib.Path("/a/b").joinpath("c", "d.root").with_suffix(".txt").parent)
                statistics.linear_regression([1.0, 2.0, 3.0], [1.0, 4.0, 9.0])
                xml.dom.minidom.parseString("<a><b>text</b></a>").toprettyxml()
                message = email.message.EmailMessage()
                message["Subject"] = "lumi"
                str(message)

        def measure():
            if _core.fork(1, False) == 0:
                before = _core.count_pages().anonymous_private
                work()
                print(_core.count_pages().anonymous_private - before, flush=True)
                os._exit(0)
            os.wait()

        work()
        sleeper = _core.fork(1, False)  # has all pages as well, so that copies alone are private
        if sleeper == 0:
            os.read(os.pipe()[0], 1)
        prepare_memory(MemoryConfig(immortal=False), [], 1)
        measure()
        prepare_memory(MemoryConfig(), [], 1)
        measure()
        """
    )
    counted, immortal = private
    assert immortal < counted / 1.5


@needs_immortal_objects
def test_the_program_alone_can_be_made_immortal() -> None:
    (n_mortal,) = run_script(
        """
        import datetime, json, sys
        from forkrun import _core

        kept = [datetime.datetime(2026, 1, 1), datetime.timedelta(1)]
        _core.make_program_immortal()
        found = [json, vars(json), json.dumps, json.dumps.__code__, json.JSONEncoder, *kept]
        print(sum(sys.getrefcount(value) < 1 << 30 for value in found))
        """
    )
    assert n_mortal == 0


THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
needs_huge_pages = pytest.mark.skipif(
    not THP.exists() or "[never]" in THP.read_text(), reason="this kernel gives no huge pages"
)


@pytest.mark.slow
@needs_huge_pages
def test_new_objects_lie_in_huge_pages_until_the_fork_and_are_given_back() -> None:
    in_use, in_huge_pages, later, given_back = run_script(
        """
        from pathlib import Path
        from forkrun import _core
        from forkrun.fork.memory import expect_objects
        from forkrun.config.model import MemoryConfig

        def sizes():
            _, *lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
            fields = dict(line.split(":") for line in lines)
            return [int(fields[name].split()[0]) for name in ("Anonymous", "AnonHugePages")]

        def make():
            return [(i, i) for i in range(1_000_000)]  # 64 MB, and a table of 8 MB

        before, huge_before = sizes()
        expect_objects(MemoryConfig())
        values = make()
        after, huge = sizes()
        print(after - before, huge - huge_before)
        _core.use_ordinary_arenas()
        more = make()
        print(sizes()[1] - huge)
        whole = sizes()[0]
        del values, more
        print(whole - sizes()[0])
        """
    )
    assert in_huge_pages > in_use / 2
    assert later < in_huge_pages / 4
    assert given_back > 1.5 * in_use  # of both lists


@needs_immortal_objects
def test_text_that_is_interned_before_or_after_stays_one_object() -> None:
    before = sys.intern("interned_before_" + str(os.getpid()))
    after = "interned_after_" + str(os.getpid())
    _core.make_immortal([[before, after, "Grüße " + str(os.getpid()), "\ud800"]])
    assert sys.intern("interned_before_" + str(os.getpid())) is before
    assert sys.intern(after) is after
    assert sys.intern("interned_after_" + str(os.getpid())) is after


@pytest.mark.long
def test_any_depth_and_any_cycle_can_be_walked() -> None:
    deep: list[Any] = []
    for _ in range(N):
        deep = [deep]
    cycle: dict[str, Any] = {}
    cycle["self"] = [cycle]
    assert _core.count_objects([deep, cycle])[0] == N + 1 + 3
    if _core.HAS_IMMORTAL_OBJECTS:
        _core.make_immortal([deep, cycle])
    assert len(_core.ContainerSnapshot([("deep", deep), ("cycle", cycle)])) == N + 1 + 2


@pytest.mark.slow
def test_the_warm_up_job_starts_no_thread_and_leaves_nothing_open(tmp_path: Path) -> None:
    class User:
        def names(self) -> set[str]:
            return {"awkward", "hist"}

    def body() -> int:
        users: list[Any] = [User()]
        run_warm_up_job(users)
        assert {"awkward", "hist"} <= set(sys.modules)
        files = set(os.listdir("/proc/self/fd"))
        threads = len(os.listdir("/proc/self/task"))
        run_warm_up_job(users)
        left = set(os.listdir("/proc/self/fd")) - files
        (tmp_path / "answer").write_text(json.dumps([threads, sorted(left)]))
        return 0

    (pid,) = fork_processes([Process(body, tmp_path / "log")])
    _, status = os.waitpid(pid, 0)
    assert status == 0, (tmp_path / "log").read_text()
    assert json.loads((tmp_path / "answer").read_text()) == [1, []]


def test_where_nothing_can_be_written_there_is_no_warm_up_job(tmp_path: Path) -> None:
    def body() -> int:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        run_warm_up_job()
        return 0

    (pid,) = fork_processes([Process(body, tmp_path / "log")])
    _, status = os.waitpid(pid, 0)
    assert status == 0, (tmp_path / "log").read_text()


def test_what_a_killed_parent_has_left_of_a_warm_up_job_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forkrun.parent.warm_up.job._MEMORY", tmp_path / "shm")
    old, of_another = tmp_path / "shm/forkrun-warm-up-old", tmp_path / "shm/forkrun-warm-up-new"
    (old / "run").mkdir(parents=True)
    of_another.mkdir()
    yesterday = time.time() - 86400
    os.utime(old, (yesterday, yesterday))

    def body() -> int:
        run_warm_up_job()
        return 0

    (pid,) = fork_processes([Process(body, tmp_path / "log")])
    assert os.waitpid(pid, 0)[1] == 0, (tmp_path / "log").read_text()
    assert list((tmp_path / "shm").iterdir()) == [of_another]


@pytest.mark.parametrize("name", ["debug", "pymalloc_debug", "malloc", "malloc_debug", "pymalloc"])
def test_holes_are_filled_with_a_bound_whatever_the_allocator(name: str) -> None:
    code = """
        import resource

        from forkrun import _core

        resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
        kept = [b"x" * n for n in range(1, 500) for _ in range(40)][::3]

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        before = resident()
        _core.trim_heap()
        taken = _core.take_free_blocks()
        print(taken < before + 64_000_000, resident() - before < 150_000_000)
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment(PYTHONMALLOC=name), capture_output=True, text=True,
    )  # fmt: skip
    assert ended.stdout == "True True\n", ended.stderr
