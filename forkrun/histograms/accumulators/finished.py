"""Accumulators of a unit and of a finished job. Their file, `accumulators.json`: [[module, name,
{kind: value}, number of the dataset], …], without the number where it is 0. A run directory may
come from another user: nothing in it is executed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from forkrun.base.destinations import DatasetApart, are_mixed
from forkrun.base.nearest import suggestion
from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError, JobError
from forkrun.histograms.accumulators.totals import Total, add, decode, encode


class Accumulators(dict[str, dict[str, Any]]):
    """Values of the whole job, by label of the module and name. `datasets`: the same for each
    dataset, by name, if the job has several; the values are then their sum, and empty if the job
    has both data and simulation."""

    def __init__(
        self,
        total: Mapping[str, dict[str, Any]],
        datasets: Mapping[str, dict[str, dict[str, Any]]] | None = None,
    ) -> None:
        super().__init__(total)
        self.datasets = datasets or {}

    @classmethod
    def of_file(cls, content: Mapping[str, Any], *, is_by_dataset: bool) -> Accumulators:
        """`content`: of `accumulators.json`."""
        if is_by_dataset:
            return cls(content.get("total") or {}, content.get("datasets"))
        return cls(content)

    def __repr__(self) -> str:
        if not self and self.datasets:
            return f"data and simulation are not added; datasets: {dict(self.datasets)}"
        return super().__repr__()

    def __missing__(self, label: str) -> dict[str, Any]:
        known = {**self, **{of: {} for each in self.datasets.values() for of in each}}
        if not self and label in known:
            raise KeyError(
                "data and simulation are not added: take"
                f' result.accumulators.datasets["{next(iter(self.datasets))}"]["{label}"]'
            )
        raise KeyError(f'no module "{label}" has accumulated anything' + suggestion(label, known))


Totals = dict[str, dict[str, Total]]
"""Totals by label of the module and name."""
ByDataset = dict[int, Totals]
"""Totals by number of the dataset."""


def encode_part(totals: ByDataset) -> list[bytes]:
    """Pieces of the file; none if nothing was accumulated."""
    rows = [
        [module, name, encode(total), *([dataset] if dataset else [])]
        for dataset, of_dataset in totals.items()
        for module, named in of_dataset.items()
        for name, total in named.items()
    ]
    return [json.dumps(rows, allow_nan=False).encode()] if rows else []


def read_part(file: Path) -> ByDataset:
    """Inverse of `encode_part`. Raises InputError, which names the file."""
    totals: ByDataset = {}
    try:
        for module, name, data, *dataset in json.loads(read_regular(file)):
            number = int(dataset[0]) if dataset else 0
            totals.setdefault(number, {}).setdefault(module, {})[name] = decode(data)
    except OSError as error:
        raise InputError(f"{file}: cannot read these accumulators: {error.strerror}") from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise InputError(f"{file}: these are not the accumulators of a unit: {error}") from None
    return totals


def merge_parts(files: Iterable[Path]) -> ByDataset:
    """Sum over units. `files`: in input order. Raises JobError if accumulators of two units differ
    in kind."""
    return add_parts((read_part(file), str(file)) for file in files)


def add_parts(parts: Iterable[tuple[ByDataset, str]]) -> ByDataset:
    """The sum of parts, in the order of the input; each with its name in messages."""
    totals: ByDataset = {}
    for part, of in parts:
        for dataset, more in part.items():
            _add(totals.setdefault(dataset, {}), more, of)
    return totals


def _add(totals: Totals, more: Totals, of: str) -> None:
    """Adds `more` to `totals`. `of`: origin of `more`, for messages."""
    for module, named in more.items():
        for name, total in named.items():
            try:
                add(totals.setdefault(module, {}), name, total)
            except TypeError as error:
                raise JobError(f'module "{module}": {error} ({of})') from None


def results(totals: ByDataset, datasets: Mapping[int, DatasetApart]) -> dict[str, Any]:
    """Content of `output/accumulators.json`: by label of the module and name; with several
    `datasets` those of each in "datasets", and their sum in "total", unless the job has both data
    and simulation."""
    if not datasets:
        return _results(totals.get(0, {}))
    found = {name: _results(totals.get(n, {})) for n, (name, _) in datasets.items()}
    total: Totals = {}
    for number in [] if are_mixed(datasets.values()) else sorted(totals):
        _add(total, _copied(totals[number]), datasets[number].name)
    return {"datasets": found, **({"total": _results(total)} if total else {})}


def _copied(totals: Totals) -> Totals:
    """Copies for sums: objects of users change when others are added."""
    return {
        module: {name: decode(encode(total)) for name, total in named.items()}
        for module, named in totals.items()
    }


def _results(totals: Totals) -> dict[str, dict[str, Any]]:
    return {
        module: {name: total.result() for name, total in sorted(named.items())}
        for module, named in sorted(totals.items())
    }
