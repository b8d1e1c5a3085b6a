"""Damaged, changed and unreadable input: what commands say, and that nothing dies of it."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.config.source import IdBranches
from forkrun.errors import ConfigError, InputError
from forkrun.fork.helper import Worker, ask_reader
from forkrun.fork.limits import MOST_HEAP_BYTES
from forkrun.index.find import EventId
from forkrun.index.read import IndexCache, index_files
from tests.fuzz.records import records
from tests.support.files import write_events
from tests.support.jobs import environment, forkrun, jets_job, write_job
from tests.support.members_file import write_members
from tests.support.same_columns import differing_columns

IDS = IdBranches("Events", "run", "luminosityBlock", "event")
NO_CACHE = IndexCache(None)


# --- a process of its own -------------------------------------------------------------------------


def test_a_death_names_the_file_that_was_being_read() -> None:
    def die(done: Any) -> None:
        done(1)
        os.kill(os.getpid(), signal.SIGSEGV)

    with pytest.raises(InputError, match=r"^b\.root: .*SIGSEGV.*may be damaged$"):
        ask_reader(die, ["a.root", "b.root", "c.root"], 60)


@pytest.mark.slow
def test_what_does_not_end_is_ended_and_named() -> None:
    def loop(_done: Any) -> None:
        while True:
            pass

    with pytest.raises(InputError, match=r"^a\.root: .*does not come to an end"):
        ask_reader(loop, ["a.root"], 0)


def test_what_needs_all_memory_is_named() -> None:
    with pytest.raises(InputError, match=r"^a\.root: more memory"):
        ask_reader(lambda _: bytearray(64 << 30), ["a.root"], 60)


def test_the_limit_is_of_what_is_needed_beside_what_the_process_has(tmp_path: Path) -> None:
    conditions = np.empty(6 << 30, np.uint8)  # takes no memory until it is used
    assert ask_reader(lambda _: len(bytearray(100 << 20)), ["a.root"], 60) == 100 << 20
    (tmp_path / "small.root").touch()
    with pytest.raises(InputError, match=r"small\.root: more memory"):
        ask_reader(lambda _: len(bytearray(2 << 30)), [str(tmp_path / "small.root")], 60)
    assert conditions.nbytes > MOST_HEAP_BYTES


def test_a_process_that_was_killed_from_outside_is_tried_again(tmp_path: Path) -> None:
    def die_once(_done: Any) -> int:
        if not (tmp_path / "tried").exists():
            (tmp_path / "tried").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 7

    assert ask_reader(die_once, ["a.root"], 60) == 7


def test_an_error_comes_through_as_it_is() -> None:
    def fail(_done: Any) -> None:
        raise InputError("a.root: is wet")

    with pytest.raises(InputError, match=r"^a\.root: is wet$"):
        ask_reader(fail, ["a.root"], 60)


# --- the index helper -----------------------------------------------------------------------------


def kill_first_helpers(monkeypatch: pytest.MonkeyPatch, n: int) -> list[int]:
    killed: list[int] = []
    ask = Worker.ask

    def ask_the_dead(self: Worker, request: dict[str, Any]) -> None:
        if len(killed) < n:
            killed.append(self.process.pid)
            self.process.kill()
            self.process.wait()
        ask(self, request)

    monkeypatch.setattr(Worker, "ask", ask_the_dead)
    return killed


@pytest.mark.own_process
def test_a_file_whose_helper_was_killed_is_read_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 30)])
    killed = kill_first_helpers(monkeypatch, 2)
    assert [f.n_entries for f in index_files([str(file)], IDS, NO_CACHE)] == [30]
    assert len(killed) == 2


@pytest.mark.own_process
def test_three_killed_helpers_name_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 30)])
    kill_first_helpers(monkeypatch, 3)
    with pytest.raises(InputError, match=rf"^{file}: .*SIGKILL"):
        index_files([str(file)], IDS, NO_CACHE)


# --- commands -------------------------------------------------------------------------------------


def damaged(real_data: Path, tmp_path: Path, name: str) -> Path:
    file = tmp_path / "damaged.root"
    file.write_bytes(gzip.decompress((real_data / f"damaged/{name}.root.gz").read_bytes()))
    return file


@pytest.mark.slow
def test_a_job_needs_nothing_of_what_a_file_says_of_classes(
    real_data: Path, tmp_path: Path
) -> None:
    file = damaged(real_data, tmp_path, "crash-00")  # ROOT crashes when it reads the description
    job = {"source": {"files": [str(file)]}, "outputs": [{"label": "events"}]}
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "run/output/events.root") as output:
        events = output["Events"]
        assert all(len(branch.array()) == events.num_entries for branch in events.branches)


@pytest.mark.parametrize("name", ["crash-06", "untyped-01", "untyped-05", "passed-07"])
def test_a_job_over_a_damaged_file_ends_with_its_name(
    real_data: Path, tmp_path: Path, name: str
) -> None:
    file = damaged(real_data, tmp_path, name)
    job = {"source": {"files": [str(file)]}, "outputs": [{"label": "events"}]}
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert (ended.code, str(file) in ended.err) == (3, True), ended.err


@pytest.mark.parametrize("name", ["crash-01", "crash-05", "untyped-00", "passed-00", "passed-07"])
def test_a_merge_of_a_damaged_file_ends_with_its_name(
    real_data: Path, tmp_path: Path, name: str
) -> None:
    file = damaged(real_data, tmp_path, name)
    ended = forkrun("merge", "out.root", file, "-q", cwd=tmp_path)
    assert (ended.code, str(file) in ended.err) == (3, True), ended.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.root"]


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("junk", [b"\0", b"\xff" * 1000, b"root" * 5000])
def test_bytes_behind_the_end_of_a_file_do_no_harm(tmp_path: Path, junk: bytes) -> None:
    path = write_members(tmp_path / "members.root")  # ROOT, which reads objects, does not mind
    whole = tmp_path / "whole.root"
    shutil.copy(path, whole)
    with path.open("ab") as file:
        file.write(junk)
    for command in (("check", "job.json"), ("run", "job.json", "-o", "run", "-q")):
        write_job(tmp_path, {"source": {"files": [str(path)]}, "outputs": [{"label": "all"}]})
        ended = forkrun(*command, cwd=tmp_path)
        assert (ended.code, ended.err) == (0, ""), command
    assert forkrun("merge", "merged.root", path, "--verify", cwd=tmp_path).code == 0
    for output in ("run/output/all.root", "merged.root"):
        assert differing_columns(whole, tmp_path / output, "Events") == []


def test_a_merge_that_verifies_sees_damage_inside_a_basket(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 3000)])
    data = bytearray(file.read_bytes())
    basket = next(r for r in records(bytes(data)) if r.name == "Jet_pt")
    payload = data[basket.payload]
    data[basket.payload] = payload[:9] + bytes(len(payload) - 9)  # the head of the block is right
    file.write_bytes(data)
    assert forkrun("merge", "out.root", file, "-q", cwd=tmp_path).code == 0
    ended = forkrun("merge", "other.root", file, "--verify", "-q", cwd=tmp_path)
    assert ended.code == 3
    assert f'{file}: tree "Events", branch "Jet_pt", basket 0 (entries 0 to 2999): ' in ended.err
    assert not (tmp_path / "other.root").exists()


def test_a_pipe_is_no_input(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.root")
    with pytest.raises(InputError, match="not a regular file"):
        index_files([str(tmp_path / "pipe.root")], IDS, NO_CACHE)


# --- reads that fail ------------------------------------------------------------------------------

FAULTY_READS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int strikes(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  path[n < 0 ? 0 : n] = 0;
  return n > 0 && strcmp(path, getenv("FAULTY_FILE")) == 0;
}

static int fails(int fd) {
  static long calls;
  ++calls;
  if (!strikes(fd)) return 0;
  const char* fault = getenv("FAULT");
  if (strcmp(fault, "EINTR") == 0 && calls % 2 == 0) { errno = EINTR; return 1; }
  if (strcmp(fault, "EIO") == 0) { errno = EIO; return 1; }
  return 0;
}

static size_t cut(int fd, size_t n) {
  return strikes(fd) && strcmp(getenv("FAULT"), "short") == 0 && n > 100 ? 100 : n;
}

ssize_t read(int fd, void* to, size_t n) {
  static ssize_t (*real)(int, void*, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "read");
  return fails(fd) ? -1 : real(fd, to, cut(fd, n));
}

ssize_t pread(int fd, void* to, size_t n, off_t at) {
  static ssize_t (*real)(int, void*, size_t, off_t);
  if (!real) real = dlsym(RTLD_NEXT, "pread");
  return fails(fd) ? -1 : real(fd, to, cut(fd, n), at);
}
ssize_t pread64(int fd, void* to, size_t n, off_t at) { return pread(fd, to, n, at); }
"""


def index_with(fault: str, file: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs gcc")
    (folder / "faults.c").write_text(FAULTY_READS)
    library = folder / "faults.so"
    source = str(folder / "faults.c")
    command = [compiler, "-shared", "-fPIC", "-o", str(library), source, "-ldl"]
    subprocess.run(command, check=True)
    env = environment(LD_PRELOAD=str(library), FAULTY_FILE=str(file), FAULT=fault)
    code = (
        "from forkrun import _core;"
        f"print(_core.index_tree({str(file)!r}, *{tuple(IDS)!r})['n_entries'])"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("fault", ["short", "EINTR"])
def test_reads_that_are_short_or_interrupted_go_on(tmp_path: Path, fault: str) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 3000)])
    done = index_with(fault, file, tmp_path)
    assert (done.stdout, done.returncode) == ("3000\n", 0), done.stderr


def test_a_disk_that_cannot_be_read_is_said_with_the_file(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 3000)])
    done = index_with("EIO", file, tmp_path)
    assert re.search(
        rf"InputError: {file}: cannot be read at byte \d+: Input/output error", done.stderr
    )


# --- ids ------------------------------------------------------------------------------------------


def write_ids(path: Path, **ids: tuple[str, list[int]]) -> Path:
    """One event per value of each id: its type and values."""
    n = len(next(iter(ids.values()))[1])
    given = {"run": ("uint32", [1] * n), "luminosityBlock": ("uint32", [1] * n),
             "event": ("uint64", list(range(n))), **ids}  # fmt: skip
    columns = [(name, kind) for name, (kind, _) in given.items()]
    writer = _core.TreeWriter(str(path), "Events", columns, "zstd:1")
    writer.write({name: np.array(values, dtype=kind) for name, (kind, values) in given.items()})
    writer.close()
    return path


@pytest.mark.parametrize(
    ("branch", "kind", "value"),
    [
        ("run", "int64", 2**32 + 1),
        ("run", "int32", -1),
        ("luminosityBlock", "uint64", 2**63),
        ("luminosityBlock", "int64", -1),
        ("event", "int64", -1),
        ("event", "int16", -7),
    ],
)
def test_an_id_that_is_none_is_refused_with_its_place(
    tmp_path: Path, branch: str, kind: str, value: int
) -> None:
    file = write_ids(tmp_path / "a.root", **{branch: (kind, [1, 2, value])})
    with pytest.raises(InputError, match=rf'^{file}: branch "{branch}", entry 2: {value} is not '):
        index_files([str(file)], IDS, NO_CACHE)


def test_the_largest_ids_come_through_a_job(tmp_path: Path) -> None:
    runs, events = [2**32 - 1, 2**31, 3], [2**64 - 1, 2**63, 2**53 + 1]
    file = write_ids(
        tmp_path / "a.root",
        run=("int64", runs),
        luminosityBlock=("int64", runs),
        event=("uint64", events),
    )
    (tmp_path / "mask.json").write_text(f'{{"{2**32 - 1}": [[1, {2**32 - 1}]], "3": [[3, 3]]}}')
    job: dict[str, Any] = {
        "source": {
            "files": [str(file)],
            "lumi_mask": str(tmp_path / "mask.json"),
            "order": "sorted",
        },
        "outputs": [{"label": "events"}],
    }
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    with uproot.open(tmp_path / "run/output/events.root") as output:
        assert list(output["Events"]["run"].array()) == [3, 2**32 - 1]
        assert output["Events"]["event"].array(library="np").tolist() == [2**53 + 1, 2**64 - 1]
    only = f"{2**31}:{2**31}:{2**63}"
    del job["source"]["lumi_mask"]
    command = ("run", write_job(tmp_path, job), "--only", only, "-o", "one", "-q")
    assert forkrun(*command, cwd=tmp_path).code == 0
    with uproot.open(tmp_path / "one/output/events.root") as output:
        assert output["Events"]["event"].array(library="np").tolist() == [2**63]


@pytest.mark.parametrize("text", ["4294967296:1:1", "1:4294967296:1", f"1:1:{2**64}"])
def test_an_event_that_cannot_be_is_not_looked_for(text: str) -> None:
    with pytest.raises(ConfigError, match="32 bits"):
        EventId.parse(text)


# --- files that change ----------------------------------------------------------------------------

REPLACER = """
import os
from forkrun import Filter

class Replacer(Filter):
    consumes = ("event",)

    def __init__(self, new, old):
        os.replace(new, old)  # after the index was made, before children open the file

    def filter(self, block):
        return block["event"] > 0
"""


@pytest.mark.parametrize("children", [0, 2])
def test_a_file_that_was_replaced_after_it_was_indexed_is_refused(
    tmp_path: Path, children: int
) -> None:
    old = write_events(tmp_path / "a.root", [(1, 1, 30)])
    new = write_events(tmp_path / "b.root", [(1, 1, 30)])
    with uproot.open(new) as file:
        assert file["Events"].num_entries == 30
    (tmp_path / "replacer.py").write_text(REPLACER)
    os.utime(new, ns=(1, 1))
    kind = f"python:{tmp_path / 'replacer.py'}:Replacer"
    params = {"new": str(new), "old": str(old)}
    job = jets_job([old], forking={"children": children})
    job["modules"] = [{"label": "replacer", "type": kind, "params": params}]
    job["paths"] = {"skim": ["replacer"]}
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 3, ended.err
    assert f"{old}: changed since it was indexed" in ended.err


def test_an_index_of_a_file_that_was_replaced_meanwhile_is_not_kept(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 30)])
    request = {**IDS._asdict(), "path": str(file), "file_number": 0}
    index = _core.index_tree(str(file), *IDS)
    cache = IndexCache(tmp_path / "cache")
    cache.keep(request, index)
    assert cache.find(request) == index
    later = time.time_ns()
    os.utime(file, ns=(later, later))
    cache.keep(request, index)
    assert cache.find(request) is None
