"""What outputs hold, kept in the run directory: a merge at any later time makes them from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from forkrun.base.dataclass import dataclass
from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError
from forkrun.rundir.directory import RunDirectory


@dataclass(frozen=True)
class OutputContent:
    """The tree of an output. `branches`: of the input, with the counters that they need;
    `products`: name and type of each new column."""

    branches: Sequence[str]
    products: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class OutputContents:
    """`by_label`: of each output; `clusters`: for each file of the input the first entry of each
    cluster, then its number of entries."""

    by_label: Mapping[str, OutputContent]
    clusters: Sequence[Sequence[int]]

    @property
    def first_file(self) -> int:
        """Number of the file whose tree gives outputs their structure: the first with events; if
        none has any, the first whose tree has branches."""
        with_events = (n for n, clusters in enumerate(self.clusters) if len(clusters) > 1)
        with_branches = (n for n, clusters in enumerate(self.clusters) if clusters)
        return next(with_events, next(with_branches, 0))

    def to_json(self) -> dict[str, Any]:
        """Inverse of `from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> OutputContents:
        """Raises LookupError, TypeError or ValueError if the data are of another form."""
        outputs = {
            label: OutputContent(
                list(content["branches"]), [(name, kind) for name, kind in content["products"]]
            )
            for label, content in data["by_label"].items()
        }
        return cls(outputs, data["clusters"])


def read_contents(folder: RunDirectory) -> OutputContents:
    """What the outputs of a run hold. Raises InputError."""
    try:
        return OutputContents.from_json(json.loads(read_regular(folder.output_contents)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{folder.output_contents}: cannot be read: {error}") from None
