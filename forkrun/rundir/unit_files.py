"""Files written by a child for a unit of work: temporary name, sync, rename."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from forkrun import _core
from forkrun.base.durable import output_errors, sync, write_new
from forkrun.config.outputs import OutputConfig
from forkrun.errors import OutputError
from forkrun.rundir.directory import RunDirectory, unit_folder
from forkrun.rundir.ledger import OutputPart, SumsPart


class UnitFiles:
    """Made in the parent. Paths are strings: `pathlib` for every unit would cost each child time
    and private memory. `run`: the run directory; `ledgers`: the folder of the ledgers."""

    def __init__(self, run: RunDirectory, outputs: Sequence[OutputConfig]) -> None:
        self._place, self._units = f"{run.path}/", str(run.units)
        self.run = run
        self._labels = [output.label for output in outputs]
        self.ledgers = str(run.ledger)

    def folder(self, number: int) -> str:
        """Folder of the unit's temporary outputs."""
        return unit_folder(self._units, number)

    def probe_folder(self, number: int, child: int) -> str:
        """Folder for files written by a probe of a unit; none of them is kept."""
        return f"{self.folder(number)}-probe-{child:03d}"

    def places(self, folder: str) -> dict[str, str]:
        """Temporary output paths, by label; makes the folder."""
        with output_errors(folder):
            _make_folder(folder)
        return {label: f"{folder}/{label}.fragment.part" for label in self._labels}

    def write_sums(self, name: str, pieces: Sequence[bytes | memoryview]) -> SumsPart | None:
        """Writes the unit's histograms or accumulators under their final name; None if there are
        none."""
        if not pieces:
            return None
        with output_errors(name):
            write_new(f"{name}.part", pieces)
        _publish(name)
        n_bytes, checksum = 0, 0  # of the intended content, even if the disk changed it
        for piece in pieces:
            n_bytes += memoryview(piece).nbytes
            checksum = _core.crc32c(piece, checksum)
        return SumsPart(name.removeprefix(self._place), n_bytes, checksum)

    def publish(self, folder: str) -> None:
        """Renames all outputs, which their writer has synced to disk."""
        for label in self._labels:
            _publish(f"{folder}/{label}.fragment")
        with output_errors(folder):
            sync(folder)

    def part(self, folder: str, output: _core.OutputSummary) -> OutputPart:
        """Record of a published output: file, events, size and checksum."""
        name = f"{folder}/{output.label}.fragment".removeprefix(self._place)
        written = output.written
        return OutputPart(name, written.count, written.hex, output.n_bytes, output.checksum)


def _publish(name: str) -> None:
    with output_errors(name):
        os.replace(f"{name}.part", name)


def _make_folder(folder: str) -> None:
    try:
        os.mkdir(folder)
    except FileExistsError:
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            raise OutputError(
                f"{folder}: this is not a folder of temporary outputs; remove it"
            ) from None
