"""Input over a slow link, whole commands: an analysis of four columns and a skim with all branches,
by root:// and by http://, against uproot by http:// and against copying the file first."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from timing import Cost, Result, measure, timed

from forkrun.studies.sample import SampleSettings, write_sample
from tests.support.slow_link import slow_link
from tests.support.web_server import web_server
from tests.support.xrootd_server import xrootd_server

ROOT = Path(__file__).parents[2]
JOB = """
import forkrun

job = forkrun.Job({file!r}, name="remote")
path = job.path("two").filter("nMuon >= 2")
path.hist("Muon_pt", (50, 0, 100), name="pt").hist("Muon_eta", (50, -3, 3), name="eta")
path.hist("MET_pt", (50, 0, 200), name="met")
{output}
"""
SKIM = 'job.output("skim", paths=["two"], keep=["*"])'
UPROOT = """
import sys
import uproot
names = ["nMuon", "Muon_pt", "Muon_eta", "MET_pt"]
file = uproot.open(sys.argv[1], handler=uproot.HTTPSource)
columns = file["Events"].arrays(names)
print(columns["MET_pt"][columns["nMuon"] >= 2].to_numpy().sum())
"""


def run(folder: Path, file: str, output: str) -> Cost:
    """A whole command."""
    job = folder / "job.py"
    job.write_text(JOB.format(file=file, output=output))
    command = ["forkrun", "run", str(job), "-o", str(folder / "run"), "--force", "--no-plots", "-q"]
    environment = {**os.environ, "FORKRUN_CACHE": ""}
    return timed(lambda: subprocess.run(command, check=True, env=environment))


def with_uproot(url: str) -> Cost:
    """The columns of the analysis alone."""
    command = [sys.executable, "-c", UPROOT, url]
    return timed(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))


def compare(folder: Path, local: Path, root: str, web: str, repeats: int) -> Iterator[Result]:
    """Both jobs, by each way."""
    copy = folder / "copy.root"

    def copied(output: str) -> Cost:
        fetch = timed(lambda: subprocess.run(["xrdcp", "-f", "-s", root, str(copy)], check=True))
        rest = run(folder, str(copy), output)
        return Cost(fetch.wall_s + rest.wall_s, None)

    for case, output in (("analysis", ""), ("skim", SKIM)):
        ways = {
            "forkrun, root://": lambda output=output: run(folder, root, output),
            "forkrun, http://": lambda output=output: run(folder, web, output),
            "forkrun, local file": lambda output=output: run(folder, str(local), output),
            "xrdcp, then forkrun": lambda output=output: copied(output),
        }
        if not output:
            ways["uproot, http://"] = lambda: with_uproot(web)
        costs = measure(ways, repeats)
        yield Result(case, "uproot, http://" if not output else "xrdcp, then forkrun", costs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--round-trips-ms", type=float, nargs="+", default=[20, 100])
    parser.add_argument("--mb-per-s", type=float, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, xrootd_server() as server, web_server() as web:
        settings = SampleSettings(n_events=options.events, n_branches=200, cluster=10_000)
        (local,) = write_sample(server.data / "s.root", settings)
        (web.data / "s.root").symlink_to(local)
        for ms in options.round_trips_ms:
            link = (ms / 1000, options.mb_per_s)
            with slow_link(server.port, *link) as far, slow_link(web.port, *link) as far_web:
                root = f"root://127.0.0.1:{far}/{local}"
                web_url = f"http://127.0.0.1:{far_web}/s.root"
                for result in compare(Path(name), local, root, web_url, options.repeats):
                    n_mb = local.stat().st_size / 1e6
                    print(f"{result.case}, {ms:g} ms, {options.mb_per_s:g} MB/s, {n_mb:.0f} MB:")
                    for way in result.costs:
                        ratio = result.ratio(way).wall_s
                        print(f"  {way:22} {result.best(way).wall_s:7.2f} s {ratio:6.2f}")


if __name__ == "__main__":
    main()
