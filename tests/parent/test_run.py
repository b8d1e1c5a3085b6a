"""The commands as people use them, when all is well."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun.base.quantities import progress_line
from forkrun.child.loop import cpus_of
from forkrun.plan.model import Plan
from forkrun.rundir.ledger import read_ledgers
from tests.support.files import write_events
from tests.support.jobs import ROOT, Ended, environment, forkrun, jets_job, ledger_units, write_job


@pytest.fixture
def events(tmp_path: Path) -> Path:
    return write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 4)])


def run(folder: Path, job: dict[str, Any], *options: object) -> Ended:
    ended = forkrun("run", write_job(folder, job), "-o", "run", *options, cwd=folder)
    assert ended.code == 0, ended.err
    return ended


@pytest.mark.slow
def test_a_run_prints_its_report_and_where_its_files_are(events: Path, tmp_path: Path) -> None:
    ended = run(tmp_path, jets_job([events], forking={"children": 2}))
    said = ended.out.splitlines()
    assert said[0].startswith("job: done and verified in ")
    assert said[1].startswith("  Events    120 of 120 read, digests agree · ")
    assert "  Output    events: 20 events (16.7 %), " in ended.out
    assert "  Report    run/report.html, in words report.txt" in said
    assert len(said) <= 15 + 2
    assert ended.out.splitlines()[-2:] == [
        f"{tmp_path}/run/output/events.root",
        f"{tmp_path}/run/output/histograms.root",
    ]
    whole = forkrun("run", tmp_path / "job.json", "-o", "run-2", "-v", cwd=tmp_path)
    assert (tmp_path / "run-2/report.txt").read_text() in whole.out
    first = "120 events in 3 lumis of 1 file; 12 units of work for 2 children (guided)"
    assert ended.err.splitlines() == [first]


def test_the_run_directory_has_everything_and_nothing_temporary(
    events: Path, tmp_path: Path
) -> None:
    run(tmp_path, jets_job([events], forking={"children": 2}), "-q")
    folder = tmp_path / "run"
    names = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert {"config.json", "plan.json", "report.html", "report.json", "report.txt"} <= names
    assert {"ledger/child-000.jsonl", "ledger/child-001.jsonl"} <= names
    assert {"logs/parent.log", "output/events.root", "output/histograms.root"} <= names
    assert {"monitoring/events.jsonl", "monitoring/samples.jsonl"} <= names
    assert not [name for name in names if name.endswith(".part") or name.startswith("units")]
    logs = sorted(
        name.split("-", 1)[1] for name in names if name.startswith("logs/") and "-" in name
    )
    assert logs == ["child-000.log", "child-001.log", "merge.log"]
    timeline = (folder / "monitoring/events.jsonl").read_text().splitlines()
    pids = {json.loads(line)["pid"] for line in timeline if '"job_start"' in line}
    assert {
        int(name.split("/")[1].split("-")[0]) for name in names if "child-000.log" in name
    } == pids


def test_surplus_children_are_not_started(events: Path, tmp_path: Path) -> None:
    forking = {"children": 5, "distribution": "lumi"}
    ended = run(tmp_path, jets_job([events], forking=forking))
    assert "2 of the children would have no unit of work and are not started" in ended.err
    assert len(list((tmp_path / "run/ledger").glob("child-*.jsonl"))) == 3
    assert ledger_units(tmp_path / "run") == [0, 1, 2]


def test_flags_and_settings_override_the_file(events: Path, tmp_path: Path) -> None:
    job = jets_job([Path("none.root")], forking={"children": 1})
    flags = ["--children", 2, "--threads", 2, "--distribution", "contiguous", "--max-events", 50]
    run(tmp_path, job, "a.root", *flags, "--set", "modules.jets.params.n=0", "-q")
    config = json.loads((tmp_path / "run/config.json").read_text())
    assert config["source"]["files"] == [str(events)]
    assert (config["forking"]["children"], config["threads"]["per_child"]) == (2, 2)
    plan = Plan.from_json(json.loads((tmp_path / "run/plan.json").read_text()))
    assert [(unit.child, unit.lumi, unit.n_events) for unit in plan.units] == [
        (0, 1, 25),
        (1, 1, 15),
        (1, 2, 10),
    ]
    with uproot.open(tmp_path / "run/output/events.root") as file:
        assert file["Events"].num_entries == 50


def test_temporary_outputs_are_kept_if_asked_for(events: Path, tmp_path: Path) -> None:
    run(tmp_path, jets_job([events], merge={"keep_temporary": True}), "-q")
    folders = sorted(p.name for p in (tmp_path / "run/units").iterdir())
    commits = sorted(commit.unit for commit in read_ledgers(tmp_path / "run/ledger"))
    assert folders == [f"{number:06d}" for number in commits]
    assert folders


def test_cpu_affinity_gives_each_child_its_own_cpus(events: Path, tmp_path: Path) -> None:
    forking = {"children": 2, "cpu_affinity": True}
    run(tmp_path, jets_job([events], forking=forking), "-q")
    assert [cpus_of(child, 2, [0, 2, 4, 6, 8]) for child in range(3)] == [{0, 2}, {4, 6}, {0, 8}]
    assert cpus_of(1, 4, [3]) == {3}


def test_several_outputs_have_their_own_events_and_branches(events: Path, tmp_path: Path) -> None:
    outputs = [
        {"label": "skimmed", "paths": ["skim"], "drop": ["Jet_*"], "compression": "lz4:4"},
        {"label": "all", "keep": ["run", "luminosityBlock", "event", "HT"], "compression": "none"},
    ]
    run(tmp_path, jets_job([events], outputs=outputs), "-q")
    folder = tmp_path / "run/output"
    with (
        uproot.open(folder / "all.root") as everything,
        uproot.open(folder / "skimmed.root") as few,
    ):
        names = ["run", "luminosityBlock", "event", "HT"]
        assert everything["Events"].keys() == names
        assert not [branch.name for branch in few["Events"] if branch.name.startswith("Jet_")]
        numbers = everything["Events"]["event"].array(library="np")
        assert np.array_equal(numbers, np.arange(1, 121))
        assert 0 < few["Events"].num_entries < 120
        assert compression_of(few) == {404}
        assert compression_of(everything) == {0}


def compression_of(file: uproot.ReadOnlyDirectory) -> set[int]:
    """ROOT's numbers, of the file and its branches."""
    branches = {branch.member("fCompress") for branch in file["Events"].branches}
    return {file.file.fCompress, *branches}


def test_a_job_of_analyzers_only_writes_histograms(events: Path, tmp_path: Path) -> None:
    run(tmp_path, jets_job([events], outputs=[]), "-q")
    assert [p.name for p in (tmp_path / "run/output").iterdir()] == ["histograms.root"]


def test_an_output_without_ids_is_verified_by_its_count(events: Path, tmp_path: Path) -> None:
    run(tmp_path, jets_job([events], outputs=[{"label": "ht", "keep": ["HT"]}]), "-q")
    report = json.loads((tmp_path / "run/report.json").read_text())
    (output,) = report["events"]["outputs"]
    assert (output["n_events_merged"], output["digest_merged"], output["agree"]) == (
        120,
        None,
        True,
    )


def test_check_says_what_it_checked_and_leaves_nothing(events: Path, tmp_path: Path) -> None:
    job = write_job(tmp_path, jets_job([events]))
    before = sorted(tmp_path.iterdir())
    ended = forkrun("check", job, cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert "this job can run: 120 events in 3 lumis of 1 file, 3 modules, 1 path" in ended.out
    assert sorted(tmp_path.iterdir()) == before


def test_check_names_every_problem_of_modules_and_outputs(events: Path, tmp_path: Path) -> None:
    job = jets_job([events])
    job["modules"][0]["params"] = {"nn": 3}
    job["modules"].append({"label": "cpp", "type": "cpp:NoSuchClass"})
    job["modules"].append({"label": "cycle", "type": f"python:{tmp_path}/cycle.py:Cycle"})
    job["modules"].append({"label": "needs", "type": f"python:{tmp_path}/cycle.py:Needs"})
    job["outputs"][0]["keep"] = ["Jet_ptt"]
    (tmp_path / "cycle.py").write_text(
        "import forkrun\n"
        "class Cycle(forkrun.Producer):\n    consumes = ['b']\n    produces = {'a': 'float32'}\n"
        "    def produce(self, block): pass\n"
        "class Needs(forkrun.Producer):\n"
        "    consumes = ['a', 'Jet_p']\n    produces = {'b': 'float32'}\n"
        "    def produce(self, block): pass\n"
    )
    file = write_job(tmp_path, job)
    ended = forkrun("check", file, cwd=tmp_path)
    assert ended.code == 2
    head, *problems = ended.err.splitlines()
    assert head == f"forkrun: {len(problems)} problems in the configuration:"
    assert all(problem.startswith(f"  {file}: ") for problem in problems)
    for part in (
        "ManyJets has no parameter 'nn'; did you mean \"n\"?",
        'unknown C++ module class "NoSuchClass"',
        'neither the input nor a module has "Jet_ptt"; did you mean "Jet_pt"?',
        'consumes "Jet_p", which no module makes; did you mean "Jet_pt"?',
        "cycle: ",
    ):
        assert [part in problem for problem in problems].count(True) == 1, part


def test_plan_prints_units_and_children(events: Path, tmp_path: Path) -> None:
    job = write_job(tmp_path, jets_job([events], forking={"children": 2, "distribution": "lumi"}))
    table = forkrun("plan", job, cwd=tmp_path)
    assert table.code == 0
    assert "120 events, 3 lumis, 3 units (lumi)" in table.out
    assert "0:[40, 80)" in table.out
    plan = Plan.from_json(json.loads(forkrun("plan", job, "--json", cwd=tmp_path).out))
    assert [(unit.number, unit.child, unit.lumi) for unit in plan.units] == [
        (0, 0, 1),
        (1, 1, 2),
        (2, 0, 3),
    ]


@pytest.mark.parametrize(
    "arguments", [[], ["run"], ["merge"], ["fly"], ["run", "a.toml", "--childs", "2"]]
)
def test_wrong_usage_is_exit_code_2(tmp_path: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "forkrun", *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 2
    assert "usage: forkrun" in done.stderr


@pytest.mark.slow
def test_the_example_configurations_agree_with_each_other(real_data: Path, tmp_path: Path) -> None:
    columns = {}
    for name in ("nanoaod", "nanoaod_cpp"):
        window = ["--set", "modules.mass_window.params.low=0", "--children", 2, "-q"]
        config = ROOT / "configs" / f"{name}.toml"
        file = real_data / "nano_dimuon.root"
        assert forkrun("run", config, file, *window, "-o", name, cwd=tmp_path).code == 0
        with uproot.open(tmp_path / name / "output/events.root") as output:
            columns[name] = {
                branch: output["Events"][branch].array().to_list()
                for branch in ("event", "Dimuon_mass", "GoodMuon_pt")
            }
    assert columns["nanoaod"] == columns["nanoaod_cpp"]
    assert len(columns["nanoaod"]["event"]) > 0


def test_a_progress_line_tells_done_rate_and_time_left() -> None:
    line = progress_line(1200, 5000, 3.0, "events")
    assert line == "1,200 of 5,000 events (24 %), 400/s, 0:10 left"
    assert progress_line(0, 5000, 3.0, "events") == "0 of 5,000 events (0 %), 0/s"
    assert progress_line(0, 0, 0.0, "events") == "0 of 0 events (100 %), 0/s"


def test_results_are_printed_as_json_for_programs(events: Path, tmp_path: Path) -> None:
    job = write_job(tmp_path, jets_job([events]))
    checked = json.loads(forkrun("check", job, "--json", cwd=tmp_path).out)
    assert (checked["n_events"], checked["n_lumis"]) == (120, 3)
    assert checked["warnings"] == []
    printed = json.loads(forkrun("run", job, "-o", "run", "--json", cwd=tmp_path).out)
    assert printed["report"] == json.loads((tmp_path / "run/report.json").read_text())
    assert all(Path(file).exists() for file in printed["files"])
    again = json.loads(forkrun("resume", "run", "--json", cwd=tmp_path).out)
    assert again["report"]["events"] == printed["report"]["events"]
