"""Paths of everything that a run leaves. Their names are defined here and nowhere else."""

from __future__ import annotations

import shlex
from pathlib import Path

from msgspec import Struct

from forkrun.base.durable import json_object, read_json
from forkrun.errors import InputError

_RESULTS = (
    "output",
    "partial",
    "site",
    "report.json",
    "report.txt",
    "plots",
    "timing.json",
    "trace.json",
)
_FOLDERS = ("ledger", "units", "logs", "monitoring", "output")
_BATCH_FOLDERS = ("parts", "ends", "logs", "merge", "code")
_RECORD_FOLDERS = (*_FOLDERS, "batch", "nodes", "sums")
_ENTRIES = frozenset((
    *_RESULTS, *_FOLDERS, "config.json", "plan.json", "conditions.json", "fingerprint.json",
    "lumis.json", "outputs.json", "processedLumis.json", "failedLumis.json",
    "notFinishedLumis.json", "lock", "batch", "nodes", "sums",
    "units.tar",
))  # fmt: skip


_BESIDE_OUTPUTS = {".json", ".parquet", ".part"}
"""Suffixes of what is in the folder of merged files and is none."""


class RunDirectory(Struct, frozen=True):
    """Names; `rundir.start` makes what they stand for."""

    path: Path

    @property
    def quoted(self) -> str:
        """The path, for hints that users paste into a shell."""
        return shlex.quote(str(self.path))

    # --- what the job is --------------------------------------------------------------------------

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def plan(self) -> Path:
        return self.path / "plan.json"

    @property
    def conditions(self) -> Path:
        return self.path / "conditions.json"

    @property
    def fingerprint(self) -> Path:
        return self.path / "fingerprint.json"

    @property
    def input_lumis(self) -> Path:
        return self.path / "lumis.json"

    @property
    def output_contents(self) -> Path:
        """What outputs hold."""
        return self.path / "outputs.json"

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    # --- what was done ----------------------------------------------------------------------------

    @property
    def ledger(self) -> Path:
        """Folder of the ledgers."""
        return self.path / "ledger"

    def child_ledgers(self, child: int) -> list[Path]:
        """Ledgers of all processes that were this child, in no order."""
        return list(self.ledger.glob(f"child-{child:03d}.*"))

    @property
    def merge_summary(self) -> Path:
        """Summary of a merge of everything."""
        return self.ledger / "merge.json"

    @property
    def partial_merge_summary(self) -> Path:
        """Summary of a merge of a job that was stopped."""
        return self.ledger / "partial-merge.json"

    @property
    def units(self) -> Path:
        """Folder of the temporary outputs."""
        return self.path / "units"

    @property
    def sums(self) -> Path:
        """Folder of a node's histograms and accumulators, added up."""
        return self.path / "sums"

    def unit(self, number: int) -> str:
        """Folder of the temporary outputs of a unit."""
        return unit_folder(str(self.units), number)

    @property
    def processed_lumis(self) -> Path:
        return self.path / "processedLumis.json"

    @property
    def failed_lumis(self) -> Path:
        return self.path / "failedLumis.json"

    @property
    def not_finished_lumis(self) -> Path:
        return self.path / "notFinishedLumis.json"

    # --- a job on many nodes ----------------------------------------------------------------------

    @property
    def batch(self) -> Path:
        """Folder of what was given to a batch system; only of a job on many nodes."""
        return self.path / "batch"

    @property
    def node_ranges(self) -> Path:
        """Which units of the plan each node has."""
        return self.batch / "nodes.json"

    def node_part(self, number: int) -> Path:
        """A node's part of the plan."""
        return self.batch / "parts" / f"{number:04d}.json"

    @property
    def code(self) -> Path:
        """Copies of the job's code."""
        return self.batch / "code"

    @property
    def found_out(self) -> Path:
        """What was found out of modules when the job was submitted."""
        return self.batch / "found.json"

    @property
    def submissions(self) -> Path:
        """What was submitted, a line each."""
        return self.batch / "submitted.jsonl"

    @property
    def kills(self) -> Path:
        """Which nodes users have asked to end, a line each time."""
        return self.batch / "killed.jsonl"

    def node_ends(self, number: int) -> Path:
        """How the processes of a node ended, a line each."""
        return self.batch / "ends" / f"{number:04d}.jsonl"

    def batch_log(self, number: int) -> Path:
        """What the processes of a node said."""
        return self.batch / "logs" / f"{number:04d}.log"

    @property
    def merge_log(self) -> Path:
        """What jobs said that merge the outputs."""
        return self.batch / "logs" / "merge.log"

    @property
    def staged_out(self) -> Path:
        """Which outputs were copied to storage."""
        return self.batch / "staged-out.json"

    @property
    def output_cuts(self) -> Path:
        """Where outputs are cut into parts that jobs of their own make."""
        return self.batch / "merge" / "cuts.json"

    def output_part(self, number: int) -> Path:
        """Folder of a part of the outputs."""
        return self.batch / "merge" / f"{number:04d}"

    @property
    def nodes(self) -> Path:
        """Folder of the run directories of nodes."""
        return self.path / "nodes"

    @staticmethod
    def name_of_node(number: int) -> str:
        """A node's run directory, relative to this one."""
        return f"nodes/{number:04d}"

    def node(self, number: int) -> RunDirectory:
        """The run directory of a node."""
        return RunDirectory(self.path / self.name_of_node(number))

    # --- what comes out ---------------------------------------------------------------------------

    @property
    def output(self) -> Path:
        """Folder of the merged files."""
        return self.path / "output"

    def merged(self, label: str, per_lumi: bool = False, suffix: str = ".root") -> Path:
        """The merged file of an output, or the folder of its files by lumi."""
        return self.output / label if per_lumi else self.output / f"{label}{suffix}"

    @staticmethod
    def parquet_of(merged: Path) -> Path:
        """The file in Parquet beside the merged one."""
        return merged.with_name(f"{merged.name.removesuffix('.root')}.parquet")

    @property
    def partial_output(self) -> Path:
        """Folder of merged files of a job of which something is missing."""
        return self.path / "partial"

    @property
    def histograms(self) -> Path:
        """The merged histograms."""
        return self.merged("histograms")

    @property
    def histograms_json(self) -> Path:
        """The same by the schema of UHI."""
        return self.output / "histograms.json"

    @property
    def accumulators(self) -> Path:
        """The merged accumulators."""
        return self.output / "accumulators.json"

    def merged_files(self) -> list[Path]:
        """Merged files that exist, and folders of files by lumi."""
        files = (p for p in self.output.glob("*.*") if p.suffix not in _BESIDE_OUTPUTS)
        return sorted([*files, *(p.parent for p in self.lists_of_files())])

    def lists_of_files(self) -> list[Path]:
        """Lists of the files of outputs that have one for each lumi."""
        return list(self.output.glob("*/files.json"))

    @property
    def report_json(self) -> Path:
        return self.path / "report.json"

    @property
    def report_text(self) -> Path:
        return self.path / "report.txt"

    @property
    def plots(self) -> Path:
        """Folder of the report's plots."""
        return self.path / "plots"

    @property
    def timing(self) -> Path:
        """Times of modules."""
        return self.path / "timing.json"

    @property
    def trace(self) -> Path:
        return self.path / "trace.json"

    @property
    def records(self) -> Path:
        """What a node that is done has noted of its work, in one file; only of nodes."""
        return self.path / "records.tar"

    @property
    def packed_units(self) -> Path:
        """What the units of a node that is done have written, in one file; only of nodes."""
        return self.path / "units.tar"

    @property
    def site(self) -> Path:
        """Folder of what sites and their tools read."""
        return self.path / "site"

    # --- how it went ------------------------------------------------------------------------------

    @property
    def monitoring(self) -> Path:
        """Folder of what was observed."""
        return self.path / "monitoring"

    @property
    def samples(self) -> Path:
        return self.monitoring / "samples.jsonl"

    @property
    def timeline(self) -> Path:
        return self.monitoring / "events.jsonl"

    @property
    def host(self) -> Path:
        return self.monitoring / "host.json"

    @property
    def sampler(self) -> Path:
        """What sampling cost."""
        return self.monitoring / "sampler.json"

    def child_timing(self, child: int) -> Path:
        """Times of modules in a process that is the first to be this child."""
        return self.monitoring / f"timing-{child:03d}.json"

    def child_timings(self) -> list[Path]:
        """Timing files of all children's processes."""
        return sorted(self.monitoring.glob("timing-*.json"))

    def child_trace(self, child: int) -> Path:
        """Calls one by one of a process that is the first to be this child."""
        return self.monitoring / f"trace-{child:03d}.npy"

    def child_traces(self) -> list[Path]:
        """Trace files of all children's processes."""
        return sorted(self.monitoring.glob("trace-*.npy"))

    def unshared(self, what: str) -> Path:
        """A file for `measure unshared`: `pages.npz`, `objects.npz`, `names.json`, `maps.txt`."""
        return self.monitoring / f"unshared-{what}"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def parent_log(self) -> Path:
        return self.logs / "parent.log"

    def log(self, name: str, parent_pid: int) -> Path:
        """Log of a process of this parent: `name` is `child-003` or `merge`."""
        return self.logs / f"{parent_pid}-{name}.log"

    def logs_of(self, child: int) -> list[Path]:
        """Logs of all processes that were this child; the last one is the newest."""
        logs = self.logs.glob(f"*-child-{child:03d}.log")
        return sorted(logs, key=lambda log: log.stat().st_mtime)

    # --- its state --------------------------------------------------------------------------------

    def is_finished(self) -> bool:
        """Whether all of the run was merged."""
        return self.merge_summary.exists()

    def is_run_directory(self) -> bool:
        """Whether a run of ours made it. Raises InputError if the disk does not tell."""
        try:
            return {"job", "source", "forking"} <= json_object(self.config).keys()
        except OSError as error:
            raise InputError(f"{self.config}: cannot be read: {error.strerror}") from error

    def has_good_report(self) -> bool:
        """Whether the report says that the run is done."""
        job = read_json(self.report_json).get("job", {})
        return bool(job.get("outcome") == "done")

    @property
    def entries(self) -> frozenset[str]:
        """All names directly in it."""
        return _ENTRIES

    @property
    def folders(self) -> tuple[str, ...]:
        """Names of the folders that a run begins with."""
        return _FOLDERS

    @property
    def record_folders(self) -> list[Path]:
        """Folders that hold what was asked for and what was done."""
        batch = [self.batch / name for name in _BATCH_FOLDERS]
        return [self.path / name for name in _RECORD_FOLDERS] + batch

    @property
    def results(self) -> tuple[str, ...]:
        """Names of the files and folders that a merge and a report make."""
        return _RESULTS


def unit_folder(units: str, number: int) -> str:
    """Folder of the temporary outputs of a unit, in the folder `units` of all of them."""
    return f"{units}/{number:06d}"


def unused(path: Path) -> Path:
    """The path, or with a number before its suffix the first one that does not exist: x.jsonl,
    x.1.jsonl, …"""
    number, candidate = 0, path
    while candidate.exists():
        number += 1
        candidate = path.with_suffix(f".{number}{path.suffix}")
    return candidate
