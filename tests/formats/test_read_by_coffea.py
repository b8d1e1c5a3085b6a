"""Outputs are NanoEvents of coffea, which is in an environment of its own (`make bench-analysis`
makes it)."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs import forkrun, write_job

_ENVIRONMENT = Path(__file__).parents[2] / "build/coffea"
_READ = """
import json, sys, warnings
warnings.simplefilter("ignore")
import awkward as ak, uproot
from coffea.nanoevents import NanoAODSchema, NanoEventsFactory
for path in sys.argv[1:]:
    with uproot.open(path) as file:
        names = set(file["Events"].keys(recursive=False))
    lists = {name for name in names if "n" + name in names}
    flat = {"recursive": False, "filter_field": lambda field: field.name not in lists}
    events = NanoEventsFactory.from_root(
        {path: "Events"}, schemaclass=NanoAODSchema, mode="eager",
        iteritems_options=flat if lists else {},
    ).events()
    pairs = ak.combinations(events.Muon, 2)
    masses = ak.flatten((pairs["0"] + pairs["1"]).mass).tolist()
    found = {"events": events.event.tolist(), "jets": events.Jet.pt.tolist(), "masses": masses}
    print(json.dumps(found | {"lists": len(lists)}))
"""


def python_with_coffea() -> Path:
    """Skips where there is none."""
    python = Path(os.environ.get("FORKRUN_COFFEA", _ENVIRONMENT)) / "bin/python"
    if not python.exists():
        pytest.skip(f"no coffea: {python} does not exist (set FORKRUN_COFFEA, its environment)")
    return python


@pytest.mark.long
def test_outputs_of_both_formats_are_nanoevents_with_vectors(
    real_data: Path, tmp_path: Path
) -> None:
    python = python_with_coffea()
    files = [str(real_data / "nano_dimuon.root")]
    for kind in ("ttree", "rntuple"):
        outputs = [{"label": "all", "format": kind, "flat_names": True}]
        job = write_job(tmp_path, {"source": {"files": files[:1]}, "outputs": outputs})
        ended = forkrun("run", job, "-o", kind, cwd=tmp_path)
        assert ended.code == 0, ended.err
        files.append(str(tmp_path / kind / "output/all.root"))
    ended_at = subprocess.run(
        [python, "-c", _READ, *files], capture_output=True, text=True, check=True
    )
    found: list[dict[str, Any]] = [json.loads(line) for line in ended_at.stdout.splitlines()]
    assert [each.pop("lists") > 0 for each in found] == [False, False, True]
    assert len(found[0]["events"]) == 40
    assert len(found[0]["masses"]) > 40
    assert found[1] == found[2] == found[0]
