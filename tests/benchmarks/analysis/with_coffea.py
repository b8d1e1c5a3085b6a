"""The analysis with coffea: chunks of 100,000 events, one process or several. Prints the time of
the event loop [s] and writes the histograms. Runs in coffea's own environment."""

from __future__ import annotations

import argparse
import json
import pickle
import time
from pathlib import Path
from typing import Any

from coffea import processor
from coffea.nanoevents import BaseSchema
from dimuons import fill, make_histograms


class Dimuons(processor.ProcessorABC):
    """The analysis as coffea calls it."""

    def process(self, events: Any) -> Any:
        """Histograms of a chunk."""
        histograms = make_histograms()
        fill(histograms, events)
        return histograms

    def postprocess(self, accumulator: Any) -> Any:
        """Nothing to do."""
        return accumulator


def main() -> None:
    """Runs it over one file, or a fileset in JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("out", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    if args.workers == 1:
        executor: Any = processor.IterativeExecutor(compression=None, status=False)
    else:
        executor = processor.FuturesExecutor(workers=args.workers, compression=None, status=False)
    run = processor.Runner(executor, schema=BaseSchema, chunksize=100_000)
    start_s = time.perf_counter()
    is_fileset = args.file.endswith(".json")
    fileset = json.loads(Path(args.file).read_text()) if is_fileset else {"sample": [args.file]}
    histograms = run(fileset, Dimuons(), treename="Events")
    print(time.perf_counter() - start_s)
    args.out.write_bytes(pickle.dumps(histograms))


if __name__ == "__main__":
    main()
