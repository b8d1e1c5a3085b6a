"""Rounds of faults of servers: a job ends in the bytes of a local one, or with the exit code of
unreadable input within five minutes; then, when the fault is over, it is resumed to these bytes."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.remote_faults.faults import AT_BEGIN, KINDS, SITES_OF, Faults
from tests.remote_faults.sites import NAME, Site, serve, site
from tests.support.jobs import Ended, environment, forkrun, left_behind, output_digests, running

MOST_S = 300.0
"""From when a fault begins until the job has ended."""
_JOB = """
import forkrun

job = forkrun.Job({file!r}, name="remote")
path = job.path("loose").filter("nMuon >= 2").hist("MET_pt", (50, 0, 200), name="met")
job.output("skim", paths=["loose"], keep=["*"])
job.output("all", keep=["*"])
"""
_SHORT = {"FORKRUN_REMOTE_LIMITS": "4,5", "FORKRUN_REMOTE_PAUSES": "1,2,4"}
_UNREADABLE = 3
_N_EVENTS = 6000


@dataclass(frozen=True)
class Plan:
    """What befalls which site. `moment`: how much of the file has come by then, 0 for the begin;
    `replica`: another place of the file, dead or alive."""

    seed: int
    kind: str
    site: str
    file: str
    moment: float
    replica: str
    has_short_limits: bool
    n_children: int

    def __str__(self) -> str:
        parts = [f"seed {self.seed}: {self.kind}, {self.site}, {self.file}"]
        parts.append(f"after {self.moment:.2f} of the file" if self.moment else "from the begin on")
        parts += [f"{self.replica} replica"] * bool(self.replica)
        parts += ["default limits"] * (not self.has_short_limits)
        return ", ".join(parts)


@dataclass
class Round:
    """How a round went. `outcome`: in a word; `violations`: what must not be."""

    plan: Plan
    outcome: str = ""
    wall_s: float = 0.0
    violations: list[str] = field(default_factory=list)


class Bench:
    """The files of the input, and the bytes that a local job makes of each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.inputs = {name: folder / f"{name}.root" for name in ("zstd", "zlib", "ntuple")}
        for name in ("zstd", "zlib"):
            settings = SampleSettings(
                n_events=_N_EVENTS, n_branches=120, cluster=500, compression=f"{name}:1"
            )
            write_sample(self.inputs[name], settings)
        made = forkrun("convert", self.inputs["zlib"], self.inputs["ntuple"], cwd=folder)
        assert made.code == 0, made.err
        self.digests = {name: self._local(name, file) for name, file in self.inputs.items()}

    def _local(self, name: str, file: Path) -> dict[str, str]:
        folder = self.folder / f"local-{name}"
        folder.mkdir()
        (folder / "job.py").write_text(_JOB.format(file=str(file)))
        ended = forkrun("run", folder / "job.py", "-o", folder / "run", cwd=folder)
        assert ended.code == 0, ended.err
        return output_digests(folder / "run")


def draw_plan(seed: int, only: str | None = None) -> Plan:
    """Kinds come in turn, all else at random."""
    draw = random.Random(seed)
    kind = only or KINDS[seed % len(KINDS)]
    at_begin = kind in AT_BEGIN or draw.random() < 0.25
    return Plan(
        seed,
        kind,
        draw.choice(SITES_OF[kind]),
        draw.choice(("zstd", "zlib", "ntuple")),
        0.0 if at_begin else 1.3 * draw.random() ** 1.5,
        draw.choice(("", "", "", "dead", "live")),
        draw.random() >= 0.1,
        draw.choice((1, 2, 3)),
    )


def run_round(bench: Bench, plan: Plan, name: str) -> Round:
    """The job while the fault is there, then without it. Skips where the site cannot be."""
    this, begin_s = Round(plan), time.monotonic()
    folder = bench.folder / name
    folder.mkdir()
    content = bench.inputs[plan.file].read_bytes()
    with site(plan.site) as of_file:
        serve(of_file, content)
        faults = Faults(of_file, content, random.Random(plan.seed))
        try:
            faults.begin(plan.kind, int(plan.moment * len(content)))
            first = _run(bench, folder, plan, _places(plan, of_file), of_file)
            end_s = time.monotonic()
        finally:
            faults.end()
        began_s = faults.begun_s
        this.violations += _wrong_end(first, end_s - (began_s or begin_s), plan)
        last = first
        if first.code:
            last = _run(bench, folder, plan, of_file.url, of_file, again=True)
            if last.code:
                this.violations.append(f"cannot be resumed: exit code {last.code}: {last.err}")
    if not last.code and output_digests(folder / "run") != bench.digests[plan.file]:
        this.violations.append(f"other bytes than those of a local job; {first.err}")
    if left := left_behind(f"FAULTS_FOLDER={folder}"):
        this.violations.append(f"processes were left behind: {left}")
    this.outcome = "no fault yet" if began_s is None else _outcome(first)
    this.wall_s = time.monotonic() - begin_s
    return this


def _outcome(first: Ended) -> str:
    return f"exit code {first.code}, resumed" if first.code else "same bytes at once"


def _places(plan: Plan, of_file: Site) -> str:
    url = of_file.url
    if plan.kind == "unknown_name":
        scheme, path = url.split("127.0.0.1:")
        url = f"{scheme}no-such-host.invalid:{path}"
    if plan.replica == "dead":
        scheme, path = of_file.direct.split("127.0.0.1:")
        return f"{scheme}127.0.0.1:1/{path.split('/', 1)[1]}|{url}"
    return f"{url}|{of_file.direct}" if plan.replica == "live" else url


def _run(
    bench: Bench, folder: Path, plan: Plan, url: str, of_file: Site, again: bool = False
) -> Ended:
    """`resume` where the job knows the place of its file."""
    variables = {
        "FORKRUN_CACHE": "", "FAULTS_FOLDER": str(folder), **of_file.environment,
        **(_SHORT if plan.has_short_limits else {}),
    }  # fmt: skip
    if again and (folder / "run" / "config.json").exists() and plan.kind != "unknown_name":
        arguments: list[object] = ["resume", folder / "run"]
    else:
        job = folder / "job.py"
        job.write_text(_JOB.format(file=url))
        arguments = ["run", job, "-o", folder / "run", "--children", plan.n_children]
    with running(*arguments, "--no-plots", cwd=folder, env=environment(**variables)) as process:
        try:
            out, err = process.communicate(timeout=2 * MOST_S)
        except subprocess.TimeoutExpired:
            return Ended(-1, "", "it did not end")
    return Ended(process.returncode, out, err)


def _wrong_end(ended: Ended, lasted_s: float, plan: Plan) -> Iterator[str]:
    if ended.code not in (0, _UNREADABLE):
        yield f"exit code {ended.code}: {ended.err}"
    if lasted_s > MOST_S:
        yield f"the job ended {lasted_s:.0f} s after the fault: {ended.err}"
    if "Traceback" in ended.err or "internal error" in ended.err:
        yield f"a traceback on the terminal: {ended.err}"
    if ended.code == _UNREADABLE and NAME not in ended.err:
        yield f"the file is not named: {ended.err}"
    if plan.kind.startswith("expire") and ended.code == _UNREADABLE and "expired" not in ended.err:
        yield f"nobody is told that it has expired: {ended.err}"


def tally(rounds: list[Round]) -> str:
    """Kinds and outcomes, then what must not be."""
    outcomes = sorted({done.outcome for done in rounds})
    width = max(map(len, outcomes), default=0) + 2
    lines = [" " * 18 + "".join(f"{outcome:>{width}}" for outcome in outcomes)]
    for kind in KINDS:
        of_kind = [done.outcome for done in rounds if done.plan.kind == kind]
        counts = "".join(f"{of_kind.count(outcome):>{width}}" for outcome in outcomes)
        lines += [f"{kind:18}{counts}"] * bool(of_kind)
    bad = [done for done in rounds if done.violations]
    lines += ["", f"{len(rounds)} rounds, {len(bad)} with violations"]
    for done in bad:
        lines.append(f"  {done.plan}")
        lines += [f"    {line}" for what in done.violations for line in what.splitlines()[:12]]
    return "\n".join(lines)
