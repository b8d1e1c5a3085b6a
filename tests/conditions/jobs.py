"""Jobs whose modules read conditions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import uproot

from forkrun.conditions import Conditions, prefetch_conditions
from forkrun.config.conditions import ConditionConfig, PrefetchConfig
from forkrun.plan.model import Plan, Units
from tests.support.jobs import forkrun, write_job

HERE = Path(__file__).resolve().parent


def module(label: str, name: str, /, **params: Any) -> dict[str, Any]:
    return {"label": label, "type": f"python:{HERE / 'modules.py'}:{name}", "params": params}


def job(
    events: Path,
    modules: Sequence[dict[str, Any]],
    conditions: Sequence[dict[str, Any]],
    **sections: Any,
) -> dict[str, Any]:
    """Writes all events with what the modules make."""
    filters = [m["label"] for m in modules if m["label"] in ("filter", "told")]
    return {
        "source": {"files": [str(events)]},
        "conditions": list(conditions),
        "modules": list(modules),
        "paths": {"all": filters} if filters else {},
        "outputs": [{"label": "events", "drop": ["Jet_pt"]}],
        "forking": {"children": 1},
        **sections,
    }


def run(folder: Path, name: str, description: dict[str, Any], *options: object) -> Path:
    """Runs a job, which must succeed; gives its run directory."""
    ended = forkrun("run", write_job(folder, description), "-o", name, *options, cwd=folder)
    assert ended.code == 0, ended.err
    return folder / name


def columns(run_directory: Path, *names: str) -> list[Any]:
    with uproot.open(run_directory / "output/events.root") as file:
        return [file["Events"][name].array(library="ak") for name in names]


def baskets(run_directory: Path) -> dict[str, list[bytes]]:
    """All that an output holds, branch by branch; without the dates that ROOT stamps."""
    with uproot.open(run_directory / "output/events.root") as file:
        return {
            branch.name: [branch.basket(n).data.tobytes() for n in range(branch.num_baskets)]
            for branch in file["Events"].branches
        }


def scale_files(folder: Path, *values: float) -> list[Path]:
    """scale-1.5.npy holds [1.5]."""
    files = [folder / f"scale-{value}.npy" for value in values]
    for file, value in zip(files, values, strict=True):
        np.save(file, np.array([value]))
    return files


def plan_of(*lumis: tuple[int, int]) -> Any:
    """What conditions want of a plan: a unit of ten events for each lumi."""
    numbers = np.arange(len(lumis) + 1)
    units = Units.of(
        {
            "child": 0 * numbers[:-1],
            "run": [run for run, _ in lumis],
            "lumi": [lumi for _, lumi in lumis],
            "first_range": numbers,
            "file": 0 * numbers[:-1],
            "first": 10 * numbers[:-1],
            "last": 10 * numbers[1:],
        }
    )
    return Plan("lumi", 1, 10 * len(units), len(units), ("a.root",), units, None)


def prefetch(
    configs: Sequence[dict[str, Any]], *lumis: tuple[int, int], **options: Any
) -> Conditions:
    """Prefetched conditions for a plan with these lumis."""
    models = [ConditionConfig.checked(config) for config in configs]
    units = plan_of(*lumis or ((1, 1),)).units
    return prefetch_conditions(models, PrefetchConfig(**options), units)
