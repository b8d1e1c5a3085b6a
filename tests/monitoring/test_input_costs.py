"""What reading took, column by column, of real jobs; and what their threads did with their time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.monitoring.timing.model import as_part, merge_timing, to_json
from tests.support import lcio_files
from tests.support.files import COLUMNS, write_events
from tests.support.jobs import forkrun, write_job

MODULES = """
import time
import awkward as ak
from forkrun import Analyzer, Filter

class Jets(Filter):
    consumes = ["Jet_pt", "nMuon"]
    def filter(self, block):
        time.sleep(0.05)
        return ak.num(block.Jet_pt) > 1

class Momenta(Analyzer):
    consumes = ["MCParticle.momentum.x", "MCParticle.pdg"]
    def analyze(self, block):
        ak.sum(block["MCParticle.momentum.x"], axis=1)
"""


def report_of(tmp_path: Path, name: str, file: Path, kind: str, *options: Any) -> dict[str, Any]:
    (tmp_path / "modules.py").write_text(MODULES)
    job = {
        "source": {"files": [str(file)]},
        "forking": {"children": 1},
        "modules": [{"label": "own", "type": f"python:modules.py:{kind}"}],
        "paths": {"main": ["own"]},
    }
    ended = forkrun("run", write_job(tmp_path, job), "-o", name, *options, cwd=tmp_path)
    assert ended.code == 0, ended.err
    report: dict[str, Any] = json.loads((tmp_path / name / "report.json").read_text())
    return report


def column_of(report: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (cost for cost in report["input"]["columns"] if cost["column"] == name)
    assert found["total_s"] == pytest.approx(
        found["read_s"] + found["unpack_s"] + found["decode_s"], rel=0.01, abs=1e-4
    )
    return dict(found)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Columns beside the ids, of which modules ask for one."""
    path, n = tmp_path / "tree.root", 2000
    columns = [*COLUMNS, ("nMuon", "int32"), ("other", "float64")]
    writer = _core.TreeWriter(str(path), "Events", columns, "zlib:1")
    rng = np.random.default_rng(1)
    values = {
        "run": np.full(n, 1, np.uint32),
        "luminosityBlock": np.full(n, 1, np.uint32),
        "event": np.arange(n, dtype=np.uint64),
        "Jet_pt": (3 * np.arange(n + 1), np.arange(3 * n, dtype=np.float32)),
        "nMuon": rng.integers(0, 3, n).astype(np.int32),
        "other": rng.normal(size=n),
    }
    writer.write(values)
    writer.close()
    return path


def test_bytes_and_reads_of_columns_are_those_of_their_baskets(tmp_path: Path, tree: Path) -> None:
    report = report_of(tmp_path, "run", tree, "Jets")
    branches = uproot.open(tree)["Events"]
    for name in ("Jet_pt", "nMuon"):
        keys = [branches[name].basket_key(n) for n in range(branches[name].num_baskets)]
        cost = column_of(report, name)
        assert cost["read_calls"] == len(keys) > 0
        assert cost["read_bytes"] == sum(key.fNbytes for key in keys)
        packed = [key for key in keys if key.fObjlen > key.fNbytes - key.fKeylen]
        assert cost["unpacked_bytes"] == sum(key.fObjlen for key in packed)
        assert cost["packed_bytes"] == sum(key.fNbytes - key.fKeylen for key in packed)
    assert [cost["column"] for cost in report["input"]["columns"]] == ["Jet_pt", "nMuon"]
    all_costs = [report["input"]["common"], *report["input"]["columns"]]
    # What opening the file reads is common to its columns, and not among the reads of events.
    opening = sum(cost["read_bytes"] for cost in all_costs) - report["totals"]["read_bytes"]
    assert 0 < opening < 5000
    assert sum(cost["read_calls"] for cost in all_costs) > report["totals"]["read_calls"]
    # nMuon was read for nothing, and each call slept for 50 ms.
    assert report["input"]["not_read"] == ["nMuon"]
    text = (tmp_path / "run" / "report.txt").read_text()
    assert "Read by nobody, though modules name them: nMuon" in text
    assert report["spent"]["processing_s"] >= 0.05
    courses = json.loads((tmp_path / "run" / "monitoring" / "course-000.json").read_text())
    of_pieces = sum(sum(thread["processing"]) for thread in courses["threads"]) * 1e-6
    assert of_pieces == pytest.approx(report["spent"]["processing_s"])
    begin_s, end_s = report["sessions"][0]["start_s"], report["sessions"][0]["end_s"]
    assert begin_s <= courses["start_s"] <= end_s
    # Merged as those of two nodes, costs are twice what they were.
    timing = json.loads((tmp_path / "run" / "timing.json").read_text())
    twice = to_json(merge_timing([as_part(timing)] * 2, {}))
    for one, two in zip(timing["input"]["columns"], twice["input"]["columns"], strict=True):
        assert two["read_bytes"] == 2 * one["read_bytes"]
        assert two["decode_s"] == pytest.approx(2 * one["decode_s"])
    assert twice["input"]["common"]["n_blocks"] == 2 * timing["input"]["common"]["n_blocks"]
    assert list(twice["input"]["not_read"]) == ["nMuon"]
    assert twice["modules"][0]["count"] == 2 * timing["modules"][0]["count"]


def test_columns_of_an_rntuple_cost_their_pages(tmp_path: Path, tree: Path) -> None:
    made = forkrun("convert", tree, "ntuple.root", cwd=tmp_path)
    assert made.code == 0, made.err
    report = report_of(tmp_path, "run", tmp_path / "ntuple.root", "Jets")
    jets, muons = column_of(report, "Jet_pt"), column_of(report, "nMuon")
    assert muons["unpacked_bytes"] == 4 * 2000
    assert jets["read_bytes"] > muons["read_bytes"] > 0
    all_costs = [report["input"]["common"], *report["input"]["columns"]]
    opening = sum(cost["read_bytes"] for cost in all_costs) - report["totals"]["read_bytes"]
    assert 0 <= opening < 5000


def test_what_lcio_inflates_is_common_to_its_columns(tmp_path: Path) -> None:
    file = lcio_files.write_events(tmp_path / "a.slcio", {1: range(40)})
    report = report_of(tmp_path, "run", file, "Momenta", "--set", "source.events_per_lumi=10")
    common = report["input"]["common"]
    assert common["read_bytes"] > report["totals"]["read_bytes"] > 0  # heads of records, too
    assert common["unpacked_bytes"] > common["packed_bytes"] > 0
    momenta = column_of(report, "MCParticle.momentum.x")
    assert (momenta["read_bytes"], momenta["unpacked_bytes"]) == (0, 0)
    assert momenta["decode_s"] > 0
    assert report["input"]["not_read"] == ["MCParticle.pdg"]


def test_a_thread_that_reads_ahead_is_shown_beside_the_others(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, lumi, 400) for lumi in range(1, 9)])
    (tmp_path / "modules.py").write_text(MODULES.replace('"Jet_pt", "nMuon"', '"Jet_pt"'))
    job = {
        "source": {"files": [str(file)]},
        "forking": {"children": 1},
        "threads": {"read_ahead": True, "block_size": 400},
        "modules": [{"label": "own", "type": "python:modules.py:Jets"}],
        "paths": {"main": ["own"]},
    }
    ended = forkrun("run", write_job(tmp_path, job), "--trace", "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    courses = json.loads((tmp_path / "run" / "monitoring" / "course-000.json").read_text())
    names = [thread["name"] for thread in courses["threads"]]
    assert names.count("reads ahead") == 1
    assert report["spent"]["ahead_s"] > 0
    assert column_of(report, "Jet_pt")["read_bytes"] > 0
