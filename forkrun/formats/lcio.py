"""Files of LCIO: read by the core, which knows their objects as columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from forkrun import _core
from forkrun.errors import ConfigError, InputError, OutputError
from forkrun.formats.column_types import ColumnType
from forkrun.formats.events import NO_IDS, EventSource, Identity, Ids, OutputToMake, to_make
from forkrun.formats.format import Format, digest_of_ids, first_bytes

_MARKER = bytes.fromhex("abadcafe")
"""Behind the first four bytes of a file."""
_PER_LUMI = "event/"
"""Before a number: the lumi of an event is 1, and its number divided by that one."""


class LcioFormat(Format):
    """Events of linear colliders, *.slcio."""

    name = "lcio"
    suffix = ".slcio"
    has_ids = True
    becomes_root = True

    def is_of(self, path: str) -> bool:
        """By its first record; by its name, if it is on a server."""
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
        return _core.LcioSource(
            events.files,
            events.columns,
            events.clusters,
            events.identities,
            events_per_lumi(events.ids),
            events.expected,
        )

    def make_outputs(
        self,
        outputs: Sequence[OutputToMake],
        events: EventSource,
        n_threads: int = 1,
        verify: bool = False,
        on_open: Callable[[int], None] | None = None,
    ) -> list[list[int]]:
        """By copying the records of events, or by making them anew."""
        made = [to_make(output, output.branches) for output in outputs]
        return _core.make_outputs(made, self.source(events), n_threads, verify, on_open)

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
        """Without headers of runs that have no event: these are carried."""
        return [self._joined(parts, output, verify, all_runs=False)]

    def _joined(self, inputs: Sequence[str], output: str, verify: bool, *, all_runs: bool) -> int:
        """The number of events that a file of these inputs has."""
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
        identities: Sequence[Identity],
        common_branches: bool,
    ) -> None:
        """Headers of runs, also of those without an event in the output."""
        _core.carry_lcio(inputs, output, [n_bytes for _, n_bytes, _ in identities])

    def digest(self, path: str, tree: str, ids: Ids) -> _core.EventDigest:
        found = _core.OpenLcio(path).index(events_per_lumi(ids))
        return digest_of_ids(found["run"], found["lumi"], found["event"])


LCIO = LcioFormat()


def events_per_lumi(ids: Ids) -> int:
    """Events of a lumi, by the name of the column that tells it; 0: a run is one lumi. Raises
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
"""Before the point, in names of columns that are parameters of events."""
RUN_HEADER = "RunHeader"
"""The same of what the header of the run says."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_STORED = {
    "bool", "int8", "int16", "int32", "uint8", "uint16", "float32", "float64", "string",
}  # fmt: skip
"""Types of columns that LCIO has: no integers of 8 bytes, none of 4 without a sign."""


def problem_of(name: str, kind: str) -> str:
    """Why a column cannot be in a file of LCIO; "" if it can."""
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
