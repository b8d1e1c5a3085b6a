"""LCIO files. The core reads their objects as columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from forkrun import _core
from forkrun.errors import ConfigError, InputError, OutputError
from forkrun.formats.column_types import ColumnType
from forkrun.formats.events import NO_IDS, EventSource, Identity, Ids, OutputToMake
from forkrun.formats.format import Format, digest_of_ids, first_bytes

_MARKER = bytes.fromhex("abadcafe")
"""Follows the first four bytes of a file."""
_PER_LUMI = "event/"
"""Prefix of a number: an event's lumi is 1 plus its number divided by that."""


class LcioFormat(Format):
    """Events of linear colliders, *.slcio."""

    name = "lcio"
    suffix = ".slcio"
    has_ids = True
    becomes_root = True

    def is_of(self, path: str) -> bool:
        """Tells by the first record; for files on servers, by the name."""
        if "://" in path:
            return path.partition("?")[0].endswith(self.suffix)
        return (first_bytes(path, 8) or b"")[4:] == _MARKER

    def index(
        self, path: str, tree: str, ids: Ids = NO_IDS, file_number: int = 0
    ) -> dict[str, Any]:
        from forkrun.formats.columns_index import columns_index

        found = _core.OpenLcio(path).index(events_per_lumi(ids))
        numbers = found["run"], found["lumi"], found["event"]
        uuid = "".join(f"{half:016x}" for half in found["identity"])
        return columns_index(
            self.name,
            path,
            found["branches"],
            found["clusters"],
            numbers,
            uuid=uuid,
            status=found["status"],
        )

    def read(
        self, path: str, tree: str, names: Sequence[str], first: int = 0, last: int = -1
    ) -> Any:
        return _core.OpenLcio(path).read(names, first, last)

    def why_no_column(self, kind: str) -> str:
        return "its type is not known"

    def opened(self, path: str, tree: str) -> Any:
        return _core.OpenLcio(path)

    def source(self, events: EventSource) -> _core.LcioSource:
        if events.friends:
            raise ConfigError(
                "source.friends, source.trees_with_events: files of LCIO have no friends: leave"
                " them out"
            )
        return _core.LcioSource(events, events_per_lumi(events.ids))

    def make_outputs(
        self,
        outputs: Sequence[OutputToMake],
        events: EventSource,
        *how: Any,
        of_input: Format | None = None,
        **named: Any,
    ) -> list[list[int]]:
        """Makes outputs by copying the records of events, or by rewriting them."""
        return _core.make_outputs(outputs, self.source(events), *how, **named)

    def merge(self, inputs: Sequence[str], output: str, **options: Any) -> dict[str, int]:
        unknown = ("trees", "compression", "keep_first", "format")
        if refused := [name for name in unknown if options.get(name)]:
            raise InputError(f"merge: files of LCIO have no {', '.join(refused)}")
        for path in inputs:
            if not self.is_of(path):
                raise InputError(f"{path}: only files of LCIO are merged with {inputs[0]}")
        return {"LCIO": self._joined(inputs, output, bool(options.get("verify")), all_runs=True)}

    def join(
        self, parts: Sequence[str], output: str, trees: Sequence[str], *, verify: bool,
        recluster: str,
    ) -> list[int]:  # fmt: skip
        """Joins parts without headers of runs that have no event: these are carried."""
        return [self._joined(parts, output, verify, all_runs=False)]

    def _joined(self, inputs: Sequence[str], output: str, verify: bool, *, all_runs: bool) -> int:
        """Joins files and returns the number of events."""
        written = _core.join_lcio(inputs, output, verify, all_runs)
        if verify and self.digest(output, "", NO_IDS) != written:
            raise OutputError(f"{output}: what was written has other events than the input")
        return written.count

    def carry(
        self,
        inputs: Sequence[str],
        output: str,
        exclude: Sequence[str],
        keep_first: bool,
        identities: Sequence[Identity] = (),
        common_branches: bool = False,
        is_new: bool = False,
    ) -> None:
        """Adds headers of runs, including runs without events in the output."""
        if not is_new:  # a new file has no events, with which they would go
            _core.carry_lcio(inputs, output, [n_bytes for _, n_bytes, _ in identities])

    def digest(self, path: str, tree: str, ids: Ids) -> _core.EventDigest:
        found = _core.OpenLcio(path).index(events_per_lumi(ids))
        return digest_of_ids(found["run"], found["lumi"], found["event"])


LCIO = LcioFormat()


def events_per_lumi(ids: Ids) -> int:
    """Number of events per lumi, from the name of the lumi column; 0: each run is one lumi. Raises
    InputError."""
    run, lumi, event = ids
    if run not in ("", "run") or event not in ("", "event"):
        raise InputError(
            "files of LCIO have the columns run and event: leave source.run_branch and"
            " source.event_branch out"
        )
    if lumi.startswith(_PER_LUMI) and lumi.removeprefix(_PER_LUMI).isdecimal():
        return int(lumi.removeprefix(_PER_LUMI))
    if lumi not in ("", "luminosityBlock"):
        raise InputError(
            "files of LCIO have no luminosity sections: leave source.lumi_branch out, or make some"
            " with source.events_per_lumi"
        )
    return 0


PARAMETERS = "parameters"
"""Prefix, before the point, in names of columns that are parameters of events."""
RUN_HEADER = "RunHeader"
"""Prefix in names of columns from the run header."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_STORED = {
    "bool", "int8", "int16", "int32", "uint8", "uint16", "float32", "float64", "string",
}  # fmt: skip
"""Types of columns available in LCIO: neither integers of 8 bytes nor unsigned ones of 4."""


def problem_of(name: str, kind: str) -> str:
    """Reason why a column cannot be in an LCIO file; "" if it can. One value per event becomes a
    parameter of the event, a list a collection of vectors."""
    type_ = ColumnType.of(kind)
    n_lists = type_.n_levels - type_.is_text
    if type_.element not in _STORED:
        return (
            f'"{name}" is {kind}; LCIO has int32, float32, float64 and texts: make it one of these'
        )
    if n_lists > 2 or (n_lists == 2 and type_.is_text) or (n_lists and type_.dimensions):
        return (
            f'"{name}" is {kind}; LCIO has lists and lists of lists of numbers, and lists of texts'
        )
    if n_lists and not _NAME.fullmatch(name):
        return (
            f'"{name}" cannot be the name of a collection: these have letters, digits and _,'
            " 64 of them at most"
        )
    return ""
