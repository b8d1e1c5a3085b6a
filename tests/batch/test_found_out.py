"""What `submit` finds out of modules holds on all nodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.batch.jobs import Job, status_of
from tests.support.files import write_events
from tests.support.jobs import forkrun, output_digests, write_job

UNDECLARED = """
import inspect
import numpy as np
import forkrun

class Scaled(forkrun.Producer):
    \"\"\"Single precision in run 1, double in others.\"\"\"

    def produce(self, block):
        is_first = np.asarray(block["run"])[0] == 1
        kind = np.float32 if is_first else np.float64
        return {"scaled": np.asarray(block["event"]).astype(kind) / kind(3)}

class NotEmpty(forkrun.Filter):
    \"\"\"Fails where it would be tried with events of run 2 alone.\"\"\"

    def filter(self, block):
        if any(frame.filename.endswith("trial.py") for frame in inspect.stack()):
            assert 1 in np.asarray(block["run"]), "tried again"
        return np.asarray(block["scaled"]) > 0
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    folder = tmp_path_factory.mktemp("job")
    (folder / "undeclared.py").write_text(UNDECLARED)
    files = []
    for run in (1, 2, 3):
        files.append(folder / f"{run}.root")
        write_events(files[-1], [(run, lumi, 10) for lumi in (1, 2)])
    kind = f"python:{folder / 'undeclared.py'}"
    described = {
        "source": {"files": [str(file) for file in files]},
        "modules": [
            {"label": "scaled", "type": f"{kind}:Scaled"},
            {"label": "some", "type": f"{kind}:NotEmpty"},
        ],
        "paths": {"p": ["some"]},
        "outputs": [{"label": "all", "paths": ["p"]}],
        "forking": {"children": 1},
    }
    file = write_job(folder, described)
    ended = forkrun("run", file, "-o", folder / "one", "-q", cwd=folder)
    assert ended.code == 0, ended.err
    return Job(folder, file, output_digests(folder / "one"))


@pytest.mark.slow
def test_nodes_make_columns_of_the_types_that_were_found_out_when_they_were_submitted(
    job: Job,
) -> None:
    run = job.folder / "three"
    assert job.submit(run, "--nodes", 3, "--dry-run").code == 0
    found = json.loads((run / "batch/found.json").read_bytes())
    assert found["modules"]["scaled"] == [["run", "event"], {"scaled": "float32"}]
    for number in range(3):
        ended = forkrun("node", run, number, "-q", cwd=job.folder)
        assert ended.code == 0, ended.err
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert output_digests(run) == job.truth
    assert status_of(run)["collected"]


@pytest.mark.long
def test_a_job_that_grows_keeps_what_was_found_out(job: Job) -> None:
    described = json.loads(job.file.read_bytes())
    files = described["source"]["files"]
    run = job.folder / "grows"
    for n in (1, 3):
        described["source"]["files"] = files[:n]
        file = job.folder / f"first-{n}.json"
        file.write_text(json.dumps(described))
        more = ("--extend",) if n > 1 else ()
        shape = ("--nodes", 1, "--on", "local", "--dry-run", "-q")
        ended = forkrun("submit", file, "-o", run, *shape, *more, cwd=job.folder)
        assert ended.code == 0, ended.err
    for number in range(2):
        assert forkrun("node", run, number, "-q", cwd=job.folder).code == 0
    assert forkrun("collect", run, "-q", cwd=job.folder).code == 0
    assert output_digests(run) == job.truth


def test_what_was_found_out_is_needed(job: Job, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert job.submit(run, "--nodes", 1, "--dry-run").code == 0
    (run / "batch/found.json").write_text("[]")
    ended = forkrun("node", run, 0, "-q", cwd=tmp_path)
    assert ended.code == 4
    assert "found.json: cannot be read" in ended.err
