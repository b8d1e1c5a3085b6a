"""Code of a job on many nodes: that of its submission, or mended code for what is missing."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.batch.jobs import status_of
from tests.batch.test_races import held_up
from tests.support.files import write_events
from tests.support.jobs import Ended, forkrun, output_digests, wait_for, write_job

MODULE = """
import pathlib
import forkrun
import numpy as np
import helper
from late import same

class Cut(forkrun.Filter):
    consumes = ("event",)

    def __init__(self):
        beside = pathlib.Path(__file__).with_name("modulus.txt")
        self.modulus = int(beside.read_text())

    def filter(self, block):
        return same(np.asarray(block["event"]) % self.modulus == helper.REST)
"""


@dataclass(frozen=True)
class CodeJob:
    folder: Path
    file: Path

    @classmethod
    def make(cls, folder: Path) -> CodeJob:
        (folder / "code").mkdir()
        job = cls(folder, folder / "job.json")
        job.write(rest=0)
        (folder / "code/modulus.txt").write_text("3")
        (folder / "code/late.py").write_text("def same(mask): return mask\n")
        files = [folder / f"{run}.root" for run in (1, 2)]
        for run, file in enumerate(files, start=1):
            write_events(file, [(run, lumi, 10) for lumi in (1, 2)])
        described = {
            "source": {"files": [str(file) for file in files]},
            "modules": [{"label": "cut", "type": f"python:{folder / 'code/cut.py'}:Cut"}],
            "paths": {"p": ["cut"]},
            "outputs": [{"label": "all", "paths": ["p"]}],
            "forking": {"children": 1},
        }
        write_job(folder, described)
        return job

    def write(self, rest: int) -> None:
        (self.folder / "code/cut.py").write_text(MODULE)
        (self.folder / "code/helper.py").write_text(f"REST = {rest}\n")

    def run(self, name: str) -> dict[str, str]:
        ended = forkrun("run", self.file, "-q", "-o", self.folder / name, cwd=self.folder)
        assert ended.code == 0, ended.err
        return output_digests(self.folder / name)

    def submit(self, name: str, *more: object) -> Path:
        run = self.folder / name
        nodes = () if "--nodes" in more or "--extend" in more else ("--nodes", 2)
        shape = (*nodes, "--on", "local", "--dry-run", "-q")
        ended = forkrun("submit", self.file, "-o", run, *shape, *more, cwd=self.folder)
        assert ended.code == 0, ended.err
        return run

    def node(self, run: Path, number: int) -> Ended:
        ended = forkrun("node", run, number, "-q", cwd=self.folder)
        assert ended.code == 0, ended.err
        return ended


@pytest.fixture
def job(tmp_path: Path) -> CodeJob:
    return CodeJob.make(tmp_path)


@pytest.mark.slow
def test_nodes_run_the_code_of_the_submission_whatever_is_typed_meanwhile(job: CodeJob) -> None:
    """Of the module and of what it imports."""
    truth, run = job.run("one"), job.submit("run")
    job.node(run, 0)
    job.write(rest=1)
    (job.folder / "code/cut.py").write_text("this is no Python")
    (job.folder / "code/late.py").write_text("def same(mask): return ~mask\n")
    job.node(run, 1)
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert output_digests(run) == truth
    modes = {copy.stat().st_mode & 0o777 for copy in (run / "batch/code").iterdir()}
    assert modes == {0o600}


def test_a_copy_that_was_damaged_is_not_run(job: CodeJob) -> None:
    run = job.submit("run")
    job.write(rest=1)
    for copy in (run / "batch/code").iterdir():
        copy.write_text("REST = 2\n")
    ended = forkrun("node", run, 0, "-q", cwd=job.folder)
    assert ended.code == 4
    assert "helper.py is damaged" in ended.err


@pytest.mark.long
def test_what_is_missing_can_be_processed_with_mended_code(job: CodeJob) -> None:
    run = job.submit("run")
    job.node(run, 0)
    job.write(rest=1)
    said = forkrun(
        "resubmit", run, "--nodes", 1, "--set", "batch.command=/bin/true", cwd=job.folder
    )
    assert (
        "helper.py: changed since the job was submitted; nodes continue with the code of"
        in said.out
    )
    wait_for(lambda: status_of(run)["states"]["failed"] + status_of(run)["states"]["lost"] == 1)
    new = forkrun("resubmit", run, "--nodes", 1, "--new-code", cwd=job.folder)
    assert new.code == 0, new.err
    assert f"new code: {job.folder / 'code/helper.py'}\n" in new.out
    job.node(run, 1)
    collected = forkrun("collect", run, cwd=job.folder)
    assert collected.code == 0, collected.err
    warning = json.loads((run / "report.json").read_bytes())["warnings"][0]
    assert "units processed before the code was changed at" in warning
    assert warning.endswith(f"(resubmit --new-code): {job.folder / 'code/helper.py'}")
    assert "units processed before the code was changed" in collected.out
    job.write(rest=0)
    assert output_digests(run) != job.run("old")


@pytest.mark.long
def test_a_node_that_was_begun_goes_on_with_mended_code(job: CodeJob) -> None:
    run = job.submit("run")
    job.node(run, 0)
    job.node(run, 1)
    for ledger in (run / "nodes/0001/ledger").glob("child-*.jsonl"):
        ledger.write_text("")
    job.write(rest=1)
    assert forkrun("resubmit", run, "--new-code", "-q", "--nodes", 1,
                   "--set", "batch.command=/bin/true", cwd=job.folder).code == 0  # fmt: skip
    job.node(run, 1)
    assert status_of(run)["states"]["done"] == 2
    job.write(rest=2)
    ended = forkrun("node", run, 1, "-q", cwd=job.folder)  # with the code that was mended
    assert ended.code == 0, ended.err


def test_code_that_makes_other_columns_is_refused(job: CodeJob) -> None:
    run = job.submit("run")
    text = "import forkrun\nimport numpy as np\n\nclass Cut(forkrun.Producer):\n"
    text += "    consumes = ('event',)\n    produces = {'x': 'float32'}\n"
    text += "    def produce(self, block): return {'x': np.asarray(block['event']) * 1.0}\n"
    before = (run / "fingerprint.json").read_bytes()
    (job.folder / "code/cut.py").write_text(text)
    ended = forkrun("resubmit", run, "--new-code", cwd=job.folder)
    assert ended.code == 2
    assert "resubmit --new-code" in ended.err or "cut" in ended.err
    assert (run / "fingerprint.json").read_bytes() == before


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("when", ["while it begins", "before it writes its fingerprint"])
def test_a_job_may_grow_while_its_nodes_begin(tmp_path: Path, when: str) -> None:
    """The node is held up until the job has more files; then one that dies goes on as well."""
    job = CodeJob.make(tmp_path)
    described = json.loads(job.file.read_bytes())
    files = described["source"]["files"]
    described["source"]["files"] = files[:1]
    write_job(tmp_path, described)
    run = job.submit("run", "--nodes", 1)
    where, at = {
        "while it begins": ("forkrun.parent.job.prepare", "after"),
        "before it writes its fingerprint": ("forkrun.parent.job.describe_job", "before"),
    }[when]
    with held_up(tmp_path, where, at, ["node", run, 0, "-q"]) as end:
        described["source"]["files"] = files
        write_job(tmp_path, described)
        job.submit("run", "--extend")
        first = end()
    assert first.code == 0, first.err
    for ledger in (run / "nodes/0000/ledger").glob("child-*.jsonl"):
        os.truncate(ledger, 0)
    for number in range(2):
        job.node(run, number)
    assert forkrun("collect", run, "-q", cwd=tmp_path).code == 0
    assert output_digests(run) == job.run("one")
