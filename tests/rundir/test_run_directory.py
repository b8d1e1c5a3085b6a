"""What others do to a run directory: damage, a second job, symbolic links, a disk that fails."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from forkrun import _core
from forkrun.errors import OutputError
from forkrun.parent.result import Result
from forkrun.rundir.ledger import Commit, read_ledgers
from forkrun.rundir.lock import RunLock
from tests.support.files import write_events
from tests.support.jobs import (
    PATIENCE_S,
    Ended,
    environment,
    forkrun,
    jets_job,
    ledger_units,
    lumi_by_lumi,
    output_digests,
    running,
    wait_for,
    write_job,
)
from tests.support.mounts import in_own_mounts

N_UNITS = 4


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an input file, a job, "whole" of an undisturbed run, and "run" of one that was
    processed and not merged."""
    folder = tmp_path_factory.mktemp("template")
    write_events(folder / "a.root", [(1, lumi, 10) for lumi in range(1, 5)])
    job = write_job(folder, _job(folder))
    for options in (("-o", "whole"), ("-o", "run", "--no-merge")):
        ended = forkrun("run", job, "-q", *options, cwd=folder)
        assert ended.code == 0, ended.err
    return folder


def _job(folder: Path) -> dict[str, Any]:
    forking = {"children": 0, "distribution": "lumi"}
    return lumi_by_lumi(jets_job([folder / "a.root"], forking=forking))


@pytest.fixture
def job(template: Path) -> dict[str, Any]:
    """Four lumis of 10 events, in units of one lumi, each committed by itself."""
    return _job(template)


def run(folder: Path, job: dict[str, Any], *options: object, **kwargs: Any) -> Ended:
    return forkrun("run", write_job(folder, job), "-o", "run", *options, cwd=folder, **kwargs)


@pytest.fixture
def whole(template: Path, tmp_path: Path) -> dict[str, str]:
    """Digests of the outputs of an undisturbed run, which is in "whole"."""
    shutil.copytree(template / "whole", tmp_path / "whole")
    return output_digests(tmp_path / "whole")


@pytest.fixture
def committed(template: Path, tmp_path: Path, job: dict[str, Any]) -> Path:
    """The run directory of a job that was processed and not merged."""
    write_job(tmp_path, job)
    return Path(shutil.copytree(template / "run", tmp_path / "run"))


def resumed(folder: Path) -> Ended:
    return forkrun("resume", "run", "--set", "merge.enabled=true", cwd=folder)


def commit_of(run: Path, unit: int) -> Commit:
    (commit,) = [commit for commit in read_ledgers(run / "ledger") if commit.unit == unit]
    return commit


def flip_bits(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0b101
    file.write_bytes(content)


# --- files that are not as they were written ------------------------------------------------------

DAMAGING = """
import os, pathlib, forkrun
class Damages(forkrun.Analyzer):
    consumes = ("event",)
    def __init__(self, file, event):
        self.file, self.event = pathlib.Path(file), event
    def analyze(self, block):
        if self.event in block["event"] and self.file.exists():
            content = bytearray(self.file.read_bytes())
            content[len(content) // 2] ^= 5
            self.file.write_bytes(content)
            self.event = -1
"""


def part_of(unit: int, kind: str, run: Path) -> Path:
    commit = commit_of(run, unit)
    part = commit.histograms if kind == "histograms" else commit.outputs["events"]
    assert part is not None
    return run / part.file


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("kind", ["events", "histograms"])
@pytest.mark.parametrize("children", [0, pytest.param(1, marks=pytest.mark.long)])
def test_bits_flipped_after_a_commit_do_not_reach_the_merged_files(
    tmp_path: Path, job: dict[str, Any], kind: str, children: int
) -> None:
    """The third unit's module damages what the first unit has committed."""
    (tmp_path / "damaging.py").write_text(DAMAGING)
    name = part_of(0, kind, _processed(tmp_path, job)).name
    params = {"file": str(tmp_path / "run/units/000000" / name), "event": 25}
    damaging = {"label": "damages", "type": f"python:{tmp_path}/damaging.py:Damages"}
    job["modules"].append({**damaging, "params": params})
    job["paths"]["skim"].insert(0, "damages")
    job["forking"]["children"] = children
    ended = run(tmp_path, job)
    assert ended.code == 0, ended.err
    assert f"unit 0: units/000000/{name} is not as it was written (checksum)" in ended.err
    job["modules"][-1]["params"] = {**params, "event": -1}
    again = forkrun("run", write_job(tmp_path, job), "-o", "whole", "-q", cwd=tmp_path)
    assert again.code == 0, again.err
    assert output_digests(tmp_path / "run") == output_digests(tmp_path / "whole")


def _processed(folder: Path, job: dict[str, Any]) -> Path:
    ended = forkrun(
        "run", write_job(folder, job), "-o", "other", "-q", "--no-merge", cwd=folder
    )  # fmt: skip
    assert ended.code == 0, ended.err
    return folder / "other"


@pytest.mark.parametrize("kind", ["events", "histograms"])
def test_forkrun_merge_revokes_what_is_damaged_and_says_who_makes_it_again(
    tmp_path: Path, committed: Path, whole: dict[str, str], kind: str
) -> None:
    flip_bits(part_of(2, kind, committed))
    ended = forkrun("merge", "run", cwd=tmp_path)
    assert ended.code == 6, ended.err
    assert "unit 2: units/000002/" in ended.err
    assert f"forkrun resume {committed}" in ended.err
    assert sorted(commit.unit for commit in read_ledgers(committed / "ledger")) == [0, 1, 3]
    assert forkrun("merge", "run", cwd=tmp_path).code == 6
    assert resumed(tmp_path).code == 0
    assert output_digests(committed) == whole


@pytest.mark.parametrize(("n_good", "problem"), [(4, "cannot be read"), (80, "has 0 events")])
def test_a_file_that_nobody_can_read_is_made_again_although_its_checksum_agrees(
    tmp_path: Path, committed: Path, whole: dict[str, str], n_good: int, problem: str
) -> None:
    """As a disk leaves it that fails while a child writes: so many bytes, and zeros."""
    file = part_of(1, "events", committed)
    content = file.read_bytes()
    file.write_bytes(content[:n_good] + bytes(len(content) - n_good))
    (ledger,) = (committed / "ledger").glob("child-*.jsonl")
    commits = [Commit.from_line(line) for line in ledger.read_bytes().splitlines()]
    part = replace(commits[1].outputs["events"], checksum=_core.file_checksum(str(file)))
    commits[1] = replace(commits[1], outputs={"events": part})
    ledger.write_text("".join(commit.to_line() for commit in commits))
    ended = resumed(tmp_path)
    assert ended.code == 0, ended.err
    assert f"unit 1: units/000001/events.fragment {problem}" in ended.err
    assert output_digests(committed) == whole


# --- ledgers --------------------------------------------------------------------------------------


def ledger_of(run: Path) -> Path:
    (file,) = (run / "ledger").glob("child-*.jsonl")
    return file


def twice(data: bytes) -> bytes:
    return data + data.splitlines(keepends=True)[0]


def not_utf8(data: bytes) -> bytes:
    return data.replace(b'"unit":1,', b'"unit":\xff\xfe,', 1)


def number_as_text(data: bytes) -> bytes:
    first, *rest = data.splitlines(keepends=True)
    without = {k: v for k, v in json.loads(first).items() if k != "crc32"}
    return json.dumps({**without, "unit": "0"}).encode() + b"\n" + b"".join(rest)


def other_digit(data: bytes) -> bytes:
    """In a digest: what was read would seem to be something else."""
    place = data.index(b'"digest":"') + 12
    return data[:place] + (b"0" if data[place : place + 1] != b"0" else b"1") + data[place + 1 :]


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("damage", "n_good"), [(twice, 4), (not_utf8, 3), (number_as_text, 3), (other_digit, 3)]
)
def test_a_damaged_line_of_a_ledger_costs_its_unit_and_a_double_one_nothing(
    tmp_path: Path, committed: Path, whole: dict[str, str],
    damage: Callable[[bytes], bytes], n_good: int,
) -> None:  # fmt: skip
    ledger = ledger_of(committed)
    ledger.write_bytes(damage(ledger.read_bytes()))
    ended = resumed(tmp_path)
    assert ended.code == 0, ended.err
    assert f"{n_good} units ({10 * n_good} events) committed before" in ended.err
    assert ("is damaged" in ended.err) == (n_good < N_UNITS)
    assert output_digests(committed) == whole
    report = json.loads((committed / "report.json").read_text())
    assert report["job"]["outcome"] == "done"


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("text", ['{"unit": 1, "end_', "no JSON\n", '{"unit": "x"}\n', "[1]\n"])
def test_damage_among_the_revoked_ends_no_job(
    tmp_path: Path, committed: Path, whole: dict[str, str], text: str
) -> None:
    revoked = committed / "ledger/revoked.jsonl"
    revoked.write_text(text)
    flip_bits(part_of(1, "events", committed))
    ended = resumed(tmp_path)
    assert ended.code == 0, ended.err
    assert output_digests(committed) == whole
    assert len(ledger_units_with_revoked(committed)) == N_UNITS + 1


def ledger_units_with_revoked(run: Path) -> list[int]:
    lines = ledger_lines(run)
    return [json.loads(line)["unit"] for line in lines]


def ledger_lines(run: Path) -> list[str]:
    files = (run / "ledger").glob("child-*.jsonl")
    return [line for file in files for line in file.read_text().splitlines()]


# --- what was merged ------------------------------------------------------------------------------


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("what", ["summary", "output", "bytes", "histograms"])
def test_done_already_is_said_of_outputs_that_are_there_alone(
    tmp_path: Path, job: dict[str, Any], whole: dict[str, str], what: str
) -> None:
    assert run(tmp_path, job, "-q").code == 0
    folder = tmp_path / "run"
    match what:
        case "summary":
            (folder / "ledger/merge.json").write_text("garbage")
        case "output":
            (folder / "output/events.root").unlink()
        case "bytes":
            (folder / "output/events.root").write_bytes(b"root")
        case _:
            (folder / "output/histograms.root").unlink()
    ended = run(tmp_path, job)
    assert ended.code == 0, ended.err
    assert "already done" not in ended.err
    assert "the run is merged again" in ended.err
    assert output_digests(folder) == whole
    ended = run(tmp_path, job)
    assert "already done" in ended.err
    assert output_digests(folder) == whole


def test_temporary_outputs_go_if_the_parent_was_killed_while_it_removed_them(
    tmp_path: Path, job: dict[str, Any]
) -> None:
    assert run(tmp_path, job, "-q").code == 0
    left = tmp_path / "run/units/000003"
    left.mkdir(parents=True)
    (left / "events.fragment").write_bytes(b"left")
    half = tmp_path / "run/notFinishedLumis.json.0123abcd.part"
    half.write_text("{")
    ended = run(tmp_path, job)
    assert "already done" in ended.err
    assert not (tmp_path / "run/units").exists()
    assert not half.exists()


# --- whose directory it is ------------------------------------------------------------------------


@pytest.mark.slow
def test_what_another_job_finished_meanwhile_is_kept(
    tmp_path: Path, job: dict[str, Any], whole: dict[str, str]
) -> None:
    """Both begin with an empty place; the first is held up until the second has finished."""
    slow = tmp_path / "slow.py"
    slow.write_text(
        "import os, pathlib, time, forkrun\n"
        "here = pathlib.Path(__file__).parent\n"
        "(here / 'waits').touch()\n"
        "while not (here / 'go').exists(): time.sleep(0.05)\n"
        "class All(forkrun.Analyzer):\n"
        "    consumes = ('event',)\n"
        "    def analyze(self, block): pass\n"
    )
    other = {**job, "modules": [*job["modules"], {"label": "a", "type": f"python:{slow}:All"}]}
    (tmp_path / "other.json").write_text(json.dumps(other))
    with running("run", "other.json", "-o", "run", cwd=tmp_path) as process:
        wait_for(lambda: (tmp_path / "waits").exists())
        assert run(tmp_path, job, "-q").code == 0
        (tmp_path / "go").touch()
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert "kept 3 of 4 results; computing a (new)" in err
    assert output_digests(tmp_path / "run") == whole


@pytest.mark.parametrize("left", ["folders", "config", "temporary"])
def test_a_start_that_failed_half_way_does_not_bar_the_directory(
    tmp_path: Path, job: dict[str, Any], whole: dict[str, str], left: str
) -> None:
    folder = tmp_path / "run"
    for name in ("ledger", "units", "logs", "monitoring", "output"):
        (folder / name).mkdir(parents=True)
    if left == "config":
        (folder / "config.json").write_text((tmp_path / "whole/config.json").read_text())
    if left == "temporary":
        (folder / "config.json.part").write_text("{")
        (folder / "config.json.0123abcd.part").write_text("{")
    ended = run(tmp_path, job)
    assert ended.code == 0, ended.err
    assert output_digests(folder) == whole
    assert not list(folder.glob("*.part"))


def test_a_folder_with_files_of_somebody_is_left_alone(tmp_path: Path, job: dict[str, Any]) -> None:
    precious = tmp_path / "run/output/thesis.root"
    precious.parent.mkdir(parents=True)
    precious.write_text("precious")
    ended = run(tmp_path, job, "--force")
    assert ended.code == 4
    assert "not a run directory" in ended.err
    assert precious.read_text() == "precious"


# --- the lock -------------------------------------------------------------------------------------


def test_a_report_removes_what_a_killed_one_left_and_nothing_that_another_is_writing(
    committed: Path,
) -> None:
    old, new = committed / "report.txt.0123abcd.part", committed / "timing.json.4567abcd.part"
    for path in (old, new):
        path.write_text("half a")
    os.utime(old, (time.time() - 3600,) * 2)
    assert forkrun("report", committed, "--no-plots", cwd=committed.parent).code == 0
    assert not old.exists()
    assert new.exists()


def holder(pid: int, **changes: Any) -> dict[str, Any]:
    return {"host": socket.gethostname(), "pid": pid, **changes}


def test_a_zombie_does_not_hold_a_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
        wait_for(lambda: b") Z " in Path(f"/proc/{process.pid}/stat").read_bytes())
        lock.write_text(json.dumps(holder(process.pid)))
        with RunLock.held(lock):
            assert json.loads(lock.read_text())["pid"] == os.getpid()
    assert not lock.exists()


def test_a_process_that_got_the_same_number_later_does_not_hold_a_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with RunLock.held(tmp_path / "mine"):
        mine = json.loads((tmp_path / "mine").read_text())
    lock.write_text(json.dumps({**mine, "start_ticks": mine["start_ticks"] - 1}))
    with RunLock.held(lock):
        pass
    lock.write_text(json.dumps({**mine, "token": "another"}))
    with pytest.raises(OutputError, match="another forkrun works"), RunLock.held(lock):
        pass


def _not_needed(lock: RunLock) -> None:
    raise AssertionError("the lock was made with its content at once")


@pytest.mark.parametrize("has_unnamed_files", [True, False])
def test_a_lock_tells_its_holder_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_unnamed_files: bool
) -> None:
    if has_unnamed_files:
        monkeypatch.setattr("forkrun.rundir.lock.RunLock._create_empty_first", _not_needed)
    else:
        monkeypatch.setattr("os.O_TMPFILE", os.O_DIRECTORY)  # as where the kernel does not know it
    lock = tmp_path / "lock"
    for _ in range(2):
        with RunLock.held(lock):
            assert json.loads(lock.read_text())["pid"] == os.getpid()
            with pytest.raises(OutputError, match="another forkrun works"), RunLock.held(lock):
                pass
    assert not list(tmp_path.iterdir())


def test_a_lock_whose_holder_is_killed_while_it_is_made_is_none(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, signal, sys\n"
        "from forkrun.rundir.lock import RunLock\n"
        "os.link = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "with RunLock.held(pathlib.Path(sys.argv[1])): pass\n"
    )
    lock = tmp_path / "lock"
    command = [sys.executable, "-c", program, str(lock)]
    assert subprocess.run(command, env=environment()).returncode == -signal.SIGKILL
    assert not list(tmp_path.iterdir())
    with RunLock.held(lock):
        pass


def test_after_a_restart_of_the_machine_the_last_touch_decides(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text(json.dumps(holder(os.getpid(), boot="another")))
    with pytest.raises(OutputError, match="for 120 s"), RunLock.held(lock):
        pass
    os.utime(lock, (time.time() - 200, time.time() - 200))
    with RunLock.held(lock):
        pass


def test_a_parent_that_loses_its_lock_says_so_and_leaves_the_other_one_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forkrun.rundir.lock._TOUCH_EVERY_S", -1.0)
    path = tmp_path / "lock"
    with RunLock.held(path) as lock:
        lock.keep()
        path.write_text("{}")
        with pytest.raises(OutputError, match="has taken over"):
            lock.keep()
    assert path.read_text() == "{}"


def test_of_many_that_find_a_dead_lock_one_gets_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text(json.dumps(holder(2**22 + 1)))
    code = (
        "import sys, time, pathlib\n"
        "from forkrun.errors import OutputError\n"
        "from forkrun.rundir.lock import RunLock\n"
        "sys.stdin.readline()\n"
        "try:\n"
        "    with RunLock.held(pathlib.Path(sys.argv[1])):\n"
        "        print('mine', flush=True); sys.stdin.readline()\n"
        "except OutputError: print('no', flush=True)\n"
    )
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(lock)], stdin=pipe, stdout=pipe,
                         text=True, env=environment())
        for _ in range(6)
    ]  # fmt: skip
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.stdout.readline().strip() for process in started if process.stdout]
    assert sorted(said) == ["mine", *["no"] * 5]
    for process in started:
        process.communicate("\n", timeout=PATIENCE_S)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("children", [0, pytest.param(1, marks=pytest.mark.long)])
def test_the_lock_is_touched_while_a_unit_takes_long_and_while_merging(
    tmp_path: Path, children: int, job: dict[str, Any]
) -> None:
    """The module waits until the lock was touched after it began."""
    (tmp_path / "waits.py").write_text(
        "import os, pathlib, time, forkrun\n"
        "class Waits(forkrun.Analyzer):\n"
        "    consumes = ('event',)\n"
        "    def __init__(self, lock): self.lock = pathlib.Path(lock)\n"
        "    def analyze(self, block):\n"
        "        begin_s, deadline_s = self.lock.stat().st_mtime, time.monotonic() + 90\n"
        "        while self.lock.stat().st_mtime == begin_s:\n"
        "            assert time.monotonic() < deadline_s\n"
        "            time.sleep(0.1)\n"
    )
    job["source"]["max_events"] = 10
    job["modules"].append(
        {"label": "waits", "type": f"python:{tmp_path}/waits.py:Waits",
         "params": {"lock": str(tmp_path / "run/lock")}}
    )  # fmt: skip
    job["paths"]["skim"].append("waits")
    job["forking"]["children"] = children
    ended = run(tmp_path, job, "-q")
    assert ended.code == 0, ended.err


# --- reports are never worth a job ----------------------------------------------------------------


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("monitoring/samples.jsonl", b'{"time_s": "x"}\nno\n\xff\xfe\n[]\n'),
        ("monitoring/events.jsonl", b'{"time_s": null}\nno\n{}\n'),
        ("monitoring/host.json", b"{}"),
        ("monitoring/timing-000.json", b"no"),
        ("monitoring/timing-000.json", b"{}"),
        ("report.json", b"no"),
    ],
)
def test_damaged_records_fail_no_job(
    tmp_path: Path, committed: Path, whole: dict[str, str], file: str, content: bytes
) -> None:
    (committed / file).write_bytes(content)
    ended = resumed(tmp_path)
    assert ended.code == 0, ended.err
    assert output_digests(committed) == whole
    assert json.loads((committed / "report.json").read_text())["job"]["outcome"] == "done"
    assert forkrun("report", "run", "--no-plots", cwd=tmp_path).code == 0


def test_a_report_leaves_out_what_cannot_be_read(tmp_path: Path, committed: Path) -> None:
    assert resumed(tmp_path).code == 0
    timing = committed / "monitoring/timing-000.json"
    timing.unlink()
    timing.mkdir()
    ended = forkrun("report", "run", "--no-plots", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "Times of modules are left out" in (committed / "report.txt").read_text()


def test_a_report_that_cannot_be_written_is_told_and_the_job_is_done(
    tmp_path: Path, job: dict[str, Any], whole: dict[str, str]
) -> None:
    """Something of that name is in its way, put there while the job runs."""
    (tmp_path / "blocks.py").write_text(
        "import pathlib, forkrun\n"
        "class Blocks(forkrun.Analyzer):\n"
        "    consumes = ('event',)\n"
        "    def __init__(self, path): self.path = pathlib.Path(path)\n"
        "    def analyze(self, block):\n"
        "        (self.path / 'report.txt' / 'x').mkdir(parents=True, exist_ok=True)\n"
    )
    job["modules"].append(
        {"label": "blocks", "type": f"python:{tmp_path}/blocks.py:Blocks",
         "params": {"path": str(tmp_path / "run")}}
    )  # fmt: skip
    job["paths"]["skim"].append("blocks")
    ended = run(tmp_path, job)
    assert ended.code == 0, ended.err
    assert "the report could not be written" in ended.err
    assert sorted(output_digests(tmp_path / "run")) == sorted(whole)


# --- a disk that fails ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_system_for_reading_only_is_said_to_be_one(
    tmp_path: Path, job: dict[str, Any]
) -> None:
    write_job(tmp_path, job)
    (tmp_path / "fs").mkdir()
    ended = in_own_mounts(
        "mount -t tmpfs -o ro none fs; $PY -m forkrun run job.json -q -o fs/run", tmp_path
    )
    assert ended.returncode == 4, ended.stderr
    assert "fs/run: cannot write: Read-only file system; choose a place" in ended.stderr


def test_a_full_file_system_is_said_to_be_full(tmp_path: Path, job: dict[str, Any]) -> None:
    write_job(tmp_path, job)
    (tmp_path / "fs").mkdir()
    ended = in_own_mounts(
        "mount -t tmpfs -o size=64k none fs;"
        " dd if=/dev/zero of=fs/full bs=64k count=1 2>&- || true;"
        " $PY -m forkrun run job.json -q -o fs/run",
        tmp_path,
    )
    assert ended.returncode == 4, ended.stderr
    assert "No space left on device; free space" in ended.stderr


def test_a_report_on_a_disk_that_fails_is_an_error_of_input(tmp_path: Path) -> None:
    """Reading the memory of a process from its beginning gives EIO."""
    (tmp_path / "config.json").write_text('{"outputs": []}')
    (tmp_path / "report.json").touch()
    reads = "import pathlib; from forkrun import Result; Result.read(pathlib.Path('.'))"
    ended = in_own_mounts(f'mount --bind /proc/$$/mem report.json; $PY -c "{reads}"', tmp_path)
    assert "InputError: report.json: cannot be read: Input/output error" in ended.stderr
    (tmp_path / "report.json").unlink()
    assert Result.read(tmp_path).report == {}


# --- symbolic links -------------------------------------------------------------------------------


def test_nothing_is_written_through_symbolic_links(
    tmp_path: Path, job: dict[str, Any], whole: dict[str, str]
) -> None:
    folder, victim = tmp_path / "run", tmp_path / "victim"
    victim.write_text("precious")
    assert run(tmp_path, job, "-q", "--no-merge").code == 0
    names = [
        "plan.json.part", "config.json.part", "report.txt", "report.json", "report.txt.part",
        "processedLumis.json", "ledger/merge.json", "output/events.root", "timing.json",
        "output/events.root.part", "monitoring/host.json", "monitoring/timing-000.json.part",
    ]  # fmt: skip
    for name in names:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(victim)
    (folder / "plots").symlink_to(tmp_path / "whole")
    ended = resumed(tmp_path)
    assert ended.code == 0, ended.err
    assert victim.read_text() == "precious"
    assert output_digests(folder) == output_digests(tmp_path / "whole") == whole


@pytest.mark.parametrize("name", ["logs/parent.log", "monitoring/samples.jsonl"])
def test_nothing_is_added_through_a_symbolic_link(
    tmp_path: Path, committed: Path, name: str
) -> None:
    ledger_of(committed).unlink()  # all units are processed again, and sampled
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (committed / name).unlink()
    (committed / name).symlink_to(victim)
    ended = resumed(tmp_path)
    assert ended.code == 4, ended.err
    assert "a symbolic link is not followed here" in ended.err
    assert victim.read_text() == "precious"


def test_removing_follows_no_symbolic_link(tmp_path: Path, job: dict[str, Any]) -> None:
    assert run(tmp_path, job, "-q").code == 0
    precious = tmp_path / "elsewhere/events.root"
    precious.parent.mkdir()
    precious.write_text("precious")
    folder = tmp_path / "run/units"
    folder.symlink_to(precious.parent)
    (tmp_path / "run/ledger/merge.json").unlink()
    ended = run(tmp_path, job)
    assert ended.code == 4
    assert f"{folder}: a symbolic link is not followed here" in ended.err
    assert run(tmp_path, job, "-q", "--force").code == 0
    assert precious.read_text() == "precious"


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that other users can enter, as those of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_run_directory_of_another_user_is_not_used(open_to_all: Path) -> None:
    folder = open_to_all / "run"
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    code = (
        "import os, sys, pathlib\n"
        "from forkrun.errors import OutputError\n"
        "from forkrun.rundir.directory import RunDirectory\n"
        "from forkrun.rundir.opening import check_place\n"
        "os.seteuid(54321)\n"
        "try: check_place(RunDirectory(pathlib.Path(sys.argv[1])))\n"
        "except OutputError as error: print(error)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(folder)], env=environment(),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "this folder belongs to user 12345" in said.stdout


def test_a_run_directory_may_be_a_link_to_another_disk(
    tmp_path: Path, job: dict[str, Any], whole: dict[str, str]
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "disk")
    assert run(tmp_path, job, "-q").code == 0
    assert output_digests(tmp_path / "disk") == whole


def test_all_units_are_there(committed: Path) -> None:
    assert ledger_units(committed) == list(range(N_UNITS))
