"""What sites read of a run."""

from __future__ import annotations

import hashlib
import json
import tarfile
import zlib
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from forkrun.batch.site_formats import cms_code, outputs
from forkrun.errors import EVENTS_LEFT_OUT, BatchError, ConfigError, InputError, OutOfTimeError
from forkrun.rundir.directory import RunDirectory
from tests.batch.jobs import Job
from tests.support.jobs import forkrun


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job.make(tmp_path_factory.mktemp("job"), n_lumis=6)


def _report(run: Path) -> Xml.Element:
    ended = forkrun("report", run, "--no-plots", "--site", cwd=run.parent)
    assert ended.code == 0, ended.err
    return Xml.parse(run / "site/FrameworkJobReport.xml").getroot()


def _lumis(element: Xml.Element) -> dict[int, list[int]]:
    return {
        int(run.attrib["ID"]): [int(lumi.attrib["ID"]) for lumi in run]
        for run in element.findall("Runs/Run")
    }


def test_a_run_has_a_framework_job_report(job: Job) -> None:
    run = job.folder / "one"
    root = _report(run)
    inputs = root.findall("InputFile")
    assert [each.findtext("PFN") for each in inputs] == [
        str(job.folder / name) for name in ("a.root", "b.root")
    ]
    assert [each.findtext("EventsRead") for each in inputs] == ["60", "60"]
    processed = json.loads((run / "processedLumis.json").read_bytes())
    assert _lumis(inputs[0]) == {
        int(number): [n for first, last in ranges for n in range(first, last + 1)]
        for number, ranges in processed.items()
    }
    outputs = {each.findtext("ModuleLabel"): each for each in root.findall("File")}
    assert outputs.keys() == {"skim", "all"}
    assert outputs["all"].findtext("TotalEvents") == "120"
    assert len(outputs["all"].findall("Inputs/Input")) == 2
    assert root.find("FrameworkError") is None


def test_checksums_are_those_of_the_files(job: Job) -> None:
    run = job.folder / "one"
    root = _report(run)
    sums = json.loads((run / "site/checksums.json").read_bytes())
    assert {"output/all.root", "output/skim.root", "output/accumulators.json"} <= sums.keys()
    data = (run / "output/all.root").read_bytes()
    assert sums["output/all.root"] == {
        "n_bytes": len(data),
        "adler32": f"{zlib.adler32(data):08x}",
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    (file,) = (each for each in root.findall("File") if each.findtext("ModuleLabel") == "all")
    told = {each.attrib["Algorithm"]: each.text for each in file.findall("Checksum")}
    assert told["adler32"] == sums["output/all.root"]["adler32"]


def test_lumis_are_told_by_node_and_a_failure_with_its_code(job: Job) -> None:
    run = job.folder / "nodes"
    in_order = ("--set", "source.order=lumi")  # files have the same lumis: a node has whole ones
    assert job.submit(run, "--nodes", 2, "--dry-run", *in_order).code == 0
    assert forkrun("node", run, 1, "-q", cwd=job.folder).code == 0
    assert forkrun("collect", run, "--partial", "-q", cwd=job.folder).code == 11
    failed = _report(run).find("FrameworkError")
    assert failed is not None
    assert failed.attrib["ExitStatus"] == "8001"
    first, second = json.loads((run / "site/lumisByNode.json").read_bytes()).values()
    assert first == {}
    with tarfile.open(run / "nodes/0001/records.tar") as records:
        own = records.extractfile("processedLumis.json")
        assert own is not None
        assert second == json.load(own) != {}


def test_exit_codes_are_those_that_users_of_crab_know() -> None:
    assert [cms_code(code) for code in (0, EVENTS_LEFT_OUT, 137)] == [0, 0, 137]
    kinds = (ConfigError, InputError, OutOfTimeError, BatchError)
    assert [cms_code(kind.exit_code) for kind in kinds] == [7002, 8021, 50664, 10032]


def test_outputs_are_all_that_a_run_has_made(tmp_path: Path) -> None:
    """In Parquet as well."""
    folder = RunDirectory(tmp_path)
    made = ["events.parquet", "events.root", "histograms.root", "by_lumi/1-1.root"]
    for name in (*made, "by_lumi/files.json", "events.root.part"):
        (folder.output / name).parent.mkdir(parents=True, exist_ok=True)
        (folder.output / name).touch()
    assert sorted(str(file.relative_to(folder.output)) for file in outputs(folder)) == sorted(made)
