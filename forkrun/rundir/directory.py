"""Paths of all files of a run. Their names are defined here and nowhere else."""

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
"""Names of the files of `LumiAccounting`; with several datasets, names of folders."""
_FOLDERS = ("ledger", "units", "logs", "monitoring", "output")
_BATCH_FOLDERS = ("parts", "ends", "logs", "merge", "code")
_RECORD_FOLDERS = (*_FOLDERS, "results", "batch", "nodes", "sums", *LUMIS.values())
_ENTRIES = frozenset((
    *_RESULTS, *_FOLDERS, "config.json", "plan.json", "conditions.json", "fingerprint.json",
    "lumis.json", "datasets.json", "outputs.json", "results.json", "results", "lock", "batch",
    "nodes", "sums", "units.tar",
    *(f"{name}{suffix}" for name in LUMIS.values() for suffix in ("", ".json")),
))  # fmt: skip


class _Place:
    """Path of a file or folder, by its name in the run directory."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, run: RunDirectory, _: type[RunDirectory]) -> Path:
        return run.path / self._name


class RunDirectory(Struct, frozen=True):
    """Names of files and folders; `rundir.opening` makes them."""

    path: Path

    @property
    def quoted(self) -> str:
        """The path, for hints that users paste into a shell."""
        return shlex.quote(str(self.path))

    # --- description of the job -------------------------------------------------------------------

    config = _Place("config.json")
    plan = _Place("plan.json")
    conditions = _Place("conditions.json")
    fingerprint = _Place("fingerprint.json")
    input_lumis = _Place("lumis.json")
    datasets = _Place("datasets.json")
    """Records of several datasets: `sums_of_weights`, by name; `weights_are_normalised`: whether
    the weights of the cutflow are."""
    results_record = _Place("results.json")
    """Digests of the inputs of each result, and the list of results kept from earlier runs."""
    stored = _Place("results")
    """Folder of results that later runs may keep."""
    output_contents = _Place("outputs.json")
    """Contents of the outputs."""
    lock = _Place("lock")

    # --- committed work ---------------------------------------------------------------------------

    ledger = _Place("ledger")
    """Folder of the ledgers."""

    def child_ledgers(self, child: int) -> list[Path]:
        """Ledgers of all processes of a child, in no order."""
        begin = f"child-{child:03d}."
        names = os.listdir(self.ledger) if self.ledger.is_dir() else ()
        return [self.ledger / name for name in names if name.startswith(begin)]

    merge_summary = _Place("ledger/merge.json")
    """Summary of a complete merge."""
    partial_merge_summary = _Place("ledger/partial-merge.json")
    """Summary of a merge of a stopped job."""
    files_left_out = _Place("ledger/files-left-out.json")
    """Unreadable files, with the reason, and whether the plan includes their events."""
    units = _Place("units")
    """Folder of the temporary outputs."""
    sums = _Place("sums")
    """Folder of a node's summed histograms and accumulators."""

    def unit(self, number: int) -> str:
        """Folder of the temporary outputs of a unit."""
        return unit_folder(str(self.units), number)

    def lumis(self, kind: str, dataset: str = "") -> Path:
        """Lumis of a kind of `LumiAccounting`: of all events, or of one of several datasets."""
        return self.path / (f"{LUMIS[kind]}/{dataset}.json" if dataset else f"{LUMIS[kind]}.json")

    # --- a job on many nodes ----------------------------------------------------------------------

    batch = _Place("batch")
    """Folder of files for the batch system; only for a job on many nodes."""
    node_ranges = _Place("batch/nodes.json")
    """Units of the plan, by node."""

    def node_part(self, number: int) -> Path:
        """A node's part of the plan."""
        return self.batch / "parts" / f"{number:04d}.json"

    code = _Place("batch/code")
    """Copies of the job's code."""
    found_out = _Place("batch/found.json")
    """Findings about modules, made when the job was submitted."""
    submissions = _Place("batch/submitted.jsonl")
    """Submissions, one per line."""
    kills = _Place("batch/killed.jsonl")
    """Nodes that users have asked to stop, one line per request."""

    def node_ends(self, number: int) -> Path:
        """Ends of a node's processes, one per line."""
        return self.batch / "ends" / f"{number:04d}.jsonl"

    def batch_log(self, number: int) -> Path:
        """Log of a node's processes."""
        return self.batch / "logs" / f"{number:04d}.log"

    packed_nodes = _Place("batch/nodes.tar")
    """Parts, ends and logs of the nodes of a collected job, in one file."""
    merge_log = _Place("batch/logs/merge.log")
    """Log of the jobs that merge the outputs."""
    staged_out = _Place("batch/staged-out.json")
    """Outputs that were copied to storage."""
    output_cuts = _Place("batch/merge/cuts.json")
    """Cuts that divide outputs into parts, each made by its own job."""

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

    # --- results ----------------------------------------------------------------------------------

    output = _Place("output")
    """Folder of the merged files."""
    outputs_of_node = _Place("output/made.json")
    """Summary of the outputs made by a node; only for nodes that make their parts."""

    def merged(self, label: str, per_lumi: bool = False, suffix: str = ".root") -> Path:
        """Merged file of an output, or folder of its files by lumi."""
        return self.output / label if per_lumi else self.output / f"{label}{suffix}"

    @staticmethod
    def parquet_of(merged: Path) -> Path:
        """Parquet file next to a merged one."""
        return merged.with_name(f"{merged.name.removesuffix('.root')}.parquet")

    partial_output = _Place("partial")
    """Folder of merged files of an incomplete job."""
    histograms = _Place("output/histograms.root")
    """Merged histograms."""
    histograms_json = _Place("output/histograms.json")
    """Merged histograms in the UHI schema."""
    accumulators = _Place("output/accumulators.json")
    """Merged accumulators."""

    def merged_files(self) -> list[Path]:
        """Merged files that exist, and folders of files by lumi."""
        lists = (p for depth in ("*", "*/*") for p in self.output.glob(f"{depth}/files.json"))
        by_lumi = {file.parent for file in lists}
        files = [p for depth in ("*.*", "*/*.*") for p in self.output.glob(depth) if p.is_file()]
        own = {p for p in files if p.suffix not in (".json", ".part") and p.parent not in by_lumi}
        seconds = {p.with_suffix(".parquet") for p in own if p.suffix == ".root"}
        return sorted(own - seconds | by_lumi)

    pictures = _Place("monitoring/histograms.json")
    """Histograms as drawn on the report's page."""
    report_page = _Place("report.html")
    report_json = _Place("report.json")
    report_text = _Place("report.txt")
    plots = _Place("plots")
    """Folder of the report's plots."""
    timing = _Place("timing.json")
    """Times of modules."""
    trace = _Place("trace.json")
    records = _Place("records.tar")
    """Logs, samples and reports of a finished node, in one file; only for nodes."""
    packed_units = _Place("units.tar")
    """Files written by the units of a finished node, in one file; only for nodes."""
    site = _Place("site")
    """Folder of files for sites and their tools."""

    # --- monitoring -------------------------------------------------------------------------------

    monitoring = _Place("monitoring")
    """Folder of monitoring data."""
    samples = _Place("monitoring/samples.jsonl")
    timeline = _Place("monitoring/events.jsonl")
    host = _Place("monitoring/host.json")
    sampler = _Place("monitoring/sampler.json")
    """Cost of sampling."""

    def child_timing(self, child: int) -> Path:
        """Times of modules in the first process of this child."""
        return self.monitoring / f"timing-{child:03d}.json"

    def child_timings(self) -> list[Path]:
        """Timing files of all child processes."""
        return sorted(self.monitoring.glob("timing-*.json"))

    def child_course(self, child: int) -> Path:
        """Time spent by each thread of the first process of this child, by activity."""
        return self.monitoring / f"course-{child:03d}.json"

    def child_courses(self) -> list[Path]:
        """Thread-activity files of all child processes."""
        return sorted(self.monitoring.glob("course-*.json"))

    def child_trace(self, child: int) -> Path:
        """Individual calls in the first process of this child."""
        return self.monitoring / f"trace-{child:03d}.npy"

    def child_traces(self) -> list[Path]:
        """Trace files of all child processes."""
        return sorted(self.monitoring.glob("trace-*.npy"))

    memory_kinds = _Place("monitoring/memory-kinds.jsonl")
    """With `monitoring.memory_detail`: memory of processes by its use, at few moments."""
    unshared_pages = _Place("monitoring/unshared-pages.npz")
    """Pages that became private, by child."""
    unshared_growth = _Place("monitoring/unshared-growth.json")
    """New memory by child and border."""
    unshared_objects = _Place("monitoring/unshared-objects.npz")
    unshared_names = _Place("monitoring/unshared-names.json")
    """Names of owners and types of objects, and of borders, by number."""
    unshared_maps = _Place("monitoring/unshared-maps.txt")
    """Memory mappings of the parent."""

    def unshared_imports(self, child: int) -> Path:
        """Imports of a child, by label of the importing module."""
        return self.monitoring / f"unshared-imports-{child:03d}.json"

    def all_unshared_imports(self) -> list[Path]:
        """Import files of all children."""
        return sorted(self.monitoring.glob("unshared-imports-*.json"))

    logs = _Place("logs")
    parent_log = _Place("logs/parent.log")

    def log(self, name: str, parent_pid: int) -> Path:
        """Log of a process of this parent: `name` is `child-003` or `merge`."""
        return self.logs / f"{parent_pid}-{name}.log"

    def existing_logs(self, child: int) -> list[Path]:
        """Logs of all processes of a child, newest last."""
        logs = self.logs.glob(f"*-child-{child:03d}.log")
        return sorted(logs, key=lambda log: log.stat().st_mtime)

    # --- state ------------------------------------------------------------------------------------

    def is_finished(self) -> bool:
        """Whether the whole run was merged."""
        return self.merge_summary.exists()

    def is_run_directory(self) -> bool:
        """Whether forkrun made this directory. Raises InputError if its configuration cannot be
        read."""
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
        """All names directly in the run directory."""
        return _ENTRIES

    @property
    def folders(self) -> tuple[str, ...]:
        """Names of the folders made at the start of a run."""
        return _FOLDERS

    @property
    def record_folders(self) -> list[Path]:
        """Folders of the run's records."""
        batch = [self.batch / name for name in _BATCH_FOLDERS]
        return [self.path / name for name in _RECORD_FOLDERS] + batch

    @property
    def results(self) -> tuple[str, ...]:
        """Names of the files and folders made by a merge and a report."""
        return _RESULTS


def unit_folder(units: str, number: int) -> str:
    """Folder of a unit's temporary outputs, in the folder `units` of all units."""
    return f"{units}/{number:06d}"


def unused(path: Path) -> Path:
    """First path that does not exist: `path` itself, or with a number before its suffix: x.jsonl,
    x.1.jsonl, …"""
    number, candidate = 0, path
    while candidate.exists():
        number += 1
        candidate = path.with_suffix(f".{number}{path.suffix}")
    return candidate
