"""The file of a unit's accumulators, `accumulators.json`: [[module, name, {kind: value}], …]. A run
directory may come from another user: nothing in it is executed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError, JobError
from forkrun.histograms.accumulators.totals import Total, add, decode, encode

Totals = dict[str, dict[str, Total]]
"""By label of the module, by name."""


def encode_part(totals: Mapping[str, Mapping[str, Total]]) -> list[bytes]:
    """Pieces of the file; none if nothing was accumulated."""
    rows = [
        [module, name, encode(total)]
        for module, named in totals.items()
        for name, total in named.items()
    ]
    return [json.dumps(rows, allow_nan=False).encode()] if rows else []


def read_part(file: Path) -> Totals:
    """What was given to `encode_part`. Raises InputError that names the file."""
    totals: Totals = {}
    try:
        for module, name, data in json.loads(read_regular(file)):
            totals.setdefault(module, {})[name] = decode(data)
    except OSError as error:
        raise InputError(f"{file}: cannot read these accumulators: {error.strerror}") from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise InputError(f"{file}: these are not the accumulators of a unit: {error}") from None
    return totals


def merge_parts(files: Iterable[Path]) -> Totals:
    """The sum over units. `files`: in the order of the input. Raises JobError if those of two units
    do not fit each other."""
    totals: Totals = {}
    for file in files:
        for module, named in read_part(file).items():
            for name, total in named.items():
                try:
                    add(totals.setdefault(module, {}), name, total)
                except TypeError as error:
                    raise JobError(f'module "{module}": {error} ({file})') from None
    return totals


def results(totals: Totals) -> dict[str, dict[str, Any]]:
    """By label of the module, by name, as in `output/accumulators.json`."""
    return {
        module: {name: total.result() for name, total in sorted(named.items())}
        for module, named in sorted(totals.items())
    }
