"""The public API does what the command does, from any program."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uproot

import forkrun
from tests.support.files import write_events
from tests.support.jobs import environment, jets_job, module, write_job


@pytest.fixture
def job_file(tmp_path: Path) -> Path:
    events = write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 4)])
    return write_job(tmp_path, jets_job([events]))


@pytest.fixture(autouse=True)
def _in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])


@pytest.fixture(autouse=True)
def _second_thread() -> Iterator[None]:
    """As in a notebook: this process must not fork."""
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    yield
    release.set()
    thread.join()


def test_a_program_with_threads_runs_a_job_in_a_clean_parent(
    job_file: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    result = forkrun.load(job_file).run(children=2, output=run, quiet=True, plots=False)
    assert result.outputs == {"events": tmp_path / "run/output/events.root"}
    assert result.histogram_file == tmp_path / "run/output/histograms.root"
    with uproot.open(result.outputs["events"]) as file:
        n_events = file["Events"].num_entries
        assert n_events == sum(n % 5 == 4 and n % 7 != 0 for n in range(1, 121))
    (events,) = result.report["events"]["outputs"]
    assert (events["n_events_merged"], events["agree"]) == (n_events, True)


@pytest.mark.slow
def test_children_0_runs_in_this_process_and_gives_the_same_events(
    job_file: Path, tmp_path: Path
) -> None:
    job = forkrun.load(job_file)
    here = job.run(children=0, output=tmp_path / "here", quiet=True, plots=False)
    forked = job.run(children=2, threads=2, output=tmp_path / "forked", quiet=True, plots=False)
    events = [
        list(uproot.open(result.outputs["events"])["Events"]["event"].array(library="np"))
        for result in (here, forked)
    ]
    assert events[0] == events[1]
    assert [log.name for log in (tmp_path / "here/logs").iterdir()] == ["parent.log"]


def test_the_run_directory_is_named_after_the_job(job_file: Path, tmp_path: Path) -> None:
    result = forkrun.load(job_file, job={"name": "jets"}).run(children=0, quiet=True, plots=False)
    assert result.run_directory == tmp_path / "jets-run"


@pytest.mark.slow
@pytest.mark.parametrize("children", [0, 1])
def test_errors_of_a_job_are_the_same_classes(
    job_file: Path, tmp_path: Path, children: int
) -> None:
    fails = forkrun.load(
        job_file, modules=[module("jets", "Fails", event=5)], outputs=[], paths={"skim": ["jets"]}
    )
    with pytest.raises(forkrun.JobError, match="the calibration has no such jet"):
        fails.run(children=children, output="run", quiet=True, plots=False)
    missing = forkrun.load(job_file, source={"files": ["none.root"]})
    with pytest.raises(forkrun.InputError, match=r"none\.root: file not found"):
        missing.run(children=children, output="run-2", quiet=True, plots=False)
    forkrun.load(job_file).run(children=children, output="run-3", quiet=True, plots=False)
    other = forkrun.load(
        job_file, modules=[module("b", "ManyJets")], outputs=[{"label": "others"}],
        paths={"skim": ["b"]}, monitoring={"cutflow": False},
    )  # fmt: skip
    with pytest.raises(forkrun.OutputError, match="this run directory belongs to another job"):
        other.run(children=children, output="run-3", quiet=True, plots=False)


@pytest.mark.parametrize("children", [0, 1])
def test_paths_in_keywords_are_relative_to_the_file_as_its_own_are(
    job_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: int
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    job = forkrun.load("../job.json", source={"files": [Path("a.root")]}, outputs=[])
    assert job.config.source.files == (str(tmp_path / "a.root"),)
    assert repr(job) == "<LoadedJob 'job' of ../job.json: 3 modules, 1 path, 0 outputs>"
    result = job.run(children=children, output="run", quiet=True, plots=False)
    assert result.run_directory.resolve() == elsewhere / "run"
    assert result.report["events"]["n_events_read"] == 120


def test_what_is_found_when_a_job_is_used_is_said_of_the_users_file(
    job_file: Path, tmp_path: Path
) -> None:
    wrong = forkrun.load(job_file, modules=[module("jets", "ManyJets", pt_mim=3)], outputs=[],
                         paths={"skim": ["jets"]})  # fmt: skip
    with pytest.raises(forkrun.ConfigError, match="pt_mim") as raised:
        wrong.run(children=1, output="run", quiet=True, plots=False)
    assert str(raised.value).startswith(str(job_file))


def test_a_wrong_keyword_is_a_config_error(job_file: Path) -> None:
    with pytest.raises(forkrun.ConfigError, match='did you mean "forking"'):
        forkrun.load(job_file, forkin={"children": 2})
    with pytest.raises(forkrun.ConfigError, match="children"):
        forkrun.load(job_file).run(children=-1)


def test_files_are_merged_from_python(tmp_path: Path) -> None:
    a = write_events(tmp_path / "a.root", [(1, 1, 3)])
    b = write_events(tmp_path / "b.root", [(1, 2, 2)])
    assert forkrun.merge_files([a, b], tmp_path / "out.root") == {"Events": 5}


def test_every_public_name_is_there() -> None:
    for name in forkrun.__all__:
        assert getattr(forkrun, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'lod'"):
        forkrun.lod  # noqa: B018


def test_importing_forkrun_imports_no_numpy() -> None:
    code = "import sys, forkrun, forkrun.cli; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=environment()).returncode == 0


def test_children_0_runs_in_any_thread(job_file: Path, tmp_path: Path) -> None:
    results = []
    job = forkrun.load(job_file)

    def run() -> None:
        results.append(job.run(children=0, output=tmp_path / "run", quiet=True, plots=False))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert [result.outputs["events"].exists() for result in results] == [True]
