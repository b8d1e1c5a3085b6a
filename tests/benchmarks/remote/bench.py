"""`make bench-remote`: input over a slow link, whole commands with default settings: the dimuon
analysis and a skim of 5 % with all branches, by root:// and http://, next to uproot and coffea (by
http://; in coffea's environment) and compiled RDataFrame (by root://). Of a file whose baskets have
checksums of their own (zlib) and of one whose have none (Zstandard); and again, when it is cached.
Counts requests and bytes, and says which aims hold."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import uproot

HERE = Path(__file__).parent
ANALYSIS = HERE.parent / "analysis"
OUTPUT = HERE.parent / "output"
sys.path[:0] = [str(HERE.parent), str(ANALYSIS)]

from coffea_environment import coffea_environment  # noqa: E402
from command_line import write_figures  # noqa: E402
from compile import compile_program  # noqa: E402
from dimuons import COLUMNS  # noqa: E402
from timing import timed  # noqa: E402

from forkrun.studies.sample.settings import SampleSettings  # noqa: E402
from forkrun.studies.sample.write import write_sample  # noqa: E402
from tests.support.slow_link import Traffic, slow_link  # noqa: E402
from tests.support.web_server import web_server  # noqa: E402
from tests.support.xrootd_server import xrootd_server  # noqa: E402

_CUT = "MET_pt"
_KEPT = 0.05
_COUNTERS = ("nMuon", "nJet")
_START_S = 3.0
"""What a command may take in addition to the transfer, before it is multiplied."""
_FACTOR = 1.3
_MOST_REQUESTS = {"analysis": 20, "skim": 40}
_LEAST_RATIO = {"uproot": 2.0, "coffea": 2.0, "RDataFrame": 5.0}
_MS_OF_RDATAFRAME = 100.0
_MOST_MORE_BYTES = 1.05
_CHILDREN = (1, 8)
_MOST_AGAIN = 1.15
"""Time of a second run over the time with a local file."""
_MOST_BYTES_AGAIN = 20_000
"""That a server says before it gives a file."""


@dataclass
class Way:
    """One way to do a job. `cache`: folder, "": none. `best_s`: whole command; `traffic`: of the
    last one."""

    job: str
    name: str
    command: list[str]
    log: Path | None = None
    cache: Path | str = ""
    best_s: float = float("inf")
    traffic: Traffic = field(default_factory=lambda: Traffic(0, 0))

    def measure(self) -> None:
        """Once more."""
        if self.log:
            self.log.write_text("")
        environment = {**os.environ, "FORKRUN_CACHE": str(self.cache)}
        ended: list[subprocess.CompletedProcess[bytes]] = []
        cost = timed(
            lambda: ended.append(
                subprocess.run(self.command, env=environment, capture_output=True, check=False)
            )
        )
        if ended[0].returncode:
            raise SystemExit(f"{self.job}, {self.name}: {ended[0].stderr.decode()[-2000:]}")
        self.best_s = min(self.best_s, cost.wall_s)
        if self.log:
            self.traffic = Traffic.of(self.log)


@dataclass
class Commands:
    """What is run, of one file. `least`: of the column that the skim selects by."""

    folder: Path
    programs: Path
    coffea: Path
    least: float
    names: Iterator[int] = field(default_factory=lambda: iter(range(1_000_000)))

    def forkrun(self, job: str, file: str, *more: str) -> list[str]:
        """With the jobs of other benchmarks."""
        of_job = [str(ANALYSIS / "job.toml"), file]
        if job == "skim":
            of_job = [str(OUTPUT / "job.toml"), file]
            more = ("--set", f"modules.cut.params.least={self.least!r}", *more)
        run = str(self.folder / f"run-{next(self.names)}")
        return [sys.executable, "-m", "forkrun", "run", *of_job, "-o", run, "--quiet",
                "--force", "--no-plots", *more]  # fmt: skip

    def peers(self, job: str, web: str, root: str) -> dict[str, list[str]]:
        """By name. `remote=1`: else ROOT opens what is on this machine as a local file."""
        python, out = str(self.coffea), str(self.folder / "out")
        cut = [_CUT, repr(self.least)]
        root += "?remote=1"
        if job == "skim":
            program = compile_program("output/snapshot_cut", self.programs)
            return {
                "uproot": [python, str(HERE / "uproot_skim.py"), web, f"{out}.root", *cut],
                "RDataFrame": [str(program), root, f"{out}-rdf.root", *cut, "1"],
            }
        return {
            "uproot": [python, str(ANALYSIS / "with_uproot.py"), web, out],
            "coffea": [python, str(ANALYSIS / "with_coffea.py"), web, out],
            "RDataFrame": [str(compile_program("analysis/dimuons", self.programs)), root],
        }


@dataclass
class Servers:
    """The file on two servers, behind links of one round trip and rate."""

    root: str
    web: str
    root_log: Path
    web_log: Path

    def ways(self, job: str, commands: Commands) -> list[Way]:
        """All remote ones of a job, forkrun's first."""
        ways = [
            Way(job, "forkrun, root://", commands.forkrun(job, self.root), self.root_log),
            Way(job, "forkrun, http://", commands.forkrun(job, self.web), self.web_log),
        ]
        for name, command in commands.peers(job, self.web, self.root).items():
            log = self.root_log if name == "RDataFrame" else self.web_log
            ways.append(Way(job, name, command, log))
        return ways


@contextmanager
def servers(folder: Path, local: Path, link: tuple[float, float], ports: tuple[int, int]) -> Any:
    """Behind links."""
    logs = folder / "root.log", folder / "web.log"
    with slow_link(ports[0], *link, logs[0]) as far, slow_link(ports[1], *link, logs[1]) as web:
        yield Servers(
            f"root://127.0.0.1:{far}/{local}", f"http://127.0.0.1:{web}/{local.name}", *logs
        )


@dataclass
class Aims:
    """What is to hold, and whether it does."""

    lines: list[str] = field(default_factory=list)

    def most(self, what: str, value: float, bound: float) -> None:
        """`value` at most `bound`."""
        self._add(what, value, "≤", bound, value <= bound)

    def least(self, what: str, value: float, bound: float) -> None:
        """`value` at least `bound`."""
        self._add(what, value, "≥", bound, value >= bound)

    def _add(self, what: str, value: float, sign: str, bound: float, holds: bool) -> None:
        verdict = "holds" if holds else "MISSED"
        self.lines.append(f"  {verdict:7} {what}: {value:.4g} {sign} {bound:.4g}")


def judge(aims: Aims, ways: list[Way], ms: float, local_s: float, link_s: float) -> None:
    """Adds what the ways of one job show. `link_s`: how long its bytes take on the link."""
    job, ours = ways[0].job, ways[0]
    bound_s = _FACTOR * max(link_s + _START_S, local_s)
    for way in ways[:2]:
        aims.most(f"{job}, {ms:g} ms, {way.name} [s]", way.best_s, bound_s)
    aims.most(f"{job}, {ms:g} ms, requests", ours.traffic.n_requests, _MOST_REQUESTS[job])
    for way in ways[2:]:
        ratio = way.best_s / (ours if way.name == "RDataFrame" else ways[1]).best_s
        if way.name != "RDataFrame" or ms == _MS_OF_RDATAFRAME:
            aims.least(f"{job}, {ms:g} ms, {way.name} / forkrun", ratio, _LEAST_RATIO[way.name])


def children(aims: Aims, job: str, at: Servers, commands: Commands) -> None:
    """Bytes that several numbers of children read."""
    for protocol, file, log in (("root", at.root, at.root_log), ("http", at.web, at.web_log)):
        n_bytes = []
        for n in _CHILDREN:
            command = commands.forkrun(job, file, "--children", str(n))
            way = Way(job, f"forkrun, {protocol}://, children: {n}", command, log)
            way.measure()
            show(way)
            n_bytes.append(way.traffic.n_bytes)
        what = f"{job}, {protocol}://, bytes of {_CHILDREN[1]} children / of {_CHILDREN[0]}"
        aims.most(what, n_bytes[1] / n_bytes[0], _MOST_MORE_BYTES)


def again(aims: Aims, job: str, local: Path, at: Servers, commands: Commands, n: int) -> None:
    """A second run, of which the cache has the bytes."""
    here = Way(job, "forkrun, local file, again", commands.forkrun(job, str(local)),
               cache=commands.folder / f"{job}-local")  # fmt: skip
    ways = [
        Way(job, f"forkrun, {protocol}://, again", commands.forkrun(job, file), log,
            cache=commands.folder / f"{job}-{protocol}-{local.name}")
        for protocol, file, log in (("root", at.root, at.root_log), ("http", at.web, at.web_log))
    ]  # fmt: skip
    measure([here, *ways], 1)
    for way in (here, *ways):
        way.best_s = float("inf")
    measure([here, *ways], n)
    show(here)
    for way in ways:
        show(way)
        aims.most(f"{way.name} / local, {job}", way.best_s / here.best_s, _MOST_AGAIN)
        aims.most(f"{way.name}, {job}: bytes", way.traffic.n_bytes, _MOST_BYTES_AGAIN)


def show(way: Way) -> None:
    """One line."""
    traffic = way.traffic
    n_mb = f"{traffic.n_bytes / 1e6:8.1f} MB {traffic.n_requests:5} requests" if way.log else ""
    print(f"  {way.name:32} {way.best_s:7.2f} s {n_mb}", flush=True)


def bytes_of(file: Path) -> dict[str, int]:
    """What each job has to read of it."""
    with uproot.open(file) as opened:
        events = opened["Events"]
        of_columns = sum(events[name].compressed_bytes for name in (*COLUMNS, *_COUNTERS))
    return {"analysis": of_columns, "skim": file.stat().st_size}


def least_of(file: Path) -> float:
    """Of the column that the skim selects by."""
    with uproot.open(file) as opened:
        values = opened["Events"][_CUT].array(library="np")
    return float(np.quantile(values, 1 - _KEPT))


def arguments() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--round-trips-ms", type=float, nargs="+", default=[20, 100])
    parser.add_argument("--mb-per-s", type=float, default=20)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--compressions", nargs="+", default=["zlib:1", "zstd:5"])
    parser.add_argument("--jobs", nargs="+", default=["analysis", "skim"])
    parser.add_argument("--programs", type=Path, default=Path("build/bench"))
    parser.add_argument("--environment", type=Path, default=Path("build/coffea"))
    parser.add_argument("--json", type=Path, default=Path("build/bench/remote.json"))
    return parser.parse_args()


def measure(ways: list[Way], repeats: int) -> None:
    """In turn, forwards and backwards."""
    for i in range(repeats):
        for way in ways[:: 1 if i % 2 == 0 else -1]:
            way.measure()


def of_file(
    local: Path, aims: Aims, options: argparse.Namespace, commands: Commands, ports: tuple[int, int]
) -> Iterator[dict[str, Any]]:
    """All jobs over all links: figures of each way."""
    n_bytes = bytes_of(local)
    for job in options.jobs:
        here = Way(job, "forkrun, local file", commands.forkrun(job, str(local)))
        for number, ms in enumerate(options.round_trips_ms):
            with servers(commands.folder, local, (ms / 1000, options.mb_per_s), ports) as at:
                link_s = n_bytes[job] / options.mb_per_s / 1e6
                what = f"{n_bytes[job] / 1e6:.1f} MB take {link_s:.1f} s"
                print(f"{job}, {ms:g} ms, {options.mb_per_s:g} MB/s: {what}", flush=True)
                ways = at.ways(job, commands)
                measure([here, *ways], options.repeats)
                for way in (here, *ways):
                    show(way)
                    yield {"ms": ms, "job": job, "way": way.name, "s": way.best_s,
                           **way.traffic._asdict()}  # fmt: skip
                judge(aims, ways, ms, here.best_s, link_s)
                again(aims, job, local, at, commands, options.repeats)
                if number == 0:
                    children(aims, job, at, commands)


def main() -> None:
    """Both files."""
    options = arguments()
    coffea = coffea_environment(options.environment)
    all_aims, measured = [], []
    with tempfile.TemporaryDirectory() as name, xrootd_server() as root, web_server() as web:
        for number, compression in enumerate(options.compressions):
            settings = SampleSettings(n_events=options.events, compression=compression)
            (local,) = write_sample(root.data / f"s{number}.root", settings)
            (web.data / local.name).symlink_to(local)
            size = f"{local.stat().st_size / 1e6:.1f} MB, {compression}"
            print(f"{size}, load {os.getloadavg()[0]:.1f}", flush=True)
            commands = Commands(Path(name), options.programs, coffea, least_of(local))
            aims = Aims()
            for figures in of_file(local, aims, options, commands, (root.port, web.port)):
                measured.append({"compression": compression, **figures})
            all_aims += [f"{size}, load {os.getloadavg()[0]:.1f}:", *aims.lines]
        print(*all_aims, sep="\n")
    write_figures(options.json, {"measured": measured, "aims": all_aims})


if __name__ == "__main__":
    main()
