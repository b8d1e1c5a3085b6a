"""Every published line: what was measured then, the command here, what of its results is ours, and
why that differs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.published.results import MissingError, Results

Ours = tuple[str, str]
"""Our value, and its ratio to the published one."""


class Line(NamedTuple):
    """`command`: without `forkrun`; `why`: the value differs, or what else there is to say."""

    number: str
    then: str
    command: str
    ours: Callable[[Results], Ours]
    why: str


COUNTS = {"P1": 14, "P2": 5, "P3": 8, "P4": 6, "P5": 4}
"""Numbered lines of each work."""
_MEMORY = "measure memory --reference arrays --children 32"
_SCALING = "measure scaling JOB.toml --children 1 2 4 8 --work 5"
_DISTRIBUTION = "measure distribution JOB.toml --children 32"
_SCHEDULING = "measure scheduling"
_SLEEP = "replay FILE --mode sleep --events-in-flight 2000 --threads 2000"
_COLUMNS = "measure columns FILE"


def _only(text: Callable[[Results], str]) -> Callable[[Results], Ours]:
    return lambda results: (text(results), "–")


def _said(text: str) -> Callable[[Results], Ours]:
    return lambda _: (text, "–")


def _many(step: str, line: str, *names: str) -> Callable[[Results], Ours]:
    return lambda results: results.figures(step, line, *names)


def _many_events(results: Results) -> Ours:
    """2,000 events in flight that sleep: memory, and CPU over one core."""
    found = results.of("many")
    memory, cpu = found["peak_rss_bytes"], found["cpu_s"] / found["wall_s"]
    return f"2,000 events: {memory / 1e6:.0f} MB, {cpu:.2f} of a CPU", f"{memory / 1.1e9:.2f}"


def _waits(results: Results) -> Ours:
    """Rate of busy waits over that of sleeping ones."""
    busy, sleeping = (results.of(step)["events_per_s"] for step in ("busy", "sleeping"))
    return f"busy over sleeping: {busy / sleeping:.2f}", f"{busy / sleeping:.2f}"


def _speed_up(results: Results) -> Ours:
    """Of one event of the high-pile-up job, estimated and measured."""
    estimated = results.of("estimate high pile-up")["parallelism"]["speedup"]
    text, ratio = f"{estimated:.2f} × estimated", f"{estimated / 1.29:.2f}"
    try:
        measured, to_theirs = results.figure("scheduling", "P2.4", "measured speed-up")
    except MissingError:
        return text, ratio
    return f"{text}, {measured} measured", f"{ratio}, {to_theirs:.2f}"


LINES = (
    Line("P1.1", "Figure: shared data of each child against time", f"{_MEMORY} --plots DIR",
         lambda r: r.memory("shared"),
         "scaled to a fifth; shared memory stays flat"),
    Line("P1.2", "Figure: private data of each child against time", f"{_MEMORY} --plots DIR",
         lambda r: r.memory("private"), "as above"),
    Line("P1.3", "700 MB shared, 375 MB private per child", _MEMORY,
         lambda r: r.memory("shared", "private"),
         "a fifth of both sizes, and libraries of Python"),
    Line("P1.4", "32 children 13 GB, 32 separate jobs 34 GB: 62 % saved", _MEMORY,
         lambda r: r.saving(), "children do not write to what they share"),
    Line("P1.5", "Figure: events/s against 1 to 32 cores", _SCALING,
         _only(lambda r: r.scaling("work", "rate", "5 ms")),
         "two cores; 5 ms of CPU in each event"),
    Line("P1.6", "Figure: events/s per core against cores", _SCALING,
         _only(lambda r: r.scaling("work", "per_core", "5 ms")), "as above"),
    Line("P1.7", "Utilization with N = max: 0.92 (QCD), 0.92 (tt̄), 0.85 (minimum bias)",
         _DISTRIBUTION, _many("alike", "P1.7", "utilization, high-pt QCD, N = max"),
         "equal events; guided, the default, is near 1"),
    Line("P1.8", "Large events first: N = max 0.38, N = 1 0.95", _DISTRIBUTION,
         _many("large first", "P1.8", "utilization, large events first, N = max",
               "utilization, large events first, N = 1"),
         "the first 1/32 takes 2.8 times as long"),
    Line("P1.9", "32 children: N = max 6.2 reads/s of 600 kB, N = 1 156 reads/s of 25 kB",
         "measure io JOB.toml --children 32",
         _many("io", "P1.9", "read calls, N = max", "size of a read, N = max",
               "read calls, N = 1", "size of a read, N = 1"),
         "a skim does little but read; baskets are read whole"),
    Line("P1.10", "The merged file read lumi by lumi: 5,900 MB scattered, 750 MB together",
         "measure order FILE",
         _many("order", "P1.10", "bytes read, scattered over together"),
         "grows with lumis in a cluster; forkrun reads both once"),
    Line("P1.11", "Planned: a temporary file for each lumi and child, merged in lumi order",
         "run JOB.toml", _said("done"),
         "fragments, merged in the order of the input or of lumis"),
    Line("P1.12", "Running modules at most and on average: minimum bias 26 and 2.64, tt̄ 16 and"
         " 2.62, QCD 20 and 2.19", "estimate FILE",
         _only(lambda r: f"minimum bias {r.parallelism('estimate')}"),
         "a later graph; those of tt̄ and QCD are not public"),
    Line("P1.13", "Figures: running modules against time", "estimate FILE --plots DIR",
         _only(lambda r: f"at most {r.parallelism('estimate')}"), "as above"),
    Line("P1.14", "Figure: speed-up of tt̄ against cores", "estimate FILE --threads 1,2,4,8,16,32",
         _only(lambda r: r.speedups("estimate")),
         "minimum bias, as many events as threads"),
    Line("P2.1", "Busy wait: thread-unsafe at worst 5 % below single-threaded, re-entrant 2 %"
         " below, at most 30 % above with fewer events than cores", _SCHEDULING,
         _many("scheduling", "P2.1", "thread-unsafe over single-threaded",
               "re-entrant over single-threaded, 16 events"),
         "tasks are shared only where a thread wants work"),
    Line("P2.2", "Sleeping, to 2,000 events: single-threaded to 800; serial I/O flat at 44;"
         " re-entrant 1.30 × to 1,600; 2,000: 1.1 GB, 1/8 of the CPU", _SLEEP, _many_events,
         "a thread costs its stack; times are scaled by 0.3"),
    Line("P2.3", "Figure: modules running at a time in one event", "estimate FILE --plots DIR",
         _only(lambda r: f"at most {r.parallelism('estimate high pile-up')} on average"),
         "the same graph"),
    Line("P2.4", "Speed-up: 29 % estimated, 30 % measured",
         f"estimate FILE`, `forkrun {_SCHEDULING}", _speed_up,
         "the same graph"),
    Line("P2.5", "Busy and sleeping waits agree within 1 %", "replay FILE --mode busywait", _waits,
         "two threads; a sleep ends 0.05 ms late"),
    Line("P3.1", "Single-threaded 9.60 s, slowest branch 6.44 s; best in parallel 6.68 s", _COLUMNS,
         _many("columns", "P3.1", "single-threaded", "slowest column", "best possible"),
         "another file: no column dominates"),
    Line("P3.2", "Branches in parallel, waiting per event: 1.17 ×, 81 % of the best", _COLUMNS,
         lambda r: r.figures("columns", "P3.3", "columns in parallel, queue: speed-up"),
         "columns are tasks; nothing waits for an event"),
    Line("P3.3", "With a queue instead: 1.18 ×, 82 % of the best", _COLUMNS,
         _many("columns", "P3.3", "columns in parallel, queue: speed-up",
               "columns in parallel, queue: share of the best"),
         "blocks of thousands of events"),
    Line("P3.4", "Two files, even and odd events: 1.39 ×", _COLUMNS,
         _many("columns", "P3.4", "two files, even and odd: speed-up"),
         "even and odd blocks"),
    Line("P3.5", "Shared cache: many threads wait", f"{_COLUMNS} --threads 2",
         lambda r: r.figures("columns", "P3.6", "shared cache without waiting: speed-up"),
         "lanes share only baskets in which blocks end"),
    Line("P3.6", "Shared cache without waiting: 1.43 ×", _COLUMNS,
         _many("columns", "P3.6", "shared cache without waiting: speed-up"), "as above"),
    Line("P3.7", "Unzip and decode 29.8 % and 66.2 %; two files and the shared cache unzip twice as"
         " much", _COLUMNS,
         _many("columns", "P3.7", "share of unzipping", "share of decoding",
               "unzipped, two files over single-threaded",
               "unzipped, shared cache over single-threaded"),
         "vector instructions decode, which leaves unzipping"),
    Line("P3.8", "Halves of the file: 1.90 ×", _COLUMNS,
         _many("columns", "P3.8", "halves of the file: speed-up"), "two cores, as then"),
    Line("P4.1", "Figure: busy wait to 32 cores, TBB slightly above libdispatch", _SCHEDULING,
         _many("scheduling", "P2.1", "re-entrant over single-threaded, 16 events"),
         "two cores; see make bench-core"),
    Line("P4.2", "10 events: 15 threads 97.6 % of the maximum, 20 threads 99.8 %", _SCHEDULING,
         _many("scheduling", "P4.2", "10 events on 15 threads, of the maximum",
               "10 events on 20 threads, of the maximum"),
         "the same graph, which sleeps"),
    Line("P4.3", "Sleeping: TBB to 2,000 events, libdispatch to 1,600, single-threaded to 3,000",
         _SLEEP, _many_events, "as P2.2"),
    Line("P4.4", "Empty modules, one event: 1,460,000 events/s single-threaded, TBB 375,000 (3.9 ×"
         " slower)", _SCHEDULING,
         _many("scheduling", "P4.4", "empty modules, single-threaded", "empty modules, TBB",
               "empty modules, TBB over single-threaded"),
         "as P2.1"),
    Line("P4.5", "Synchronous get of the whole reconstruction: TBB works, libdispatch stops",
         "replay FILE --get blocking --threads 8", _said("works"),
         "a waiting thread executes other tasks"),
    Line("P4.6", "Timing diagram of one filter, one producer, one event", "run JOB.toml --trace",
         _said("trace.json"), "for ui.perfetto.dev"),
    Line("P5.1", "Figure: speed-up against threads for several crunch times, without and with lazy"
         " unpacking", "measure scaling JOB.toml --work 0 1 5 20 100",
         _only(lambda r: r.scaling("work", "relative", by=1)),
         "per core: one child, two children, two threads"),
    Line("P5.2", "Full reconstruction of 5 s per event: estimated to scale to 40 cores",
         "estimate FILE --threads 8,16,32,40,64",
         _only(lambda r: r.speedups("estimate high pile-up")),
         "high pile-up, 24 s per event, as many events as threads"),
    Line("P5.3", "Figure: the six steps of reading", "measure columns FILE",
         _many("columns", "P3.7", "share of unzipping", "share of decoding"),
         "read, unzip, decode, for each column asked for"),
    Line("P5.4", "1,000 histograms of 1,000 bins, per core: copies slowest, buffered better than"
         " locked from five cores on", "measure histograms",
         _only(lambda r: r.scaling("histograms")),
         "1, 2 and 4 threads"),
)  # fmt: skip
