"""A job with a function after a filter: FILE RUNDIR PERCENT MICROSECONDS. The filter keeps so many
percent of the events, the function takes so long for each; 0: it computes with whole columns."""

from __future__ import annotations

import sys
import time
from typing import Any

import awkward as ak

import forkrun


def main() -> None:
    """Runs it in one child."""
    file, rundir, percent, microseconds = sys.argv[1:]
    job = forkrun.Job(file)
    if int(percent) < 100:
        job.filter(f"event % 100 < {percent}")

    @job.define
    def computed(events: forkrun.EventBlock) -> Any:
        if not int(microseconds):
            jets = events.Jet
            return ak.sum(jets.pt * jets.eta**2 + jets.mass, axis=1) + events.MET.pt
        end_s = time.process_time() + len(events) * int(microseconds) * 1e-6
        while time.process_time() < end_s:
            pass
        return events["MET_pt"]

    job.hist("computed", (50, 0, 500))
    job.run(1, output=rundir, force=True, quiet=True)


if __name__ == "__main__":
    main()
