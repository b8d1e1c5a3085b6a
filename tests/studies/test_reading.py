"""`forkrun measure io`: counts of what children really read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import uproot

from forkrun.errors import NOT_CONCLUSIVE
from forkrun.studies.frame.machine import cached_share, drop_from_cache, warm_cache
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, write_job

COLUMNS = ("run", "luminosityBlock", "event", "Jet_pt")
"""Columns that the job reads; each has one basket."""


@pytest.mark.slow
def test_bytes_are_counted_by_child_and_turn(tmp_path: Path) -> None:
    file = write_events(tmp_path / "in.root", [(1, 1, 300)])
    job = write_job(tmp_path, jets_job([file], forking={"distribution": "lumi"}))
    options = ("--children", 3, "--consecutive", 1, "max", "--repeats", 1, "--cache", "cold", "-q")
    files = ("--json", "io.json", "--plot", "io.png")
    ended = forkrun("measure", "io", job, *options, *files, cwd=tmp_path)
    assert ended.code in (0, NOT_CONCLUSIVE), ended.err
    found = json.loads((tmp_path / "io.json").read_text())
    rows = {row["name"]: row for row in found["rows"]}
    once = sum(uproot.open(file)["Events"][name].compressed_bytes for name in COLUMNS)
    read = {n: (row["calls"]["value"], row["bytes"]["value"]) for n, row in rows.items()}
    n_children = read["guided, cold"][0] / 4  # those that came before all was given out
    assert 1 <= n_children <= 3
    assert read == {
        "one child, cold": (4, once),
        "N = 1, cold": (12, 3 * once),  # each child reads each basket for a third of its events
        "N = max, cold": (12, 3 * once),
        "guided, cold": (4 * n_children, n_children * once),
    }
    assert rows["N = 1, cold"]["times"]["value"] == 3
    assert rows["N = 1, cold"]["read_bytes"]["value"] == once / 4
    sizes = [f for f in found["figures"] if f["unit"] == "B"]
    assert [(f["line"], f["value"], f["ours"]) for f in sizes] == [
        ("P1.9", 600e3, once / 4), ("P1.9", 25e3, once / 4)
    ]  # fmt: skip
    assert (tmp_path / "io.png").stat().st_size > 10_000


def test_files_leave_the_cache_and_come_back(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(os.urandom(1 << 20))
    warm_cache([file])
    assert cached_share([file]) == 1
    assert drop_from_cache([file]) == cached_share([file])
    assert drop_from_cache([]) == 0


def test_numbers_in_a_row_are_checked_before_anything_runs(tmp_path: Path) -> None:
    for number in ("0", "-1", "most"):
        ended = forkrun("measure", "io", "job.toml", "--consecutive", number, cwd=tmp_path)
        assert ended.code == 2
        assert "--consecutive" in ended.err


@pytest.mark.parametrize("kind", ["io", "distribution", "scaling"])
def test_a_configuration_that_is_missing_is_named_once(tmp_path: Path, kind: str) -> None:
    ended = forkrun("measure", kind, "nope.toml", cwd=tmp_path)
    assert (ended.code, ended.err) == (2, "forkrun: nope.toml: configuration file not found\n")
