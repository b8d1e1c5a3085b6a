"""Accumulators of a finished job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forkrun.base.nearest import suggestion


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
