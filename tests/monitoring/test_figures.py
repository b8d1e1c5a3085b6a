"""Every number of reports and pages of real jobs, against sums of what the jobs have left: ledgers,
timelines, times of processes, and what a module has noted of itself."""

from __future__ import annotations

import json
import math
import re
import shutil
import signal
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.batch.jobs import status_of
from tests.support.files import write_events
from tests.support.jobs import environment, forkrun, running, served_python, wait_for, write_job

from .conftest import keep_pictures
from .test_page import content_of

N_EVENTS = 640
BAD_EVENT = 450

_MODULES = '''
import os
import signal
import time

import numpy as np

import forkrun


class Slow(forkrun.Filter):
    """1 ms an event, half of it on the CPU; notes what its calls took. Kills its process at an
    event: always, or once."""

    consumes = ("Jet_pt",)

    def __init__(self, notes: str, kills: str = ""):
        self.notes, self.kills = notes, kills

    def filter(self, block):
        begin, cpu = time.perf_counter(), time.thread_time()
        events = np.asarray(block.events)
        time.sleep(0.0005 * len(events))
        while time.thread_time() - cpu < 0.0005 * len(events):
            pass
        marker = os.path.join(self.notes, "killed")
        if BAD in events and (self.kills == "always" or self.kills and not os.path.exists(marker)):
            open(marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        took = time.perf_counter() - begin, time.thread_time() - cpu
        with open(os.path.join(self.notes, f"{os.getpid()}.txt"), "a") as file:
            file.write(f"{len(events)} {took[0]} {took[1]}\\n")
        return events % 4 == 0
'''.replace("BAD", str(BAD_EVENT))


def prepared(
    folder: Path, *, kills: str = "", children: int = 2, is_lcio: bool = False, **sections: Any
) -> Path:
    """The file of a job; `notes`, next to it, is for what its module notes."""
    folder.mkdir()
    (folder / "notes").mkdir()
    column = "MCParticle.pdg" if is_lcio else "Jet_pt"
    (folder / "mods.py").write_text(_MODULES.replace("Jet_pt", column))
    events = folder / ("a.slcio" if is_lcio else "a.root")
    if is_lcio:
        assert forkrun("sample", events, "--events", N_EVENTS, cwd=folder).code == 0
    else:
        write_events(events, [(1, lumi, 40) for lumi in range(1, 17)])
    module = {
        "label": "slow", "type": f"python:{folder / 'mods.py'}:Slow",
        "params": {"notes": str(folder / "notes"), "kills": kills},
    }  # fmt: skip
    job = {
        "source": {"files": [str(events)]},
        "forking": {"children": children, "max_unit_events": 20},
        "threads": {"block_size": 20},
        "modules": [module],
        "paths": {"skim": ["slow"]},
        "outputs": [{"label": "events", "paths": ["skim"]}],
        **sections,
    }
    return write_job(folder, job)


def ran(folder: Path, code: int = 0, **how: Any) -> Path:
    ended = forkrun("run", prepared(folder, **how), "-o", "run", "-q", cwd=folder)
    assert ended.code == code, ended.err
    return folder / "run"


def resumed(folder: Path) -> Path:
    """The parent of the first session is killed when half is done."""
    job = prepared(folder)
    run = folder / "run"
    hang = json.dumps([{"fault": "hang", "at": "begin", "unit": 20, "times": 9}])
    with running(
        "run", job, "-o", "run", "-q", cwd=folder, env=environment(FORKRUN_CHAOS=hang)
    ) as process:
        wait_for(lambda: sum(line["n_events"] for line in ledger_of(run)) >= N_EVENTS / 2)
        process.send_signal(signal.SIGKILL)
        process.wait()
    ended = forkrun("run", job, "-o", "run", "-q", cwd=folder)
    assert ended.code == 0, ended.err
    return run


def on_nodes(folder: Path, at_once: int) -> Path:
    job, run = prepared(folder), folder / "run"
    command = f"env PYTHONPATH={environment()['PYTHONPATH']} {served_python()} -m forkrun"
    given = ("--set", f"batch.command={json.dumps(command)}", "--set", f"batch.at_once={at_once}")
    options = ("--on", "local", "--nodes", 4, *given)
    ended = forkrun("submit", job, "-o", run, *options, cwd=folder)
    assert ended.code == 0, ended.err
    wait_for(lambda: status_of(run)["states"]["done"] == 4)
    ended = forkrun("collect", run, "-q", cwd=folder)
    assert ended.code == 0, ended.err
    return run


JOBS: dict[str, Callable[[Path], Path]] = {
    "one job": ran,
    "two threads a child": lambda folder: ran(folder, threads={"per_child": 2, "block_size": 10}),
    "eight children": lambda folder: ran(folder, children=8),
    "a killed child": lambda folder: ran(folder, kills="once"),
    "a failed event": lambda folder: ran(
        folder, code=8, kills="always", recovery={"on_bad_event": "skip"}
    ),
    "LCIO": lambda folder: ran(folder, is_lcio=True, limits={"memory": "20 GB"}),
    "resumed": resumed,
    "nodes one after the other": lambda folder: on_nodes(folder, 1),
    "nodes at once": lambda folder: on_nodes(folder, 4),
}


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Lines of JSON; what has no end is still being written."""
    text = path.read_text().rpartition("\n")[0] if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def ledger_of(run: Path) -> list[dict[str, Any]]:
    return [line for file in run.glob("ledger/child-*.jsonl") for line in lines_of(file)]


@dataclass
class Left:
    """What a job has left, by parent: of one node, or of each of several; the last one is of the
    job itself."""

    parents: list[tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]]
    """Ledger, timeline, times of processes."""
    samples: list[list[dict[str, Any]]]

    @classmethod
    def of(cls, run: Path, unpacked: Path) -> Left:
        for archive in run.glob("nodes/*/records.tar"):
            with tarfile.open(archive) as opened:
                opened.extractall(unpacked / archive.parent.name, filter="data")
        nodes = [(node, unpacked / node.name) for node in sorted(run.glob("nodes/*"))]
        return cls(
            [
                (
                    ledger_of(folder),
                    lines_of(records / "monitoring/events.jsonl"),
                    [json.loads(f.read_text()) for f in records.glob("monitoring/timing-*.json")],
                )
                for folder, records in [*nodes, (run, run)]
            ],
            [lines_of(records / "monitoring/samples.jsonl") for _, records in [*nodes, (run, run)]],
        )

    @property
    def commits(self) -> list[dict[str, Any]]:
        return [line for ledger, _, _ in self.parents for line in ledger]

    @property
    def processes(self) -> list[dict[str, Any]]:
        return [each for _, _, timings in self.parents for each in timings]

    @property
    def sessions(self) -> list[tuple[float, float]]:
        """Begin and end of each."""
        found = []
        for ledger, timeline, _ in self.parents:
            starts = [line["time_s"] for line in timeline if line["event"] == "job_start"]
            for begin_s, until_s in zip(starts, [*starts[1:], math.inf], strict=True):
                known = [line["time_s"] for line in timeline if line["time_s"] < until_s]
                known += [line["end_s"] for line in ledger if line["end_s"] < until_s]
                found.append((begin_s, max(known)))
        return found

    @property
    def killed(self) -> set[int]:
        """Processes of children that ended before their work was done."""
        exits = [
            line for _, t, _ in self.parents for line in t if line["event"] == "child_exit"
        ]  # of a killed parent there are none
        ended = {line["pid"] for line in exits if line.get("exit_code", 0) == 0}
        return {line["pid"] for line in self.commits} - ended


@dataclass
class Done:
    """A job: its report, what its page has, what it has left."""

    name: str
    run: Path
    report: dict[str, Any]
    page: dict[str, Any]
    left: Left


QUICK = ("two threads a child", "a killed child", "resumed")


@pytest.fixture(
    scope="module",
    params=[each if each in QUICK else pytest.param(each, marks=pytest.mark.long) for each in JOBS],
)
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("figures")
    run = JOBS[request.param](folder / "job")
    report = json.loads((run / "report.json").read_text())
    return Done(request.param, run, report, content_of(run), Left.of(run, folder / "unpacked"))


def numbers_in(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """All numbers, with their places: `children/0/cpu_s`."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, dict):
        for key, each in value.items():
            yield from numbers_in(each, f"{place}/{key}")
    elif isinstance(value, list):
        for n, each in enumerate(value):
            yield from numbers_in(each, f"{place}/{n}")
    else:
        yield place, value


SHARES = re.compile(r"/(utilization|\w*_fraction|cpu_efficiency|kinds/\d+/\d+)$|/(step|total)/\w+$")

pytestmark = pytest.mark.slow


def test_no_number_is_negative_and_no_share_is_more_than_all(done: Done) -> None:
    for place, number in [*numbers_in(done.report), *numbers_in(done.page)]:
        assert number >= 0 or place == "/begin_s", place
        if SHARES.search(place):
            assert number <= (100 if "kinds" in place else 1), place


def test_phases_add_up_to_the_time_of_the_sessions_and_with_gaps_to_the_clock(done: Done) -> None:
    phases, sessions = done.report["phases"], done.left.sessions
    active_s = sum(end_s - begin_s for begin_s, end_s in sessions)
    assert phases["active_s"] == pytest.approx(active_s, abs=0.02 * len(sessions))
    parts = [phases[f"{name}_s"] for name in ("startup", "processing", "shutdown")]
    assert math.fsum(parts) == pytest.approx(phases["active_s"])
    startup = [phases[f"{name}_s"] for name in ("index", "modules", "fork", "first_event")]
    of_collecting = done.report["sessions"][-1]
    own_s = of_collecting["end_s"] - of_collecting["start_s"] if done.report["nodes"] else 0.0
    assert math.fsum(startup) == pytest.approx(phases["startup_s"], abs=own_s + 1e-6)
    assert phases["last_children_s"] + phases["merge_s"] <= phases["shutdown_s"] + 1e-6
    whole_s = max(end for _, end in sessions) - min(begin for begin, _ in sessions)
    assert phases["wall_s"] + phases["gaps_s"] == pytest.approx(whole_s, abs=0.02)
    assert phases["event_loop_s"] <= phases["wall_s"] <= phases["active_s"] + 1e-6
    told = sorted((each["start_s"], each["end_s"]) for each in done.report["sessions"])
    assert told == [pytest.approx(each, abs=0.02) for each in sorted(sessions)]


def test_tables_add_up_to_the_ledgers(done: Done) -> None:
    report, commits = done.report, done.left.commits
    n_events = sum(line["n_events"] for line in commits)
    left_out = report["events"]["n_events_left_out"]
    assert report["events"]["n_events_read"] == n_events == N_EVENTS - left_out
    tables = [
        report["children"],
        report["sessions"],
        *([report["nodes"]] if report["nodes"] else []),
    ]
    for rows in tables:
        assert sum(row["n_events"] for row in rows) == n_events
        assert sum(row["n_units"] for row in rows) == sum(line["n_units"] for line in commits)
    assert sum(bar[5] for row in done.page["activity"] for bar in row["bars"]) == n_events
    busy_s = math.fsum(line["end_s"] - line["start_s"] for line in commits)
    threads = report["job"]["threads_per_child"]
    for rows in tables[::2]:
        assert math.fsum(row["processing_s"] for row in rows) == pytest.approx(busy_s)
        assert math.fsum(row["cpu_s"] for row in rows) == pytest.approx(
            sum(line["cpu_s"] for line in commits)
        )
        assert sum(row["read_bytes"] for row in rows) == sum(line["read_bytes"] for line in commits)
    totals = report["totals"]
    assert totals["thread_s"] == pytest.approx(busy_s * threads)
    assert totals["cpu_efficiency"] * busy_s * threads == pytest.approx(totals["cpu_s"])
    assert totals["rate_events_per_s"] == pytest.approx(n_events / report["phases"]["wall_s"])
    assert len(report["children"]) == report["job"]["children"]


def test_utilization_is_the_busy_part_of_the_time_that_children_had(done: Done) -> None:
    """The time of each session and node lasts until its busiest child was done."""
    busy_s, available_s, n_children = 0.0, 0.0, done.report["job"]["children"]
    for ledger, timeline, _ in done.left.parents:
        starts = [line["time_s"] for line in timeline if line["event"] == "job_start"]
        for begin_s, until_s in zip(starts, [*starts[1:], math.inf], strict=True):
            of_child: defaultdict[int, float] = defaultdict(float)
            for line in ledger:
                if begin_s <= line["start_s"] < until_s:
                    of_child[line["child"]] += line["end_s"] - line["start_s"]
            busy_s += sum(of_child.values())
            longest_s = max(of_child.values(), default=0.0)
            available_s += longest_s * n_children / done.report["job"]["n_nodes"]
    assert done.report["balance"]["utilization"] == pytest.approx(busy_s / available_s)


def test_event_loops_are_from_first_events_to_last_commits(done: Done) -> None:
    stretches = []
    for ledger, timeline, _ in done.left.parents:
        starts = [line["time_s"] for line in timeline if line["event"] == "job_start"]
        for begin_s, until_s in zip(starts, [*starts[1:], math.inf], strict=True):
            own = [line for line in ledger if begin_s <= line["start_s"] < until_s]
            if own:
                stretches.append(
                    (min(line["start_s"] for line in own), max(line["end_s"] for line in own))
                )
    at_s, loops_s = 0.0, 0.0
    for begin_s, end_s in sorted(stretches):
        loops_s, at_s = loops_s + max(end_s - max(begin_s, at_s), 0.0), max(end_s, at_s)
    assert done.report["phases"]["event_loop_s"] == pytest.approx(loops_s, abs=0.1)


def test_times_of_threads_are_parts_of_the_time_that_their_processes_lived(done: Done) -> None:
    spent, threads = done.report["spent"], done.report["job"]["threads_per_child"]
    kinds = [spent[f"{name}_s"] for name in ("reading", "unpacking", "processing", "committing")]
    assert math.fsum(kinds) <= spent["thread_s"]
    assert spent["thread_s"] == pytest.approx(
        threads * math.fsum(each["wall_s"] for each in done.left.processes)
    )
    lived_s = 0.0
    for _, timeline, _ in done.left.parents:
        begun = {line["pid"]: line["time_s"] for line in timeline if line["event"] == "fork"}
        for line in timeline:
            if line["event"] == "child_exit" and line["pid"] in begun:
                lived_s += line["time_s"] - begun[line["pid"]]
    assert spent["thread_s"] <= threads * lived_s
    timing = _timing(done)
    assert math.fsum(each["total_s"] for each in timing["modules"]) <= spent["thread_s"]
    assert timing["cpu_s"] <= spent["thread_s"] * 1.01


def _timing(done: Done) -> dict[str, Any]:
    timing: dict[str, Any] = json.loads((done.run / "timing.json").read_text())
    return {**timing, **timing["scheduler"]}


def test_times_of_modules_are_those_that_the_module_has_noted_per_event(done: Done) -> None:
    killed, left = done.left.killed, done.left
    measured = [line for line in left.commits if line["pid"] not in killed]
    timing = _timing(done)
    n_events = sum(line["n_events"] for line in measured)
    assert timing["n_events"] == done.report["spent"]["n_events"] == n_events
    assert done.report["input"]["n_events"] == n_events
    (slow,) = (each for each in timing["modules"] if each["label"] == "slow")
    notes = [done.run.parent / "notes" / f"{pid}.txt" for pid in {line["pid"] for line in measured}]
    calls = [
        [float(value) for value in line.split()]
        for note in notes
        if note.exists()  # a child that has only left out an event calls no module
        for line in note.read_text().splitlines()
    ]
    assert slow["count"] == len(calls)
    own_s, own_cpu_s = sum(call[1] for call in calls), sum(call[2] for call in calls)
    per_event_s = slow["total_s"] / timing["n_events"]
    assert own_s / sum(call[0] for call in calls) <= per_event_s
    assert slow["total_s"] - own_s < 0.002 * len(calls) + 0.5 * own_s
    assert own_cpu_s <= slow["cpu_s"] <= own_cpu_s + 0.002 * len(calls)
    modules_cpu_s = math.fsum(each["cpu_s"] for each in timing["modules"])
    if timing["overhead_s_per_event"] is not None:
        assert timing["overhead_s_per_event"] * n_events == pytest.approx(
            timing["cpu_s"] - modules_cpu_s
        )
    is_part = n_events < done.report["events"]["n_events_read"]
    (modules,) = (each for each in done.page["sections"] if each["name"] == "modules")
    assert (f"those of {n_events} of " in str(modules["parts"])) == is_part == bool(killed)
    assert (f"Times are those of {n_events} of" in (done.run / "report.txt").read_text()) == is_part


def test_the_parent_forks_until_the_last_first_fork_of_each_session(done: Done) -> None:
    *_, (_, timeline, _) = done.left.parents
    starts = [line["time_s"] for line in timeline if line["event"] == "job_start"]
    ends = []
    for begin_s, until_s in zip(starts, [*starts[1:], math.inf], strict=True):
        first: dict[int, float] = {}
        for line in timeline:
            if line["event"] == "fork" and begin_s <= line["time_s"] < until_s:
                first.setdefault(line["child"], line["time_s"])
        ends += [max(first.values())] if first else []
    bars = [bar for bar in done.page["parent"] if bar["what"] == "fork"]
    begin_s = min(each["start_s"] for each in done.report["sessions"])
    told = [bar["end_s"] + begin_s for bar in bars]
    assert all(one <= other + 1e-3 for one, other in zip(told, ends, strict=True))
    assert all(bar["end_s"] <= done.page["end_s"] for bar in done.page["parent"])


def test_memory_at_the_peak_is_no_less_than_samples_of_all_processes_say(done: Done) -> None:
    memory, page = done.report["memory"], done.page["memory"]
    samples = done.left.samples[memory["node"] if memory["node"] is not None else -1]
    complete: defaultdict[tuple[float, int], list[dict[str, Any]]] = defaultdict(list)
    for sample in samples:
        if sample["complete"] is not None:
            complete[sample["time_s"], sample["complete"]].append(sample)
    whole = [group for group in complete.values() if len(group) == group[0]["n_sampled"]]
    peak = memory["peak"]
    assert peak["pss_bytes"] >= max(sum(each["pss_bytes"] for each in group) for group in whole)
    common = [
        sum(each["pss_bytes"] - each["private_bytes"] for each in group)
        for group in whole
        if len(group) > 1
    ]
    if peak["n_processes"] > 1:
        assert min(common) <= peak["shared_bytes"] <= max(common)
    assert peak["pss_bytes"] == peak["private_bytes"] + peak["shared_bytes"]
    assert peak["rss_bytes"] == peak["pss_bytes"] + memory["saving_bytes"]
    n_parts, parts = len(memory["parts"]), memory["parts"]
    assert sum(p["private_bytes"] for p in parts) == pytest.approx(
        peak["private_bytes"], abs=n_parts
    )
    assert len({c for p in parts for c in p["children"]}) == len(
        {each["child"] for each in samples} - {None}
    )
    own = [each["rss_bytes"] for each in samples if each["child"] is None]
    assert parts[0]["rss_bytes"] <= max(own)
    assert memory["limit_bytes"] == (20_000_000_000 if done.name == "LCIO" else None)
    if page and not done.report["nodes"]:
        heights = map(sum, zip(*(each["values"] for each in page["layers"]), strict=True))
        assert max(heights) == pytest.approx(peak["pss_bytes"] / 1000, abs=9)
    table = next(
        part["table"]
        for section in done.page["sections"]
        if section["name"] == "memory"
        for part in section["parts"]
        if "table" in part
    )
    (size,) = (n for n, each in enumerate(table["columns"]) if each["key"] == "private_bytes")
    shown = {row[0]: row[size] for row in table["rows"]}
    assert shown.pop("in all") == peak["pss_bytes"]
    shown.pop("limit", None)
    assert sum(shown.values()) == pytest.approx(peak["pss_bytes"], abs=n_parts)


@pytest.mark.skipif(not shutil.which("chromium"), reason="the page is opened with Chromium")
def test_what_the_page_shows_is_within_0_and_100_percent_and_not_negative(
    done: Done, browser: Any
) -> None:
    keep_pictures(browser, done.run / "report.html", done.name.replace(" ", "-"))
    browser.get((done.run / "report.html").as_uri())
    text = browser.execute_script("return document.body.innerText")
    assert browser.execute_script(
        "return [...document.querySelectorAll('#nodes svg path')].filter("
        "each => !/NaN|undefined|-/.test(each.getAttribute('d'))).length"
    ) == (7 if done.report["nodes"] else 0)
    shares = [float(each) for each in re.findall(r"(-?[\d.]+) %", text)]
    assert len(shares) > 10
    assert [each for each in shares if not 0 <= each <= 100] == []
    below = re.findall(r"(?<![\w.:/–-])[-−](\d[\d.]*)", text.replace(str(done.run), ""))
    # Charts of jobs on nodes begin with the first submission.
    assert [each for each in below if float(each) > -done.page["begin_s"]] == []
