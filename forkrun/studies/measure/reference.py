"""The reference case as a job: conditions of a given size, read completely by every child."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct

from forkrun.base.durable import write_text
from forkrun.config.model import JobConfig
from forkrun.config.read import validate
from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample

N_LUMIS_PER_CHILD = 4
_SAMPLE_S_PER_BYTE = 1.5e-10
_HERE = "python:forkrun.studies.measure.synthetic"


class Kind(StrEnum):
    """Form of the synthetic conditions."""

    ARRAYS = "arrays"
    OBJECTS = "objects"


class ReferenceSettings(Struct, frozen=True):
    """Sizes in MB (1e6 bytes) as published for a reconstruction job of 2010: 700 MB of conditions,
    and 375 MB of private memory per child."""

    kind: Kind = Kind.ARRAYS
    conditions_mb: int = 700
    private_mb: int = 375
    n_children: int = 32

    @property
    def pause_s(self) -> float:
        """Pause in every lumi, long enough to sample all children, also on a busy machine."""
        n_bytes = 1e6 * (self.conditions_mb + self.private_mb) * self.n_children
        return 0.5 + _SAMPLE_S_PER_BYTE * n_bytes


def write_reference(folder: Path, settings: ReferenceSettings) -> JobConfig:
    """Writes input and description of the conditions to `folder`; returns the job. Raises
    OutputError."""
    sizes, sample = folder / "conditions.toml", folder / "sample.root"
    write_text(sizes, f"megabytes = {settings.conditions_mb}\n")
    n_lumis = N_LUMIS_PER_CHILD * settings.n_children
    write_sample(sample, SampleSettings(n_events=n_lumis, n_runs=1, lumis_per_run=n_lumis))
    return validate(_job(settings, sizes, sample), "the reference case")


def _job(settings: ReferenceSettings, sizes: Path, sample: Path) -> dict[str, Any]:
    params = {
        "private_mb": settings.private_mb,
        "n_children": settings.n_children,
        "pause_s": settings.pause_s,
    }
    kind = f"{_HERE}:{settings.kind.value}"
    return {
        "job": {"name": "reference"},
        "source": {"files": [str(sample)]},
        "forking": {"children": settings.n_children, "distribution": "contiguous"},
        "threads": {"executor": "serial"},
        "conditions": [{"label": "calibrations", "type": kind, "file": str(sizes)}],
        "modules": [
            {"label": "read_conditions", "type": f"{_HERE}:ReadConditions", "params": params}
        ],
        "paths": {"all": ["read_conditions"]},
    }
