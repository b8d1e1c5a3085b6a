"""Reports for sites and their tools: a framework job report in XML, lumis by node, checksums of the
outputs."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import numpy.typing as npt

from forkrun.base.destinations import DatasetApart, datasets_in, destinations_in
from forkrun.base.durable import output_errors, read_json, write_json, write_text
from forkrun.base.lumis import Keys
from forkrun.batch.course import read_course
from forkrun.errors import EVENTS_LEFT_OUT
from forkrun.plan.model import Plan, Units, read_plan
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit
from forkrun.rundir.lumi_accounting import golden_json
from forkrun.rundir.nodes import NodeRanges, is_on_nodes, read_commits
from forkrun.rundir.opening import check_no_link

_CHUNK = 1 << 22
_CMS_CODES = {0: 0, 1: 8003, 2: 7002, 3: 8021, 4: 8033, 5: 8001, 6: 8001, 7: 8001, 8: 0, 9: 50664,
              10: 10032}  # fmt: skip
_ANY_FAILURE = 8001
Flags = npt.NDArray[np.bool_]
Lumi = tuple[int, int]
"""Run and lumi."""


def cms_code(code: int) -> int:
    """Exit code in the numbering of CRAB; a signal's 128 + n is the same there."""
    return code if code >= 128 else _CMS_CODES.get(code, _ANY_FAILURE)


def write_site_formats(folder: RunDirectory, report: Mapping[str, Any]) -> list[Path]:
    """Writes the reports into `site/`; returns the files. `report`: as in report.json. Raises
    InputError or OutputError."""
    check_no_link(folder.site)
    plan = read_plan(folder)
    commits = read_commits(folder)
    sums = {str(file.relative_to(folder.path)): checksums(file) for file in outputs(folder)}
    files = {name: folder.site / name for name in ("FrameworkJobReport.xml", "checksums.json",
                                                   "lumisByNode.json")}  # fmt: skip
    with output_errors(folder.site):
        folder.site.mkdir(exist_ok=True)
    root = _job_report(folder, plan, _is_done(plan, commits), report, sums)
    Xml.indent(root, " ")
    write_text(files["FrameworkJobReport.xml"], Xml.tostring(root, "unicode") + "\n")
    write_json(files["checksums.json"], sums)
    write_json(files["lumisByNode.json"], _lumis_by_node(folder, plan, commits), indent=None)
    return list(files.values())


def checksums(file: Path) -> dict[str, Any]:
    """Size, Adler-32 as storage systems print it, and SHA-256."""
    adler, sha, n_bytes = 1, hashlib.sha256(), 0
    with file.open("rb") as stream:
        while data := stream.read(_CHUNK):
            adler, n_bytes = zlib.adler32(data, adler), n_bytes + len(data)
            sha.update(data)
    return {"n_bytes": n_bytes, "adler32": f"{adler:08x}", "sha256": sha.hexdigest()}


def outputs(folder: RunDirectory) -> Iterator[Path]:
    """Outputs of a run: merged files, files per lumi, Parquet, accumulators."""
    parquet = map(folder.parquet_of, folder.merged_files())
    for place in (*folder.merged_files(), *parquet, folder.accumulators):
        if place.is_file():
            yield place
        elif place.is_dir():
            yield from sorted(place.glob("*.root"))


def _is_done(plan: Plan, commits: Iterable[Commit]) -> Flags:
    """(n_units,)"""
    done = np.zeros(len(plan.units), dtype=np.bool_)
    for commit in commits:
        done[commit.places] = True
    return done


def _lumis(units: Units, chosen: Any) -> Iterator[Lumi]:
    return zip(units.run[chosen].tolist(), units.lumi[chosen].tolist(), strict=True)


def _lumis_by_node(
    folder: RunDirectory, plan: Plan, commits: Sequence[Commit]
) -> dict[str, dict[str, Any]]:
    """Lumis with processed events, by number of the node; two nodes may share a lumi. With several
    datasets, by name of the dataset, too."""
    ranges = NodeRanges.read(folder) if is_on_nodes(folder) else NodeRanges((0,), ())
    found: list[dict[int, list[Keys]]] = [{} for _ in range(max(len(ranges), 1))]
    keys = plan.units.lumi_key
    for commit in commits:
        of_node = found[ranges.node_of(commit.unit) if len(ranges) else 0]
        of_node.setdefault(commit.dataset, []).append(keys[commit.places])
    datasets = datasets_in(read_json(folder.config))
    return {
        str(number): _golden_json(of_node, datasets, keys[:0])
        for number, of_node in enumerate(found)
    }


def _golden_json(
    lumis: Mapping[int, Sequence[Keys]], datasets: Mapping[int, DatasetApart], none: Keys
) -> dict[str, Any]:
    """`lumis`: by number of the dataset."""
    if not datasets:
        return golden_json(np.concatenate([none, *lumis.get(0, ())]))
    return {
        datasets[n].name: golden_json(np.concatenate(of_one)) for n, of_one in sorted(lumis.items())
    }


# --- the job report -------------------------------------------------------------------------------


def _job_report(
    folder: RunDirectory,
    plan: Plan,
    done: Flags,
    report: Mapping[str, Any],
    sums: Mapping[str, Mapping[str, Any]],
) -> Xml.Element:
    root = Xml.Element("FrameworkJobReport")
    units = plan.units
    of_range = np.repeat(np.arange(len(done)), np.diff(units.first_range))
    by_file = np.argsort(units.file, kind="stable")
    ends = np.searchsorted(units.file, np.arange(len(plan.files) + 1), sorter=by_file)
    for number, path in enumerate(plan.files):
        of_file = by_file[ends[number] : ends[number + 1]]
        own = of_file[done[of_range[of_file]]]
        n_events = int((units.last - units.first)[own].sum())
        if n_events:
            _input_file(root, path, plan.identities[number][0], n_events, plan, of_range[own])
    events = {output["label"]: output for output in report["events"]["outputs"]}
    wanted = {each.name: each.dataset for each in destinations_in(read_json(folder.config))}
    for file, known in sums.items():
        inside = Path(file).relative_to(folder.output.name)
        names = (str(inside.with_suffix("")), str(inside.parent))
        name = next((name for name in names if name in events), None)
        if name is not None:
            texts = {"PFN": str(folder.path / file), "ModuleLabel": name}
            _output_file(root, texts, events[name], known, plan, done, wanted[name])
    if report["job"]["outcome"] != "done":
        code, text = _failure(folder), report["job"]["problem"] or report["job"]["outcome"]
        failed = Xml.SubElement(root, "FrameworkError", ExitStatus=str(code), Type="forkrun")
        failed.text = str(text)
    return root


def _failure(folder: RunDirectory) -> int:
    if is_on_nodes(folder):
        numbers = range(len(NodeRanges.read(folder)))
        for code in (read_course(folder, number).last_code for number in numbers):
            if code not in (None, 0, EVENTS_LEFT_OUT):
                return cms_code(int(code or 0))
    return _ANY_FAILURE


def _input_file(
    root: Xml.Element, path: str, uuid: str, n_events: int, plan: Plan, units: Any
) -> None:
    file = Xml.SubElement(root, "InputFile")
    texts = {
        "LFN": _logical(path), "PFN": path, "Catalog": "", "InputType": "primaryFiles",
        "ModuleLabel": "source", "GUID": uuid, "InputSourceClass": "forkrun",
        "EventsRead": str(n_events),
    }  # fmt: skip
    _add(file, texts)
    _add_lumis(file, _lumis(plan.units, units))


def _output_file(
    root: Xml.Element,
    texts: Mapping[str, str],
    events: Mapping[str, Any],
    known: Mapping[str, Any],
    plan: Plan,
    done: Flags,
    dataset: int | None,
) -> None:
    """`texts`: place and name of the file; `dataset`: the only one whose events it has."""
    file = Xml.SubElement(root, "File")
    _add(file, {
        "LFN": "", "PFN": texts["PFN"], "Catalog": "", "ModuleLabel": texts["ModuleLabel"],
        "OutputModuleClass": "forkrun", "TotalEvents": str(events["n_events_merged"]),
        "Size": str(known["n_bytes"]),
    })  # fmt: skip
    for kind in ("adler32", "sha256"):
        Xml.SubElement(file, "Checksum", Algorithm=kind).text = str(known[kind])
    own = done if dataset is None else done & (plan.dataset_of_units == dataset)
    _add_lumis(file, _lumis(plan.units, own))
    inputs = Xml.SubElement(file, "Inputs")
    for number, source in enumerate(plan.files):
        if dataset is None or plan.datasets[number] == dataset:
            _add(Xml.SubElement(inputs, "Input"), {"LFN": _logical(source), "PFN": source})


def _logical(path: str) -> str:
    """Logical file name of CMS, `/store/…`, in a path or URL; "" without one."""
    _, store, rest = path.partition("/store/")
    return f"{store}{rest}" if store else ""


def _add(element: Xml.Element, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        Xml.SubElement(element, name).text = text


def _add_lumis(element: Xml.Element, lumis: Iterable[Lumi]) -> None:
    runs = Xml.SubElement(element, "Runs")
    of_run: dict[int, Xml.Element] = {}
    for run, lumi in sorted(set(lumis)):
        if run not in of_run:
            of_run[run] = Xml.SubElement(runs, "Run", ID=str(run))
        Xml.SubElement(of_run[run], "LumiSection", ID=str(lumi))
