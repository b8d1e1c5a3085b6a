"""Paths of everything that a run leaves. Their names are defined here and nowhere else."""

from __future__ import annotations

import os
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
    "report.html",
    "plots",
    "timing.json",
    "trace.json",
)
LUMIS = {
    "processed": "processedLumis", "failed": "failedLumis", "not_finished": "notFinishedLumis",
}  # fmt: skip
"""Names of the files of `LumiAccounting`, or of several datasets of the folders."""
_FOLDERS = ("ledger", "units", "logs", "monitoring", "output")
_BATCH_FOLDERS = ("parts", "ends", "logs", "merge", "code")
_RECORD_FOLDERS = (*_FOLDERS, "results", "batch", "nodes", "sums", *LUMIS.values())
_ENTRIES = frozenset((
    *_RESULTS, *_FOLDERS, "config.json", "plan.json", "conditions.json", "fingerprint.json",
    "lumis.json", "datasets.json", "outputs.json", "results.json", "results", "lock", "batch",
    "nodes", "sums", "units.tar",
    *(f"{name}{suffix}" for name in LUMIS.values() for suffix in ("", ".json")),
))  # fmt: skip


def _is_beside_output(file: Path) -> bool:
    """Whether a file among the merged ones is none, or the Parquet file of another."""
    is_second = file.suffix == ".parquet" and file.with_suffix(".root").exists()
    return file.suffix in (".json", ".part") or is_second


class _Place:
    """Path of a file or folder, by its name in the run directory."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, run: RunDirectory, _: type[RunDirectory]) -> Path:
        return run.path / self._name


class RunDirectory(Struct, frozen=True):
    """Names; `rundir.start` makes what they stand for."""

    path: Path

    @property
    def quoted(self) -> str:
        """The path, for hints that users paste into a shell."""
        return shlex.quote(str(self.path))

    # --- what the job is --------------------------------------------------------------------------

    config = _Place("config.json")
    plan = _Place("plan.json")
    conditions = _Place("conditions.json")
    fingerprint = _Place("fingerprint.json")
    input_lumis = _Place("lumis.json")
    datasets = _Place("datasets.json")
    """What is known of several datasets: `sums_of_weights`, by name; `weights_are_normalised`:
    whether those of the cutflow are."""
    results_record = _Place("results.json")
    """What results depend on, and which of them are kept of earlier runs."""
    stored = _Place("results")
    """Folder of results that later runs may keep."""
    output_contents = _Place("outputs.json")
    """What outputs hold."""
    lock = _Place("lock")

    # --- what was done ----------------------------------------------------------------------------

    ledger = _Place("ledger")
    """Folder of the ledgers."""

    def child_ledgers(self, child: int) -> list[Path]:
        """Ledgers of all processes that were this child, in no order."""
        begin = f"child-{child:03d}."
        names = os.listdir(self.ledger) if self.ledger.is_dir() else ()
        return [self.ledger / name for name in names if name.startswith(begin)]

    merge_summary = _Place("ledger/merge.json")
    """Summary of a merge of everything."""
    partial_merge_summary = _Place("ledger/partial-merge.json")
    """Summary of a merge of a job that was stopped."""
    files_left_out = _Place("ledger/files-left-out.json")
    """Files that could not be read, with the reason, and whether the plan has their events."""
    units = _Place("units")
    """Folder of the temporary outputs."""
    sums = _Place("sums")
    """Folder of a node's histograms and accumulators, added up."""

    def unit(self, number: int) -> str:
        """Folder of the temporary outputs of a unit."""
        return unit_folder(str(self.units), number)

    @property
    def lumi_folders(self) -> list[Path]:
        """Folders of lumis of datasets, there or not."""
        return [self.path / name for name in LUMIS.values()]

    def lumis(self, kind: str, dataset: str = "") -> Path:
        """Lumis of a kind of `LumiAccounting`: of all events, or of a dataset of several."""
        return self.path / (f"{LUMIS[kind]}/{dataset}.json" if dataset else f"{LUMIS[kind]}.json")

    # --- a job on many nodes ----------------------------------------------------------------------

    batch = _Place("batch")
    """Folder of what was given to a batch system; only of a job on many nodes."""
    node_ranges = _Place("batch/nodes.json")
    """Which units of the plan each node has."""

    def node_part(self, number: int) -> Path:
        """A node's part of the plan."""
        return self.batch / "parts" / f"{number:04d}.json"

    code = _Place("batch/code")
    """Copies of the job's code."""
    found_out = _Place("batch/found.json")
    """What was found out of modules when the job was submitted."""
    submissions = _Place("batch/submitted.jsonl")
    """What was submitted, a line each."""
    kills = _Place("batch/killed.jsonl")
    """Which nodes users have asked to end, a line each time."""

    def node_ends(self, number: int) -> Path:
        """How the processes of a node ended, a line each."""
        return self.batch / "ends" / f"{number:04d}.jsonl"

    def batch_log(self, number: int) -> Path:
        """What the processes of a node said."""
        return self.batch / "logs" / f"{number:04d}.log"

    packed_nodes = _Place("batch/nodes.tar")
    """Parts, ends and logs of nodes of a job that was collected, in one file."""
    merge_log = _Place("batch/logs/merge.log")
    """What jobs said that merge the outputs."""
    staged_out = _Place("batch/staged-out.json")
    """Which outputs were copied to storage."""
    output_cuts = _Place("batch/merge/cuts.json")
    """Where outputs are cut into parts that jobs of their own make."""

    def output_part(self, number: int) -> Path:
        """Folder of a part of the outputs."""
        return self.batch / "merge" / f"{number:04d}"

    nodes = _Place("nodes")
    """Folder of the run directories of nodes."""

    @staticmethod
    def name_of_node(number: int) -> str:
        """A node's run directory, relative to this one."""
        return f"nodes/{number:04d}"

    def node(self, number: int) -> RunDirectory:
        """The run directory of a node."""
        return RunDirectory(self.path / self.name_of_node(number))

    # --- what comes out ---------------------------------------------------------------------------

    output = _Place("output")
    """Folder of the merged files."""
    outputs_of_node = _Place("output/made.json")
    """What a node has made of the outputs; only of nodes that make their parts."""

    def merged(self, label: str, per_lumi: bool = False, suffix: str = ".root") -> Path:
        """The merged file of an output, or the folder of its files by lumi."""
        return self.output / label if per_lumi else self.output / f"{label}{suffix}"

    @staticmethod
    def parquet_of(merged: Path) -> Path:
        """The file in Parquet beside the merged one."""
        return merged.with_name(f"{merged.name.removesuffix('.root')}.parquet")

    partial_output = _Place("partial")
    """Folder of merged files of a job of which something is missing."""
    histograms = _Place("output/histograms.root")
    """The merged histograms."""
    histograms_json = _Place("output/histograms.json")
    """The same by the schema of UHI."""
    accumulators = _Place("output/accumulators.json")
    """The merged accumulators."""

    def merged_files(self) -> list[Path]:
        """Merged files that exist, and folders of files by lumi."""
        lists = (p for depth in ("*", "*/*") for p in self.output.glob(f"{depth}/files.json"))
        by_lumi = {file.parent for file in lists}
        files = [p for depth in ("*.*", "*/*.*") for p in self.output.glob(depth) if p.is_file()]
        own = [p for p in files if p.parent not in by_lumi and not _is_beside_output(p)]
        return sorted([*own, *by_lumi])

    pictures = _Place("monitoring/histograms.json")
    """Histograms as the report's page draws them."""
    report_page = _Place("report.html")
    report_json = _Place("report.json")
    report_text = _Place("report.txt")
    plots = _Place("plots")
    """Folder of the report's plots."""
    timing = _Place("timing.json")
    """Times of modules."""
    trace = _Place("trace.json")
    records = _Place("records.tar")
    """What a node that is done has noted of its work, in one file; only of nodes."""
    packed_units = _Place("units.tar")
    """What the units of a node that is done have written, in one file; only of nodes."""
    site = _Place("site")
    """Folder of what sites and their tools read."""

    # --- how it went ------------------------------------------------------------------------------

    monitoring = _Place("monitoring")
    """Folder of what was observed."""
    samples = _Place("monitoring/samples.jsonl")
    timeline = _Place("monitoring/events.jsonl")
    host = _Place("monitoring/host.json")
    sampler = _Place("monitoring/sampler.json")
    """What sampling cost."""

    def child_timing(self, child: int) -> Path:
        """Times of modules in a process that is the first to be this child."""
        return self.monitoring / f"timing-{child:03d}.json"

    def child_timings(self) -> list[Path]:
        """Timing files of all children's processes."""
        return sorted(self.monitoring.glob("timing-*.json"))

    def child_course(self, child: int) -> Path:
        """How threads of a process that is the first to be this child spent their time."""
        return self.monitoring / f"course-{child:03d}.json"

    def child_courses(self) -> list[Path]:
        """Files of all children's processes that say how their threads spent their time."""
        return sorted(self.monitoring.glob("course-*.json"))

    def child_trace(self, child: int) -> Path:
        """Calls one by one of a process that is the first to be this child."""
        return self.monitoring / f"trace-{child:03d}.npy"

    def child_traces(self) -> list[Path]:
        """Trace files of all children's processes."""
        return sorted(self.monitoring.glob("trace-*.npy"))

    unshared_pages = _Place("monitoring/unshared-pages.npz")
    """For `measure unshared`: pages that became private, by child."""
    unshared_objects = _Place("monitoring/unshared-objects.npz")
    unshared_names = _Place("monitoring/unshared-names.json")
    """Names of owners and types of objects, by number."""
    unshared_maps = _Place("monitoring/unshared-maps.txt")
    """Mappings of the parent."""

    def unshared_imports(self, child: int) -> Path:
        """What a child has imported, by label of the module that did so."""
        return self.monitoring / f"unshared-imports-{child:03d}.json"

    def all_unshared_imports(self) -> list[Path]:
        """Those files of all children."""
        return sorted(self.monitoring.glob("unshared-imports-*.json"))

    logs = _Place("logs")
    parent_log = _Place("logs/parent.log")

    def log(self, name: str, parent_pid: int) -> Path:
        """Log of a process of this parent: `name` is `child-003` or `merge`."""
        return self.logs / f"{parent_pid}-{name}.log"

    def existing_logs(self, child: int) -> list[Path]:
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
