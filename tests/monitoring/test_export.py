"""`forkrun export`: files that tools of others read."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun.cli import main
from forkrun.monitoring.export.formats import FORMATS, metrics
from forkrun.monitoring.export.perfetto import varint
from forkrun.monitoring.records import RunRecords, read_records

from .conftest import MIB, T0, sample_line, sample_lines, timeline_lines

WriteRun = Callable[..., Path]

_MODULES = [
    {
        "label": label, "kind": kind, "concurrency": "unsafe", "inputs": [], "count": 6,
        "total_s": total_s, "cpu_s": total_s / 2, "wait_inputs_s": 0, "wait_queue_s": 0,
        "max_s": 1.0, "bins": [[0.5, 6]],
    }
    for label, kind, total_s in (("Muon_pt", "source column", 1.5), ("dimuon", "producer", 3.0))
]  # fmt: skip


@pytest.fixture
def traced(write_run: WriteRun) -> Path:
    """A run with times of modules, and two calls of child 0 on two threads."""
    run = write_run()
    part = {"modules": _MODULES, "stalls": [], "n_not_traced": 0}
    part |= {"n_events": 600, "cpu_s": 13.5, "wall_s": 27.0}
    (run / "monitoring" / "timing-000.json").write_text(json.dumps(part))
    names = ("thread", "node", "lane", "run", "lumi", "sequence", "start_ns", "end_ns")
    calls = np.zeros(2, dtype=[(name, np.int64) for name in names])
    calls[0] = (0, 0, 0, 1, 1, 7, 5_000_000_000, 5_500_000_000)
    calls[1] = (1, 1, 0, 1, 1, 7, 6_000_000_000, 8_000_000_000)
    np.save(run / "monitoring" / "trace-000.npy", calls)
    return run


def exported(run: Path, name: str) -> bytes:
    return FORMATS[name].write(run, read_records(run))


def test_prmons_script_finds_its_columns_tabs_and_units(write_run: WriteRun) -> None:
    text = exported(write_run(), "prmon").decode()
    assert text.splitlines()[0].split("\t") == [
        "Time",
        "wtime",
        "nprocs",
        "pss",
        "rss",
        "stime",
        "utime",
        "rchar",
    ]
    table = np.loadtxt(io.StringIO(text), skiprows=1)
    assert table[:, 0].tolist() == [T0 + t for t in (1, 5, 10, 17)]
    assert table[:, 1].tolist() == [1, 5, 10, 17]
    assert table[:, 2].tolist() == [1, 4, 4, 1]
    assert table[2, 3:5].tolist() == [160 * 1024, 400 * 1024]
    assert table[:, 6].tolist() == [1, 4, 4, 4]  # what has ended still counts


def test_prmons_summary_has_averages_and_maxima(write_run: WriteRun) -> None:
    summary = json.loads(exported(write_run(), "prmon-json"))
    assert summary["Max"]["rss"] == 400 * 1024
    assert summary["Max"]["wtime"] == 17
    assert summary["Avg"]["nprocs"] == 2.5


def test_gaps_between_sessions_are_no_wall_time_of_prmon(write_run: WriteRun) -> None:
    resumed = {"time_s": T0 + 40, "event": "job_start", "child": None, "pid": 300}
    samples = [*sample_lines(), sample_line(50, None, 40, 60, 1)]
    run = write_run(timeline=[*timeline_lines(), resumed], samples=samples)
    assert json.loads(exported(run, "prmon-json"))["Max"]["wtime"] == 30  # 20 s, and 10 s


def test_the_circles_viewer_finds_every_metric_in_every_module(
    traced: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(traced), "--no-plots"]) == 0  # makes timing.json
    capsys.readouterr()
    content = json.loads(exported(traced, "circles"))
    assert [each["name"] for each in content["resources"]] == ["time_real", "time_thread"]
    assert all({"name", "description", "unit", "title"} <= set(r) for r in content["resources"])
    assert content["total"] == {
        "type": "Job", "label": "dimuon", "events": 600, "time_real": 27_000, "time_thread": 13_500,
    }  # fmt: skip
    assert [(m["label"], m["time_real"], m["time_thread"]) for m in content["modules"]] == [
        ("Muon_pt", 1500, 750), ("dimuon", 3000, 1500),
    ]  # fmt: skip


def test_circles_without_times_of_modules_is_refused(
    write_run: WriteRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(write_run()), "circles"]) == 3
    assert "no times of modules" in capsys.readouterr().err


class Trace:
    """A trace as Perfetto's own descriptors read it."""

    def __init__(self, content: bytes) -> None:
        module: Any = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        self.trace = module.Trace()
        self.trace.ParseFromString(content)
        tracks = [p.track_descriptor for p in self.trace.packet if p.HasField("track_descriptor")]
        self.tracks = {track.uuid: track for track in tracks}
        self.names: dict[int, str] = {}
        self.events: list[tuple[str, int, Any]] = []
        for packet in self.trace.packet:
            self.names |= {each.iid: each.name for each in packet.interned_data.event_names}
            if packet.HasField("track_event"):
                event = packet.track_event
                self.events.append((self._track(event.track_uuid), packet.timestamp, event))

    def _track(self, uuid: int) -> str:
        track = self.tracks[uuid]
        name = track.name or track.thread.thread_name
        parent = self.tracks.get(uuid >> 32 << 32)
        return f"{parent.process.process_name if parent else ''}/{name}"

    def slices(self, track: str) -> list[tuple[str, float, float]]:
        """Name, begin and end [s]."""
        begins = [
            (self.names[e.name_iid], t) for k, t, e in self.events if k == track and e.type == 1
        ]
        ends = [t for k, t, e in self.events if k == track and e.type == 2]
        pairs = zip(begins, ends, strict=True)
        return [(name, begin / 1e9, end / 1e9) for (name, begin), end in pairs]


def test_perfetto_reads_phases_commits_calls_and_memory(traced: Path) -> None:
    trace = Trace(exported(traced, "perfetto"))
    assert trace.slices("parent/phases")[-1] == ("merge", 16, 19)
    assert trace.slices("child 0/commits") == [("unit", 2, 8), ("unit", 9, 15)]
    assert trace.slices("child 0/thread 0") == [("Muon_pt", 2, 2.5)]
    assert trace.slices("child 0/thread 1") == [("dimuon", 3, 5)]
    private = [
        (time, event.counter_value)
        for track, time, event in trace.events
        if track == "child 1/private memory"
    ]
    assert private == [(5 * 10**9, 10 * MIB), (10 * 10**9, 20 * MIB)]


def test_perfetto_has_commits_on_their_threads_and_what_threads_did_against_time(
    traced: Path,
) -> None:
    file = traced / "monitoring" / "trace-000.npy"
    calls = np.load(file)
    others = np.zeros(2, dtype=calls.dtype)
    others[0] = (0, 2, 0, 1, 1, 7, 4_000_000_000, 4_500_000_000)
    others[1] = (1, 3, 0, 1, 1, 7, 8_500_000_000, 9_000_000_000)
    np.save(file, np.concatenate([calls, others]))
    thread = {"name": "thread 0", "reading": [500_000, 0], "unpacking": [0, 250_000]}
    course = {"child": 0, "clock_s": T0 - 3, "start_s": T0 + 1, "piece_s": 0.5, "threads": [
        {**thread, "processing": [0, 0], "committing": [0, 0]},
        {**thread, "name": "thread 1", "processing": [0, 0], "committing": [0, 0]},
    ]}  # fmt: skip
    (traced / "monitoring" / "course-000.json").write_text(json.dumps(course))
    trace = Trace(exported(traced, "perfetto"))
    assert trace.slices("child 0/thread 0") == [("Muon_pt", 2, 2.5), ("loading", 1, 1.5)]
    assert trace.slices("child 0/thread 1") == [("dimuon", 3, 5), ("committing", 5.5, 6)]
    shares = {
        kind: [
            (time * 1e-9, event.double_counter_value)
            for track, time, event in trace.events
            if track == f"child 0/threads {kind}"
        ]
        for kind in ("reading", "unpacking")
    }
    assert shares == {"reading": [(1, 2), (1.5, 0)], "unpacking": [(1, 0), (1.5, 1)]}
    # The trace for people's browsers has calls of modules alone.
    assert main(["report", str(traced)]) == 0
    events = json.loads((traced / "trace.json").read_text())["traceEvents"]
    named = [(event["name"], event["ts"]) for event in events if event["ph"] == "X"]
    assert named == [("Muon_pt", 0), ("dimuon", 1e6)]


@pytest.mark.parametrize(
    ("value", "coded"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (-1, "ff" * 9 + "01")],
)
def test_numbers_are_coded_as_protocol_buffers_say(value: int, coded: str) -> None:
    assert varint(value).hex() == coded


def test_openmetrics_ends_as_it_must_and_escapes_labels(write_run: WriteRun) -> None:
    run = write_run(timeline=timeline_lines()[:6])
    records = read_records(run)
    named = RunRecords(
        config={**records.config, "job": {"name": 'a"b\\\n'}}, config_digest="", plan=records.plan,
        ledger=records.ledger, samples=records.samples, timeline=records.timeline,
    )  # fmt: skip
    lines = metrics(Path("run"), named).decode().splitlines()
    assert lines[-1] == "# EOF"
    assert 'forkrun_events_read_total{job="a\\"b\\\\\\n",run="run"} 600' in lines
    assert not any(line.startswith("forkrun_outcome") for line in lines)  # it has not ended
    assert "# UNIT forkrun_pss_bytes bytes" in lines


def test_json_lines_are_in_order_and_say_what_they_are(write_run: WriteRun) -> None:
    lines = [json.loads(line) for line in exported(write_run(), "jsonl").splitlines()]
    assert [line["time_s"] for line in lines] == sorted(line["time_s"] for line in lines)
    kinds = [line["kind"] for line in lines]
    assert (kinds.count("commit"), kinds.count("sample"), kinds.count("timeline")) == (6, 11, 12)


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"circles"}))
def test_a_job_that_has_only_begun_can_be_exported(
    write_run: WriteRun, tmp_path: Path, name: str
) -> None:
    run = write_run(ledger={}, timeline=timeline_lines()[:1])
    (run / "monitoring" / "samples.jsonl").unlink()
    before = sorted(run.rglob("*"))
    assert main(["export", str(run), name, "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").exists()
    assert sorted(run.rglob("*")) == before
