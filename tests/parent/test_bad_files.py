"""Files of the input that cannot be read are left out, and taken up later."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uproot

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.jobs import Ended, forkrun, output_digests

N_EVENTS = 6000
N_FILES = 3
SAMPLE = SampleSettings(
    n_events=N_EVENTS, n_files=N_FILES, n_branches=100, cluster=500, n_runs=3, lumis_per_run=4
)
JOB = """
import forkrun

job = forkrun.Job("*.root", name="files")
job.hist("Muon_pt", (50, 0, 100), name="pt")
path = job.path("loose").filter("nMuon >= 2").hist("MET_pt", (50, 0, 200), name="met")
job.output("skim", paths=["loose"], keep=["*"])
job.configure(recovery={"on_bad_file": "skip"})
"""


class Folder:
    """A job of some files, in a folder of its own."""

    def __init__(self, path: Path, files: dict[str, bytes]) -> None:
        self.path, self.run = path, path / "run"
        path.mkdir()
        for name, content in files.items():
            (path / name).write_bytes(content)

    def process(self) -> Ended:
        job = self.path / "job.py"
        listed = [str(self.path / f"s_{n}.root") for n in range(N_FILES)]
        job.write_text(JOB.replace('"*.root"', repr(listed)))
        return forkrun("run", job, "-o", self.run, "--children", 2, cwd=self.path)

    @property
    def events(self) -> Any:
        return json.loads((self.run / "report.json").read_text())["events"]

    def lumis(self, kind: str) -> Any:
        return json.loads((self.run / f"{kind}Lumis.json").read_text())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    paths = write_sample(tmp_path_factory.mktemp("sound") / "s.root", SAMPLE)
    return {path.name: path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> Folder:
    folder = Folder(tmp_path_factory.mktemp("whole") / "job", files)
    assert folder.process().code == 0
    return folder


def without(branch: str) -> Callable[[Path], None]:
    """Destroys the baskets of a branch."""

    def destroy(file: Path) -> None:
        with uproot.open(f"{file}:Events") as tree:
            seeks = tree[branch].member("fBasketSeek")[: tree[branch].num_baskets]
        damaged = bytearray(file.read_bytes())
        for seek in seeks:
            damaged[seek : seek + 40] = b"\xff" * 40
        file.write_bytes(damaged)

    return destroy


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:50_000])


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("damage", "number"),
    [
        (cut, 0),
        (without("MET_phi"), 1),  # what outputs keep of it, and no module reads
        pytest.param(Path.unlink, 1, marks=pytest.mark.long),
        pytest.param(without("MET_phi"), 0, marks=pytest.mark.long),
        pytest.param(without("MET_pt"), 0, marks=pytest.mark.long),
        pytest.param(without("MET_pt"), 1, marks=pytest.mark.long),
    ],
)
def test_a_bad_file_is_left_out_and_taken_up_when_it_can_be_read(
    tmp_path: Path,
    whole: Folder,
    files: dict[str, bytes],
    damage: Callable[[Path], None],
    number: int,
) -> None:
    job, name = Folder(tmp_path / "job", files), f"s_{number}.root"
    bad = job.path / name
    damage(bad)
    for _ in range(2):  # it is bad still
        ended = job.process()
        assert ended.code == 8, ended.err
        assert f"{bad}: left out: " in ended.err
    assert job.events["n_events_read"] == N_EVENTS - N_EVENTS // N_FILES
    with uproot.open(f"{job.run}/output/skim.root:Events") as tree:
        n_selected = tree.num_entries
        runs = {*map(str, tree["run"].array().tolist())}
        assert runs == {*job.lumis("processed")}
    assert n_selected == job.events["outputs"][0]["n_events_written"]
    assert len(job.lumis("processed")) == N_FILES - 1

    bad.write_bytes(files[name])
    ended = job.process()
    assert ended.code == 0, ended.err
    assert job.events["n_events_read"] == N_EVENTS
    assert output_digests(job.run) == output_digests(whole.run)
    for kind in ("processed", "notFinished", "failed"):
        assert job.lumis(kind) == whole.lumis(kind)
