"""Jobs that programs in Python submit: their functions run on nodes, and what they made is had from
the program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forkrun
from forkrun.base.durable import read_json
from tests.support.files import write_events
from tests.support.jobs import environment, output_digests, program
from tests.support.jobs import forkrun as command

QUIET: dict[str, Any] = {"quiet": True}
PROGRAM = """
import functools
import sys
import forkrun
import cuts

cuts.LEAST = 15  # set after its import
LEAST = {{"all": 5}}

def least(block, which):
    return block.event > LEAST[which]

def job():
    made = forkrun.Job("*.root", name="mine", forking={{"max_unit_events": 10}})
    made.filter(functools.partial(least, which="all"), label="least")
    made.filter(lambda block: block.event > cuts.LEAST, label="set")
    made.filter(cuts.is_even)

    @made.define
    def half(block):
        return block.event / 2

    made.hist("half", (100, 0, 100)).hist(lambda block: block.half + 1, (9, 0, 9), name="more")
    return made.output("some", keep=["*", "half"])

if __name__ == "__main__":
    {call}
"""
CUTS = """
LEAST = 1000

def is_even(block):
    return block.event % 2 == 0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    write_files(tmp_path)
    return tmp_path


def write_files(folder: Path) -> None:
    """Three files of events 1 to 120, and the module that the program imports."""
    for n in range(3):
        write_events(folder / f"{n}.root", [(1, 4 * n + k, 10) for k in range(4)], 1 + 40 * n)
    (folder / "cuts.py").write_text(CUTS)


def run_program(folder: Path, call: str) -> str:
    (folder / "analysis.py").write_text(PROGRAM.format(call=call))
    done = program("analysis.py", cwd=folder)
    assert done.code == 0, done.err
    return done.out


def nodes_of(run: Path, n_nodes: int) -> None:
    for number in range(n_nodes):
        ended = command("node", run, number, "-q", cwd=run.parent)
        assert ended.code == 0, ended.err


@pytest.mark.slow
def test_a_program_submits_its_job_and_collects_the_same_result(folder: Path) -> None:
    run_program(folder, 'job().run(children=1, output="one", quiet=True, plots=False)')
    said = run_program(
        folder,
        'made = job().submit(on="local", nodes=3, output="many", quiet=True)\n'
        "    assert len(made.wait(quiet=True).nodes) == 3\n"
        "    result = made.collect(quiet=True)\n"
        '    print(result.histograms["half"].sum().value, made)',
    )
    assert output_digests(folder / "many") == output_digests(folder / "one")
    n_events = len([event for event in range(1, 121) if event > 15 and event % 2 == 0])
    assert said.startswith(f"{n_events}.0 {folder / 'many'}\n")
    assert "3 of 3 nodes done" in said
    assert f"collected: its outputs are in {folder / 'many/output'}" in said


@pytest.mark.slow
def test_the_command_submits_the_job_that_a_program_would_run(folder: Path) -> None:
    run_program(folder, 'job().run(children=1, output="one", quiet=True, plots=False)')
    ended = command("submit", "analysis.py", "--on", "local", "--nodes", 2, "--dry-run", "-q",
                    "-o", "many", cwd=folder)  # fmt: skip
    assert ended.code == 0, ended.err
    nodes_of(folder / "many", 2)
    assert command("collect", "many", "-q", cwd=folder).code == 0
    assert output_digests(folder / "many") == output_digests(folder / "one")


def test_options_of_the_call_are_those_of_the_command(folder: Path) -> None:
    call = 'job().submit(on="local", events_per_node=40, output="here")'
    (folder / "analysis.py").write_text(PROGRAM.format(call=call))
    ended = command("submit", "analysis.py", "--dry-run", "-q", cwd=folder)
    assert ended.code == 0, ended.err
    assert len(forkrun.Submission.read(folder / "here").status().nodes) == 3
    ended = command("submit", "analysis.py", "--dry-run", "-q", "--nodes", 2, "-o", "other",
                    cwd=folder)  # fmt: skip
    assert ended.code == 0, ended.err
    assert len(forkrun.Submission.read(folder / "other").status().nodes) == 2


def job_here() -> forkrun.Job:
    made = forkrun.Job("*.root", name="here")
    least = np.int64(20)
    made.filter(lambda block: block.event > least, label="least")
    made.hist("event", (200, 0, 200))
    return made


def submitted(folder: Path, n_nodes: int = 2) -> forkrun.Submission:
    return job_here().submit("local", nodes=n_nodes, output="run", dry_run=True, **QUIET)


def program_file(folder: Path) -> Path:
    digest = str(read_json(folder / "run/fingerprint.json")["program"])
    return folder / "run/batch/code" / digest


@pytest.mark.long
def test_a_job_that_was_not_submitted_whole_is_resubmitted_from_python(folder: Path) -> None:
    made = submitted(folder)
    states = [str(node.state) for node in made.status().nodes]
    assert states == ["not submitted", "not submitted"]
    assert repr(made.status()) == "<JobStatus: nodes: 2 not submitted; 0 of 120 events>"
    with pytest.raises(forkrun.JobError, match="2 of 2 nodes are not done"):
        made.collect(**QUIET)
    assert made.resubmit(on="local", **QUIET) is made
    assert made.wait(**QUIET).is_over
    result = made.collect(**QUIET)
    assert result.histograms["event"].sum().value == 100
    assert [str(node.state) for node in made.status().nodes] == ["done", "done"]


@pytest.mark.slow
def test_functions_are_in_a_file_of_their_user_that_nobody_has_changed(folder: Path) -> None:
    made = submitted(folder)
    place = program_file(folder)
    assert place.stat().st_mode & 0o777 == 0o600
    content = place.read_bytes()
    place.write_bytes(content[:-1] + b"\0")
    ended = command("node", "run", 0, "-q", cwd=folder)
    assert ended.code == 4
    assert "these are not the functions with which the job was submitted" in ended.err
    place.write_bytes(content)
    place.chmod(0o620)
    ended = command("node", "run", 0, "-q", cwd=folder)
    assert ended.code == 4
    assert "users other than the one running this node own it or may write it" in ended.err
    place.chmod(0o600)
    nodes_of(folder / "run", 2)
    assert made.collect(**QUIET).histograms["event"].sum().value == 100


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user")
def test_functions_of_another_user_are_not_run(folder: Path) -> None:
    submitted(folder)
    os.chown(program_file(folder), 12345, 12345)
    ended = command("node", "run", 0, "-q", cwd=folder)
    assert ended.code == 4
    assert "users other than the one running this node own it" in ended.err


def test_functions_in_the_place_of_a_link_are_not_run(folder: Path) -> None:
    submitted(folder)
    place = program_file(folder)
    place.rename(folder / "elsewhere")
    place.symlink_to(folder / "elsewhere")
    ended = command("node", "run", 0, "-q", cwd=folder)
    assert ended.code == 4
    assert "a symbolic link is not followed here" in ended.err


@pytest.mark.long
def test_new_files_are_added_from_python_with_the_same_functions(folder: Path) -> None:
    job_here().submit("local", nodes=2, output="run", dry_run=True, **QUIET)
    nodes_of(folder / "run", 2)
    write_events(folder / "3.root", [(2, 1, 10)], 121)
    made = job_here().submit("local", output="run", extend=True, dry_run=True, **QUIET)
    nodes_of(folder / "run", len(made.status().nodes))
    assert made.collect(**QUIET).histograms["event"].sum().value == 110


@pytest.mark.long
def test_other_functions_add_no_files(folder: Path) -> None:
    submitted(folder)
    write_events(folder / "3.root", [(2, 1, 10)], 121)
    other = forkrun.Job("*.root", name="here")
    other.filter(lambda block: block.event > 1, label="least")
    other.hist("event", (200, 0, 200))
    with pytest.raises(forkrun.ForkrunError, match=r"have changed: code: .*:least"):
        other.submit("local", output="run", extend=True, dry_run=True, **QUIET)


@pytest.mark.long
def test_missing_nodes_are_given_the_functions_of_now(folder: Path) -> None:
    made = forkrun.Job("*.root", name="here")

    def least(block: Any) -> Any:
        assert not (folder / "fails").exists()
        return block.event > 0

    made.filter(least)
    made.hist("event", (200, 0, 200))
    made.submit("local", nodes=2, output="run", dry_run=True, **QUIET)
    assert command("node", "run", 0, "-q", cwd=folder).code == 0
    (folder / "fails").touch()
    assert command("node", "run", 1, "-q", cwd=folder).code == 5
    ended = command("resubmit", "run", "--new-code", "--on", "local", cwd=folder)
    assert (ended.code, "forkrun submit PROGRAM.py --new-code" in ended.err) == (2, True)
    other = forkrun.Job("*.root", name="here").filter("event > 1", label="least")
    with pytest.raises(forkrun.ConfigError, match="only code may change; what has changed: modul"):
        other.submit("local", output="run", new_code=True, **QUIET)
    mended = forkrun.Job("*.root", name="here")
    mended.filter(lambda block: block.event != 61, label="least")
    mended.hist("event", (200, 0, 200))
    again = mended.submit("local", nodes=7, output="run", new_code=True, **QUIET)
    assert [str(node.state) for node in again.wait(**QUIET).nodes] == ["done", "done"]
    result = again.collect(**QUIET)
    assert result.histograms["event"].sum().value == 119
    (warning,) = [text for text in result.report["warnings"] if "before the code" in text]
    assert ":least" in warning


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"on": "lsf"}, r'on takes "local" or "slurm" or "htcondor", not \'lsf\''),
        ({"on": "local", "nodes": "3"}, "nodes takes a number"),
        ({"on": "local", "nodes": 0}, "must be at least 1"),
        ({"on": "local"}, "give --nodes"),
        ({"nodes": 2}, "name a batch system"),
        ({"on": "local", "nodes": 2, "merge": 1}, "merge takes True or False"),
    ],
)
def test_wrong_arguments_are_said(folder: Path, how: dict[str, Any], words: str) -> None:
    with pytest.raises(forkrun.ConfigError, match=words):
        job_here().submit(**how)


def test_a_run_directory_without_nodes_is_no_submission(folder: Path) -> None:
    job_here().run(children=1, output="one", quiet=True, plots=False)
    with pytest.raises(forkrun.ForkrunError, match="one"):
        forkrun.Submission.read("one")


@pytest.mark.long
def test_a_loaded_configuration_is_submitted_as_well(folder: Path) -> None:
    (folder / "job.toml").write_text(
        '[source]\nfiles = ["0.root"]\n[[outputs]]\nlabel = "all"\n[job]\nname = "toml"\n'
    )
    made = forkrun.load("job.toml").submit("local", nodes=2, dry_run=True, **QUIET)
    assert made.run_directory == folder / "toml-run"
    nodes_of(made.run_directory, 2)
    assert made.collect(**QUIET).report["events"]["n_events_read"] == 40
