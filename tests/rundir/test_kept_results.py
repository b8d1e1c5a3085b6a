"""A changed job in the directory of a finished one keeps what does not depend on the change."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from forkrun.parent.again.digests import FORKRUN
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.results import ResultDigest, RunResults, Store
from tests.rundir.test_resume import OTHER_BUILD, of_another_build
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

HIST = {
    "label": "counts", "type": "expression:num(Jet_pt)", "kind": "histogram",
    "axes": [{"bins": 6, "low": 0, "high": 6}],
}  # fmt: skip
OWN = """
import os, time
import numpy as np
import forkrun
def early(events): return events.event % 2 == 0
def timed(events): return events.event * (time.time() > 0)
def named(events): return events.event * len(os.environ.get("KIND", ""))
"""


@pytest.fixture
def job(tmp_path: Path) -> dict[str, Any]:
    """Six lumis; an analyzer and a histogram on a path, and an output of it."""
    write_events(tmp_path / "a.root", [(1, lumi, 40) for lumi in range(1, 7)])
    job = jets_job([tmp_path / "a.root"], forking={"children": 2})
    job["modules"].append(HIST)
    job["paths"]["skim"].append("counts")
    return job


def run(folder: Path, job: dict[str, Any], *options: object, name: str = "run") -> Ended:
    ended = forkrun("run", write_job(folder, job), "-o", name, *options, cwd=folder)
    assert ended.code == 0, ended.err
    return ended


def check_as_from_scratch(folder: Path, job: dict[str, Any]) -> None:
    run(folder, job, "--force", "-q", name="scratch")
    assert output_digests(folder / "run") == output_digests(folder / "scratch")
    flows = [
        json.loads((folder / name / "report.json").read_text())["cutflow"]
        for name in ("run", "scratch")
    ]
    assert flows[0] == flows[1]


def other(job: dict[str, Any], label: str, **keys: Any) -> dict[str, Any]:
    modules = [{**m, **keys} if m["label"] == label else m for m in job["modules"]]
    return {**job, "modules": modules}


@pytest.mark.slow
def test_another_axis_computes_its_histogram_alone(tmp_path: Path, job: dict[str, Any]) -> None:
    run(tmp_path, job)
    job = other(job, "counts", axes=[{"bins": 3, "low": 0, "high": 6}])
    ended = run(tmp_path, job, "--explain")
    assert "kept 2 of 3 results; computing counts (changed: histogram counts)" in ended.err
    assert "output events" in ended.err
    check_as_from_scratch(tmp_path, job)
    ended = run(tmp_path, job)
    assert "already done" in ended.err


@pytest.mark.slow
def test_other_bins_are_made_of_fine_sums(tmp_path: Path, job: dict[str, Any]) -> None:
    (tmp_path / "own.py").write_text(
        "import awkward as ak\ndef both(events): return events.event / 7, ak.num(events.Jet_pt)\n"
    )
    entry = {"label": "both", "type": f"python:{tmp_path}/own.py:both", "weight": "event * 0.1"}
    job["modules"].append({**entry, "kind": "histogram"})
    job["paths"]["skim"].append("both")

    def with_axes(*axes: dict[str, Any], **keys: Any) -> dict[str, Any]:
        return other(job, "both", axes=[{**axis, **keys} for axis in axes])

    low = {"bins": 7, "low": 0, "high": 35}
    run(tmp_path, with_axes(low, {"bins": 6, "low": 0, "high": 6}, keep_fine=True), "-q")
    units = ledger_units(tmp_path / "run")
    others = {"bins": 20, "low": 0, "high": 35}, {"edges": [0, 1.5, 3, 6]}
    ended = run(tmp_path, with_axes(*others, keep_fine=True), "--explain")
    assert "kept 4 results: nothing to compute" in ended.err
    assert ended.err.count("; made from the fine sums") == 1
    assert ledger_units(tmp_path / "run") == units
    check_as_from_scratch(tmp_path, with_axes(*others, keep_fine=True))
    check_as_from_scratch(tmp_path, with_axes(*others))
    unlike = {"edges": [0, 12.6, 35]}, others[1]
    ended = run(tmp_path, with_axes(*unlike, keep_fine=True), "--explain")
    assert "changed: axes of both: no fine bin begins at 12.6" in ended.err


@pytest.mark.slow
def test_another_cut_computes_all_behind_it(tmp_path: Path, job: dict[str, Any]) -> None:
    run(tmp_path, job)
    job = other(job, "jets", params={"n": 3})
    ended = run(tmp_path, job, "--explain")
    assert "kept" not in ended.err
    assert "changed: module jets" in ended.err
    check_as_from_scratch(tmp_path, job)


@pytest.mark.slow
def test_what_is_asked_for_no_more_is_aside_for_one_run(
    tmp_path: Path, job: dict[str, Any]
) -> None:
    run(tmp_path, job)
    without = {**job, "outputs": []}
    ended = run(tmp_path, without)
    assert "kept 2 histograms: nothing to compute" in ended.err
    assert not (tmp_path / "run/output/events.root").exists()
    units = ledger_units(tmp_path / "run")
    ended = run(tmp_path, job)
    assert "kept 3 results: nothing to compute" in ended.err
    assert ledger_units(tmp_path / "run") == units
    check_as_from_scratch(tmp_path, job)
    for bins in (3, 4):
        run(tmp_path, other(without, "counts", axes=[{"bins": bins, "low": 0, "high": 6}]), "-q")
    stored = Store.read(RunDirectory(tmp_path / "run")).results
    assert "events" not in {each.result.label for each in stored}
    assert sorted({each.aside for each in stored}) == [False, True]


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("damage", ["removed", "changed"])
def test_an_output_that_somebody_has_changed_is_computed(
    tmp_path: Path, job: dict[str, Any], damage: str
) -> None:
    run(tmp_path, job, "-q")
    output = tmp_path / "run/output/events.root"
    if damage == "removed":
        output.unlink()
        (stored,) = (tmp_path / "run/results").glob("*.output")
        stored.unlink()
    else:
        data = bytearray(output.read_bytes())
        data[-1] ^= 1
        with output.open("r+b") as file:
            file.write(data)
    job = other(job, "counts", axes=[{"bins": 3, "low": 0, "high": 6}])
    ended = run(tmp_path, job, "--explain")
    assert "output events" in ended.err
    assert "not stored as written" in ended.err
    check_as_from_scratch(tmp_path, job)


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("kind", ["histograms", "index.json"])
def test_damaged_stored_sums_are_computed(tmp_path: Path, job: dict[str, Any], kind: str) -> None:
    run(tmp_path, job, "-q")
    file = min((tmp_path / "run/results").glob(f"*{kind}"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x55
    file.write_bytes(data)
    job["outputs"][0]["drop"] = ["Jet_pt"]
    ran = forkrun("run", write_job(tmp_path, job), "-o", "run", cwd=tmp_path)
    if kind == "index.json" and ran.code:
        assert "belongs to another job" in ran.err  # nothing says what there was
        return
    assert ran.code == 0, ran.err
    check_as_from_scratch(tmp_path, job)


def results_of_another_build(folder: RunDirectory) -> None:
    """Makes what is stored, and what the run keeps of it, results of another forkrun."""

    def other(result: ResultDigest) -> ResultDigest:
        return replace(result, parts={**result.parts, FORKRUN: "other"})

    begun, store = RunResults.read(folder), Store.read(folder)
    assert begun.kept
    now = {each.digest: other(each).digest for each in begun.results}
    kept = tuple(now[digest] for digest in begun.kept)
    parts = {now[digest]: names for digest, names in begun.parts.items()}
    results = tuple(map(other, begun.results))
    replace(begun, results=results, kept=kept, parts=parts).write(folder)
    stored = tuple(replace(each, result=other(each.result)) for each in store.results)
    replace(store, results=stored).write(folder)


def _is_newer(file: Path, mtime_ns: int) -> bool:
    return file.exists() and file.stat().st_mtime_ns > mtime_ns


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("build", ["", OTHER_BUILD])
def test_a_kill_in_the_second_run_loses_nothing(
    tmp_path: Path, job: dict[str, Any], build: str
) -> None:
    """`build`: of the forkrun that was killed, if it is another one."""
    job = lumi_by_lumi(job)
    run(tmp_path, job, "-q")
    job = other(job, "counts", axes=[{"bins": 3, "low": 0, "high": 6}])
    chaos = [{"fault": "hang", "at": "begin", "unit": 7, "times": 9}]
    new = [tmp_path / "run/fingerprint.json", tmp_path / "run/results.json"]
    before = [file.stat().st_mtime_ns for file in new]
    with running(
        "run", write_job(tmp_path, job), "-o", "run", "-q", "--set", "recovery.grace=0.2",
        cwd=tmp_path, env=environment(FORKRUN_CHAOS=json.dumps(chaos)),
    ) as process:  # fmt: skip
        wait_for(lambda: all(map(_is_newer, new, before)))
        wait_for(lambda: len(ledger_units(tmp_path / "run")) > 3)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)
    assert not output_digests(tmp_path / "run")
    if build:
        of_another_build(tmp_path / "run", build)
        results_of_another_build(RunDirectory(tmp_path / "run"))
    ended = run(tmp_path, job)
    assert "committed before" in ended.err
    assert (f"they were processed by forkrun {build}" in ended.err) == bool(build)
    assert "kept 3 of 4 results; computing counts" in ended.err
    check_as_from_scratch(tmp_path, job)


@pytest.mark.long
def test_force_computes_everything(tmp_path: Path, job: dict[str, Any]) -> None:
    run(tmp_path, job, "-q")
    ended = run(tmp_path, job, "--force", "--explain")
    assert "kept" not in ended.err
    assert ended.err.count("  new") == 4


@pytest.mark.slow
def test_what_reads_the_time_or_the_environment_is_always_computed(
    tmp_path: Path, job: dict[str, Any]
) -> None:
    (tmp_path / "own.py").write_text(OWN)
    for name in ("timed", "named"):
        axes = [{"bins": 6, "low": 0, "high": 600}]
        entry = {"label": name, "type": f"python:{tmp_path}/own.py:{name}", "kind": "histogram"}
        job["modules"].append({**entry, "axes": axes})
        job["paths"]["skim"].append(name)
    run(tmp_path, job, "-q")
    os.environ["KIND"] = "ab"
    try:
        ended = run(tmp_path, job, "--explain")
        assert "kept 3 of 5 results; computing timed, named (always computed" in ended.err
        assert "always computed: timed uses time.time" in ended.err
        assert "always computed: named uses environ" in ended.err
        check_as_from_scratch(tmp_path, job)
    finally:
        del os.environ["KIND"]


@pytest.mark.slow
def test_behaviors_of_arrays_count_for_all_results(tmp_path: Path, job: dict[str, Any]) -> None:
    def write(scale: int) -> None:
        (tmp_path / "own.py").write_text(
            "import awkward as ak\nimport forkrun\n"
            "class Own(ak.Array):\n"
            f"    def scaled(self): return self * {scale}\n"
            "ak.behavior['*', 'own'] = Own\n"
            "def scaled(events): return ak.with_name(events.event, 'own') * 1\n"
        )

    axes = [{"bins": 6, "low": 0, "high": 600}]
    entry = {"label": "scaled", "type": f"python:{tmp_path}/own.py:scaled", "kind": "histogram"}
    job["modules"].append({**entry, "axes": axes})
    job["paths"]["skim"].append("scaled")
    write(2)
    run(tmp_path, job, "-q")
    write(3)
    ended = run(tmp_path, job, "--explain")
    assert "changed: behaviors" in ended.err
    assert "kept" not in ended.err


@pytest.mark.slow
def test_code_that_a_trial_has_imported_counts(tmp_path: Path, job: dict[str, Any]) -> None:
    """Code is looked at before the trial, when its helper is unknown, and again after it."""
    (tmp_path / "own.py").write_text(
        "def scaled(events):\n    import helper\n    return events.event * helper.FACTOR\n"
    )
    axes = [{"bins": 6, "low": 0, "high": 600}]
    entry = {"label": "scaled", "type": f"python:{tmp_path}/own.py:scaled", "kind": "histogram"}
    job["modules"].append({**entry, "axes": axes})
    job["paths"]["skim"].append("scaled")
    (tmp_path / "helper.py").write_text("FACTOR = 2\n")
    run(tmp_path, job, "-q")
    assert "already done" in run(tmp_path, job).err
    (tmp_path / "helper.py").write_text("FACTOR = 3\n")
    ended = run(tmp_path, job, "--explain")
    assert "kept 3 of 4 results; computing scaled (changed: histogram scaled)" in ended.err
    check_as_from_scratch(tmp_path, job)


@pytest.mark.slow
def test_a_run_of_another_job_is_not_replaced(tmp_path: Path, job: dict[str, Any]) -> None:
    run(tmp_path, job, "-q")
    before = output_digests(tmp_path / "run")
    stranger = {
        "source": job["source"], "outputs": [{"label": "others"}], "forking": {"children": 1},
    }  # fmt: skip
    ended = forkrun("run", write_job(tmp_path, stranger), "-o", "run", cwd=tmp_path)
    assert ended.code == 4
    assert "belongs to another job" in ended.err
    assert output_digests(tmp_path / "run") == before
