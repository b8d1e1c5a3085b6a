"""Datasets of many small files, as benchmarks read them."""

from __future__ import annotations

import json
from pathlib import Path

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample


def write_fileset(folder: Path, text: str) -> tuple[Path, str]:
    """The fileset in JSON, and what it is."""
    n_datasets, n_files, n_events = map(int, text.split("x"))
    folder /= f"fileset-{text}"
    fileset = folder / "fileset.json"
    if not fileset.exists():
        print(
            f"writing {n_datasets} datasets of {n_files} files of {n_events:,} events", flush=True
        )
        files = {
            f"dataset_{number}": _write_dataset(
                folder / f"dataset_{number}", n_files, n_events, number
            )
            for number in range(n_datasets)
        }
        fileset.write_text(json.dumps(files))
    what = f"{n_datasets} datasets of {n_files} files of {n_events:,} events, lumis of 100"
    return fileset, what


def _write_dataset(folder: Path, n_files: int, n_events: int, seed: int) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    n_all = n_files * n_events
    write_sample(
        folder / "sample.root",
        SampleSettings(
            n_events=n_all, n_runs=1, lumis_per_run=n_all // 100, n_files=n_files,
            cluster=min(n_events, 10_000), seed=seed + 1,
        ),
    )  # fmt: skip
    return sorted(str(file) for file in folder.glob("*.root"))
