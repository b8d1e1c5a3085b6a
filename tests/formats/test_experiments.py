"""What can be done with files of experiments, as the table in docs/modules.md has it."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest
import uproot

import forkrun
from forkrun.errors import ForkrunError
from forkrun.formats.described import why_no_column
from tests.support.jobs import forkrun as command

_PAGE = Path(__file__).resolve().parents[2] / "docs/modules.md"
_FILES = {
    "CMS NanoAOD": ("nano_dy.root", "Events"),
    "CMS NanoAOD, RNTuple": ("rntuple/cmssw_like_6.40.root", "Events"),
    "NanoAOD as RNTuple by uproot": ("rntuple/coffea_nano_dy_rntuple.root", "Events"),
    "NanoAOD as RNTuple by ROOT's importer": (
        "cmsopendata2015_ttbar_19980_NANOAOD_RNTupleImporter_rntuple_v1-0-0-1.root",
        "Events",
    ),
    "EDM4hep (FCC)": ("objects/p8_ee_WW_ecm240_edm4hep.root", "events"),
    "Delphes": ("objects/delphes.root", "Delphes"),
    "ALICE AO2D": ("objects/AO2D.root", "DF_*/O2udtrack"),
    "ALICE reduced events": ("objects/uproot-issue327.root", "DstTree"),
    "J-PET": ("objects/uproot-issue213.root", "T"),
    "Majorana": ("objects/uproot-issue-607.root", "MGTree"),
}


def row_of(name: str, folder: Path, scratch: Path) -> str:
    file, tree = _FILES[name]
    cells = [
        _columns(folder / file, tree),
        _skim(folder / file, tree, scratch / "run"),
        _merge(folder / file, tree, scratch),
    ]
    return f"| {name} | {' | '.join(cells)} |"


def _job(path: Path, tree: str) -> forkrun.Job:
    ids = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")
    return forkrun.Job(path, tree=tree, source=ids)


def _columns(path: Path, tree: str) -> str:
    columns = list(_job(path, tree).columns())
    whole = {column.name.split(".")[0] for column in columns if "." in column.name}
    of_other = [c for c in columns if c.why_none and c.name.rstrip(".") not in whole]
    lacking = [c for c in of_other if c.why_none != why_no_column("never filled")]
    n_columns = sum(not c.why_none for c in columns)
    return f"{n_columns:,} of {n_columns + len(lacking):,}"


def _skim(path: Path, tree: str, run: Path) -> str:
    """Every second event."""
    job = _job(path, tree)
    job.filter(lambda block: np.arange(len(block)) % 2 == 0)
    job.output("skim")
    try:
        result = job.run(1, output=run, quiet=True, plots=False)
    except ForkrunError:
        return "no"
    return "yes" if result.output("skim").exists() else "no"


def _merge(path: Path, tree: str, scratch: Path) -> str:
    """With itself."""
    copy = scratch / "copy.root"
    copy.write_bytes(path.read_bytes())
    ended = command("merge", scratch / "merged.root", path, copy, cwd=scratch)
    if ended.code != 0:
        return "no"
    with uproot.open(path) as one, uproot.open(scratch / "merged.root") as both:
        name = next(key for key in one.keys(cycle=False) if fnmatch(key, tree))
        same = both[name].num_entries == 2 * one[name].num_entries
    return "yes" if same else "no"


@pytest.mark.long
@pytest.mark.parametrize("name", _FILES)
def test_the_table_of_experiments_says_what_is_so(
    real_data: Path, tmp_path: Path, name: str
) -> None:
    if not (real_data / _FILES[name][0]).exists():
        pytest.skip(f"no such file: {real_data / _FILES[name][0]}")
    lines = _PAGE.read_text().splitlines()
    assert [line for line in lines if line.startswith(f"| {name} |")] == [
        row_of(name, real_data, tmp_path)
    ]
