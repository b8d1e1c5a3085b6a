"""Commands at the same moment in one run directory: a submission is never lost."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.batch.jobs import Job, problem_of, status_of
from tests.support.files import write_events
from tests.support.jobs import (
    PATIENCE_S,
    Ended,
    environment,
    forkrun,
    jets_job,
    wait_for,
    write_job,
)

N_NODES = 4


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=20)


@pytest.fixture(scope="module")
def undisturbed(job: Job) -> dict[str, bytes]:
    """What a submission writes for its nodes."""
    run = job.folder / "undisturbed"
    ended = forkrun(*submission(job, run), cwd=job.folder)
    assert ended.code == 0, ended.err
    return given_to_nodes(run)


def submission(job: Job, run: Path) -> list[object]:
    shape = ["--nodes", N_NODES, "--dry-run", "--on", "local"]
    return ["submit", job.file, "-o", run, *shape]


def given_to_nodes(run: Path) -> dict[str, bytes]:
    files = [*sorted((run / "batch/parts").iterdir()), run / "batch/nodes.json", run / "plan.json"]
    return {file.name: file.read_bytes() for file in files}


# --- one of two is held up at the worst moment ----------------------------------------------------

HELD_UP = """
import sys, time
from importlib import import_module
from pathlib import Path
place, owner, name, when, *arguments = sys.argv[1:]
module = import_module(owner)
function = getattr(module, name)

def wait():
    Path(place, "is-there").touch()
    while not Path(place, "may-go").exists():
        time.sleep(0.01)

def held_up(*given, **named):
    if when == "before":
        wait()
    result = function(*given, **named)
    if when == "after":
        wait()
    return result

setattr(module, name, held_up)
from forkrun.cli import main
sys.exit(main(arguments))
"""
"""Runs a command that waits before or after its first call of a function."""


@contextmanager
def held_up(
    place: Path, where: str, when: str, arguments: Sequence[object]
) -> Iterator[Callable[[], Ended]]:
    """A command that waits there while the body runs; the body lets it go on, to its end."""
    owner, _, name = where.rpartition(".")
    texts = [str(place), owner, name, when, *map(str, arguments)]
    command = [sys.executable, "-c", HELD_UP, *texts]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=place, env=environment(), stdout=pipe, stderr=pipe, text=True
    ) as process:

        def end() -> Ended:
            (place / "may-go").touch()
            out, err = process.communicate(timeout=PATIENCE_S)
            return Ended(process.returncode, out, err)

        try:
            wait_for(lambda: (place / "is-there").exists() or process.poll() is not None)
            assert process.poll() is None, process.communicate()[1]
            yield end
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("other", ["submit", "run", "report"])
def test_nothing_is_removed_from_a_submission_that_is_half_written(
    tmp_path: Path, job: Job, undisturbed: dict[str, bytes], other: str
) -> None:
    """It has its parts, and no fingerprint yet."""
    run = tmp_path / "run"
    commands = {
        "submit": submission(job, run),
        "run": ["run", job.file, "-o", run, "-q"],
        "report": ["report", run, "--no-plots"],
    }
    where = "forkrun.batch.preparing.write_parts"
    with held_up(tmp_path, where, "after", submission(job, run)) as end:
        assert not (run / "fingerprint.json").exists()
        ended = forkrun(*commands[other], cwd=tmp_path)
        if other == "report":
            assert ended.code == 0
            assert "another forkrun works there: nothing is written" in ended.err
        else:
            assert ended.code == 4
            assert "another forkrun works in this run directory" in ended.err
        first = end()
    assert first.code == 0, first.err
    assert given_to_nodes(run) == undisturbed
    assert not (run / "report.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "where", ["prepare_nodes", pytest.param("opened_to_begin", marks=pytest.mark.long)]
)
def test_a_submission_that_is_held_up_takes_nothing_from_one_whose_nodes_have_committed(
    tmp_path: Path, job: Job, undisturbed: dict[str, bytes], where: str
) -> None:
    run = tmp_path / "run"
    (tmp_path / "one").symlink_to(job.folder / "one")
    with held_up(tmp_path, f"forkrun.cli.submit.{where}", "before", submission(job, run)) as end:
        assert forkrun(*submission(job, run), cwd=tmp_path).code == 0
        assert forkrun("node", run, 0, "-q", cwd=tmp_path).code == 0
        second = end()
    assert second.code == 4
    assert "has been submitted already" in second.err
    assert given_to_nodes(run) == undisturbed
    for number in range(1, N_NODES):
        assert forkrun("node", run, number, "-q", cwd=tmp_path).code == 0
    assert forkrun("collect", run, "-q", cwd=tmp_path).code == 0
    assert problem_of(run, job.truth) == ""


@pytest.mark.slow
def test_what_a_killed_submission_has_left_is_replaced_and_files_of_somebody_are_not(
    tmp_path: Path, job: Job, undisturbed: dict[str, bytes]
) -> None:
    run = tmp_path / "run"
    where = "forkrun.batch.preparing.write_parts"
    with held_up(tmp_path, where, "after", submission(job, run)):
        pass
    assert not (run / "fingerprint.json").exists()
    assert forkrun(*submission(job, run), cwd=tmp_path).code == 0
    assert given_to_nodes(run) == undisturbed
    precious = tmp_path / "mine/batch/thesis.tex"
    precious.parent.mkdir(parents=True)
    precious.write_text("precious")
    ended = forkrun(*submission(job, tmp_path / "mine"), cwd=tmp_path)
    assert ended.code == 4
    assert "not a run directory" in ended.err
    assert precious.read_text() == "precious"


def test_a_file_named_lock_that_is_no_lock_is_left_alone(tmp_path: Path, job: Job) -> None:
    for name in ("config.json", "lock"):
        (tmp_path / "run").mkdir(exist_ok=True)
        (tmp_path / "run" / name).write_text('{"combination": 1234}')
    for command in (submission(job, tmp_path / "run"), ["collect", tmp_path / "run"]):
        ended = forkrun(*command, cwd=tmp_path)
        assert ended.code == 4
        assert "run/lock: it is not a lock" in ended.err
    assert (tmp_path / "run/lock").read_text() == '{"combination": 1234}'


@pytest.mark.long
def test_of_two_extensions_each_adds_its_files(tmp_path: Path) -> None:
    """The second has looked at the nodes when the first begins."""
    files = [tmp_path / f"{name}.root" for name in "abc"]
    for lumi, file in enumerate(files, start=1):
        write_events(file, [(1, lumi, 10)])
    names = ("a", "ab", "abc")
    jobs = []
    for number, name in enumerate(names, start=1):
        (tmp_path / name).mkdir()
        jobs.append(write_job(tmp_path / name, jets_job(files[:number], forking={"children": 1})))
    run = tmp_path / "run"
    shape = ("-o", run, "--on", "local", "--nodes", 1, "--dry-run")
    assert forkrun("submit", jobs[0], *shape, cwd=tmp_path).code == 0
    late = ["submit", jobs[2], *shape, "--extend"]
    with held_up(tmp_path, "forkrun.cli.submit.extend_nodes", "before", late) as end:
        early = forkrun("submit", jobs[1], *shape, "--extend", cwd=tmp_path)
        assert early.code == 4
        assert "another forkrun works" in early.err
        assert end().code == 0
    assert status_of(run)["n_events_planned"] == 30
    assert forkrun("submit", jobs[2], *shape, "--extend", cwd=tmp_path).code == 0
    assert status_of(run)["n_events_planned"] == 30


# --- many at once ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(3, 60), marks=pytest.mark.long)], ids=["few", "many"]
)
def test_of_commands_at_once_one_begins_a_job_and_no_other_touches_it(
    tmp_path: Path, job: Job, undisturbed: dict[str, bytes], seeds: range
) -> None:
    for seed in seeds:
        dice, run = random.Random(seed), tmp_path / f"{seed}"
        run_alone: list[object] = ["run", job.file, "-o", run, "-q", "--no-plots", "--no-merge"]
        begins = [submission(job, run), submission(job, run)]
        begins += dice.choice([[], [submission(job, run)], [run_alone]])
        others = [["report", run, "--no-plots"], ["resubmit", run, "--on", "slurm"],
                  ["collect", run], ["status", run], ["resume", run]]  # fmt: skip
        commands = [*begins, dice.choice(others)]
        codes = at_once(commands, tmp_path)
        assert sorted(codes[: len(begins)]) == [0, *[4] * (len(begins) - 1)], seed
        if commands[codes.index(0)][0] == "submit":
            assert given_to_nodes(run) == undisturbed, seed
            assert (run / "fingerprint.json").exists(), seed
        assert not list(run.glob("*.part")), seed
        assert not (run / "lock").exists(), seed


def at_once(commands: Sequence[Sequence[object]], cwd: Path) -> list[int]:
    """Exit codes."""
    with ThreadPoolExecutor(len(commands)) as team:
        return list(team.map(lambda words: forkrun(*words, cwd=cwd).code, commands))
