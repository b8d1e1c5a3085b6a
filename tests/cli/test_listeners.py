"""A job ends the same whoever listens to it: closed streams, readers that have gone, full disks,
encodings without the characters, users without a home."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.files import write_events
from tests.support.jobs import environment, forkrun_to, jets_job, output_digests, write_job

FORKRUN = f'"{sys.executable}" -m forkrun'
CLOSED = ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"]
GONE = {
    "| true": ("gone", os.devnull),
    "2>&1 >/dev/null | true": (os.devnull, "gone"),
    "2>&1 | true": ("gone", "gone"),
    ">/dev/full 2>/dev/full": ("/dev/full", "/dev/full"),
}
"""Where output and errors go: a pipe that nobody reads, or a file."""


LISTENERS = [
    pytest.param("<&-", marks=pytest.mark.long),
    pytest.param(">&-", marks=pytest.mark.long),
    "<&- >&- 2>&-",
    "2>&1 | true",
    ">/dev/full 2>/dev/full",
]
"""What is closed takes processes that are started."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("listeners")
    write_job(folder, jets_job([write_events(folder / "a.root", [(1, 1, 40), (1, 2, 40)])]))
    assert shell(folder, f"{FORKRUN} run job.json -o expected --no-plots") == 0
    return folder


def shell(folder: Path, command: str, **more: str) -> int:
    variables = environment(**more)
    words = ["bash", "-c", f"set -o pipefail; {command}"]
    return subprocess.run(words, cwd=folder, env=variables, capture_output=True).returncode


@contextmanager
def opened(place: str) -> Iterator[int]:
    if place == "gone":
        theirs, ours = os.pipe()
        os.close(theirs)
    else:
        ours = os.open(place, os.O_WRONLY)
    try:
        yield ours
    finally:
        os.close(ours)


def forkrun(folder: Path, words: str, streams: str) -> int:
    """What is closed when a process starts takes one that is started."""
    if streams not in GONE:
        return shell(folder, f"{FORKRUN} {words} {streams}")
    with opened(GONE[streams][0]) as out, opened(GONE[streams][1]) as err:
        return forkrun_to(out, err, *words.split(), cwd=folder)


@pytest.mark.slow
@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("streams", [*CLOSED, *GONE])
def test_a_job_ends_the_same(folder: Path, streams: str) -> None:
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    assert forkrun(folder, "run job.json -o run --no-plots", streams) == 0
    assert output_digests(run) == output_digests(folder / "expected")


@pytest.mark.slow
@pytest.mark.parametrize("streams", [LISTENERS[0], "<&- >&- 2>&-", "2>&1 | true"])
def test_a_merge_and_a_check_end_the_same(folder: Path, streams: str) -> None:
    (folder / "merged.root").unlink(missing_ok=True)
    assert forkrun(folder, "merge merged.root a.root", streams) == 0
    assert (folder / "merged.root").stat().st_size > 0
    assert forkrun(folder, "check job.json", streams) == 0
    assert forkrun(folder, "merge merged.root none.root --force", streams) == 3


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("streams", LISTENERS)
def test_a_job_that_failed_is_resumed_the_same(folder: Path, streams: str) -> None:
    run = folder / "resumed"
    shutil.rmtree(run, ignore_errors=True)
    stop = folder / "stop"
    stop.touch()
    (folder / "stops.py").write_text(
        "import pathlib, forkrun\n"
        "class Stops(forkrun.Analyzer):\n"
        "    consumes = ('luminosityBlock',)\n"
        "    def analyze(self, block):\n"
        "        is_second = (block['luminosityBlock'] == 2).any()\n"
        f"        assert not is_second or not pathlib.Path({str(stop)!r}).exists()\n"
    )
    job = json.loads((folder / "job.json").read_text())
    job["modules"].append({"label": "stops", "type": f"python:{folder}/stops.py:Stops"})
    job["paths"]["stops"] = ["stops"]
    (folder / "stops.json").write_text(json.dumps(job))
    assert forkrun(folder, "run stops.json -o resumed --no-plots", streams) == 5
    stop.unlink()
    assert forkrun(folder, "resume resumed --no-plots", streams) == 0
    assert output_digests(run) == output_digests(folder / "expected")


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("streams", LISTENERS)
def test_nodes_and_what_collects_them_end_the_same(folder: Path, streams: str) -> None:
    run = folder / "submitted"
    shutil.rmtree(run, ignore_errors=True)
    for words in (
        "submit job.json --on local --nodes 1 --dry-run -o submitted",
        "node submitted 0",
        "collect submitted",
    ):
        assert forkrun(folder, words, streams) == 0
    assert output_digests(run) == output_digests(folder / "expected")


@pytest.mark.parametrize(
    "command",
    ["plan job.json", "plan job.json --json", "plan job.json --simulate", "--help", "run --help",
     "report expected", "manual", "columns a.root"],
)  # fmt: skip
def test_what_tells_ends_well_without_a_word_when_its_reader_has_gone(
    folder: Path, command: str
) -> None:
    with opened("gone") as out, tempfile.TemporaryFile() as err:
        assert forkrun_to(out, err.fileno(), *command.split(), cwd=folder) == 0
        err.seek(0)
        assert err.read() == b""
    if command == "--help":  # takes a tenth of the time in a process of its own
        assert shell(folder, f"{FORKRUN} --help | true") == 0


@pytest.mark.slow
def test_what_an_encoding_does_not_have_ends_no_job(folder: Path) -> None:
    shutil.rmtree(folder / "run", ignore_errors=True)
    more = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    assert shell(folder, f"{FORKRUN} run job.json -o run --no-plots", **more) == 0
    assert shell(folder, f"{FORKRUN} report run", **more) == 0


def test_control_characters_of_names_are_shown_and_not_obeyed(folder: Path) -> None:
    name = "\x1b]0;title\x07\x9b31m.root"
    words = [sys.executable, "-m", "forkrun", "merge", "new.root", name]
    ended = subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True)
    assert ended.returncode == 3
    assert "\\x1b]0;title\\x07\\x9b31m.root" in ended.stderr
    assert not {"\x1b", "\x07", "\x9b"} & set(ended.stdout + ended.stderr)


def test_a_name_that_begins_with_a_tilde_is_one(folder: Path) -> None:
    shutil.copy(folder / "a.root", folder / "~a.root")
    for words, code in {
        "merge tilde.root ~a.root": 0,
        "merge other.root ~nouser/a.root": 3,
        'check job.json --set source.files=["~a.root"]': 0,
    }.items():
        assert forkrun(folder, words, "2>&1 | true") == code


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "streams", ["<&- >&- 2>&-", pytest.param("2>&1 | true", marks=pytest.mark.long), LISTENERS[-1]]
)
def test_a_program_whose_streams_are_closed_runs_its_job(folder: Path, streams: str) -> None:
    (folder / "program.py").write_text(
        "import forkrun\n"
        "for n in (0, 1):\n"
        "    job = forkrun.Job('a.root', name='p').filter('nJet >= 0').output('o')\n"
        "    assert job.run(n, output=f'p{n}', force=True, plots=False).outputs['o'].exists()\n"
    )
    assert shell(folder, f'"{sys.executable}" program.py {streams}') == 0


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("unshare"), reason="needs unshare")
def test_a_user_without_home_and_entry_runs_a_job(folder: Path) -> None:
    shutil.rmtree(folder / "run", ignore_errors=True)
    path = environment()["PYTHONPATH"]
    enter = "unshare -U --map-user=12345 --map-group=12345"
    if shell(folder, f"{enter} true"):
        pytest.skip("no user namespaces here")
    command = f'env -i PATH="{os.environ["PATH"]}" PYTHONPATH="{path}" {enter} {FORKRUN}'
    assert shell(folder, f"{command} check job.json") == 0
    assert shell(folder, f"{command} run job.json -o run --no-plots") == 0
    assert output_digests(folder / "run") == output_digests(folder / "expected")
