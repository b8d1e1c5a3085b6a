"""What LCIO itself writes is read, and what forkrun writes is read by LCIO: where LCIO_DIR names an
installation of it, as docs/formats.md says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun import _core
from tests.formats.test_lcio_files import compared
from tests.support.jobs import forkrun, write_job
from tests.support.lcio_itself import Lcio

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def lcio(tmp_path_factory: pytest.TempPathFactory) -> Lcio:
    return Lcio.found(tmp_path_factory.mktemp("lcio"))


@pytest.fixture(scope="module")
def reconstructed(lcio: Lcio, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100 events in ten runs, written by the examples of LCIO, with collections of 13 types."""
    folder = tmp_path_factory.mktemp("examples")
    lcio.run("simjob", folder / "sim.slcio")
    lcio.run("recjob", folder / "sim.slcio", folder / "rec.slcio")
    return folder / "rec.slcio"


def same_as_lcio_reads(lcio: Lcio, file: Path) -> list[Any]:
    """Compares every value; gives the events as LCIO reads them."""
    of_lcio = lcio.sums(file)
    opened = _core.OpenLcio(str(file))
    index = opened.index()
    columns = opened.read([column for column, _ in index["branches"]])
    assert [run for run, *_ in index["runs"]] == [run["run"] for run in of_lcio["runs"]]
    assert len(index["event"]) == of_lcio["n_events"] == len(of_lcio["events"])
    for number, event in enumerate(of_lcio["events"]):
        for what, found, wanted in compared(columns, number, event):
            is_text = np.asarray(wanted).dtype.kind == "U"
            near = wanted if is_text else pytest.approx(wanted, rel=1e-9, abs=1e-9)
            assert found == near, (number, what)
    events: list[Any] = of_lcio["events"]
    return events


def test_every_value_that_lcio_writes_is_what_lcio_reads(lcio: Lcio, reconstructed: Path) -> None:
    for name in ("sim.slcio", "rec.slcio"):
        events = same_as_lcio_reads(lcio, reconstructed.with_name(name))
        assert len(events) == 100


MODULE = """
import awkward as ak
from forkrun import Filter, Producer

class Odd(Filter):
    consumes = ["event"]
    def filter(self, block):
        return block["event"] % 2 == 1

class Even(Odd):
    def filter(self, block):
        return block["event"] % 2 == 0

class New(Producer):
    consumes = ["event"]
    produces = {"number": "int32", "half": "float64", "name": "string", "steps": "int32[]",
                "thirds": "float32[]", "exact": "float64[]", "pairs": "float32[][]",
                "names": "string[]", "three": "float32[3]"}
    def produce(self, block):
        event = block["event"]
        lists = [list(range(e % 4)) for e in event.tolist()]
        return {
            "number": event, "half": event / 2, "name": [f"event {e}" for e in event.tolist()],
            "steps": ak.Array(lists), "thirds": ak.Array(lists) / 3, "exact": ak.Array(lists) / 7,
            "pairs": ak.Array([[[x, x / 2] for x in each] for each in lists]),
            "names": [[f"x{x}" for x in each] for each in lists],
            "three": [[e, e + 1, e + 2] for e in event.tolist()],
        }
"""


def test_lcio_reads_what_is_copied_changed_and_merged(
    lcio: Lcio, reconstructed: Path, tmp_path: Path
) -> None:
    (tmp_path / "modules.py").write_text(MODULE)
    new = ["number", "half", "name", "steps", "thirds", "exact", "pairs", "names", "three"]
    outputs = [
        {"label": "copied", "paths": ["odd"], "drop": new},
        {"label": "rest", "paths": ["even"], "drop": new},
        {"label": "changed", "paths": ["odd"], "drop": ["MCParticle.*", "parameters.Thrust"]},
    ]
    modules = [
        {"label": name, "type": f"python:modules.py:{name.title()}"}
        for name in ("odd", "even", "new")
    ]
    settings = {
        "source": {"files": [str(reconstructed)]}, "modules": modules,
        "paths": {"odd": ["odd"], "even": ["even"]}, "outputs": outputs,
    }  # fmt: skip
    made = set()
    for children in (0, 2):
        run = f"run{children}"
        ended = forkrun("run", write_job(tmp_path, settings), "-o", run, "--children", children,
                        cwd=tmp_path)  # fmt: skip
        assert ended.code == 0, ended.err
        made.add((tmp_path / run / "output/changed.slcio").read_bytes())
    assert len(made) == 1
    output = tmp_path / "run0/output"
    whole = {(e["run"], e["event"]): e for e in lcio.sums(reconstructed)["events"]}
    copied = same_as_lcio_reads(lcio, output / "copied.slcio")
    assert copied == [event for (_, number), event in whole.items() if number % 2]
    changed = same_as_lcio_reads(lcio, output / "changed.slcio")
    assert len(changed) == 50
    for before, after in zip(copied, changed, strict=True):
        same_but_for_what_was_changed(before, after)
    parts = [output / f"{name}.slcio" for name in ("changed", "rest")]
    merged = forkrun("merge", "all.slcio", *parts, cwd=tmp_path)
    assert merged.code == 0, merged.err
    assert len(same_as_lcio_reads(lcio, tmp_path / "all.slcio")) == 100
    dumped = lcio.run("dumpevent", output / "changed.slcio", 7, 3)  # by the random access
    assert "Event  : 3 - run:  7" in dumped


def same_but_for_what_was_changed(before: Any, after: Any) -> None:
    """The event has no generated particles, nobody points at them, and it has new columns."""
    event, steps = after["event"], list(range(after["event"] % 4))
    assert after["params"]["int"].items() >= {"number": [event]}.items()
    assert after["params"]["double"]["half"] == [event / 2]
    assert after["params"]["string"]["name"] == [f"event {event}"]
    assert after["params"]["float"]["three"] == [event, event + 1, event + 2]
    assert "Thrust" not in after["params"]["float"]
    found = {each["name"]: each for each in after["collections"]}
    assert found["steps"]["sum"] == {"n": len(steps), "sum": sum(steps)}
    assert found["steps"]["type"] == "LCIntVec"
    assert found["exact"]["sum"].get("doubles", 0) == pytest.approx(sum(steps) / 7)
    assert found["pairs"]["n"] == len(steps)
    assert found["names"]["sum"]["n"] == len(steps)
    for each in before["collections"]:
        if each["name"] == "MCParticle":
            assert "MCParticle" not in found
            continue
        other = found[each["name"]]
        assert (other["type"], other["params"]) == (each["type"], each["params"])
        if each["subset"] and each["type"] == "MCParticle":
            assert other["n"] == 0
            continue
        for key, value in each["sum"].items():
            is_to_particles = each["type"] in ("SimCalorimeterHit", "SimTrackerHit")
            if is_to_particles and key in ("contrib_particle_index1", "particle_index1"):
                assert other["sum"][key] == 0
            elif each["type"] != "LCRelation":
                assert other["sum"][key] == value, (each["name"], key)
