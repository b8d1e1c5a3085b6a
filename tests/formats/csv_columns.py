"""A toy format: a table of numbers as text, one line an event, with the names in the first line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from forkrun.errors import InputError
from forkrun.formats import Format
from forkrun.formats.columns_index import columns_index, made_up_ids
from forkrun.formats.events import NO_IDS, Ids


class CsvColumns(Format):
    """Files of the form "event:uint64,x:float32\\n1,2.5\\n"."""

    name = "csv"
    suffix = ".csv"

    def is_of(self, path: str) -> bool:
        return path.endswith(self.suffix)

    def index(
        self, path: str, tree: str, ids: Ids = NO_IDS, file_number: int = 0
    ) -> dict[str, Any]:
        types, rows = _table(path)
        n_entries = len(rows)
        clusters = [*range(0, n_entries, 100), n_entries] if n_entries else [0]
        run, lumi, event = made_up_ids(n_entries, file_number)
        if ids != NO_IDS:
            found = self.read(path, tree, ids)
            run, lumi, event = (each.astype(np.uint64) for each in found.values())
        known = list(types.items())
        return columns_index(self.name, path, known, clusters, (run, lumi, event))

    def read(
        self, path: str, tree: str, names: Sequence[str], first: int = 0, last: int = -1
    ) -> dict[str, Any]:
        types, rows = _table(path)
        wanted = rows[first : len(rows) if last < 0 else last]
        places = {name: place for place, name in enumerate(types)}
        if missing := [name for name in names if name not in places]:
            raise InputError(f"{path}: there is no column {missing[0]}")
        return {
            name: np.array([row[places[name]] for row in wanted], str).astype(types[name])
            for name in names
        }

    def write(
        self, path: str, types: Mapping[str, str], parts: Iterable[Mapping[str, Any]]
    ) -> None:
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(f"{name}:{kind}" for name, kind in types.items())
            for part in parts:
                writer.writerows(zip(*(part[name].tolist() for name in types), strict=True))


def _table(path: str) -> tuple[dict[str, str], list[list[str]]]:
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    names, *rows = csv.reader(io.StringIO(text))
    return dict(name.split(":") for name in names), rows
