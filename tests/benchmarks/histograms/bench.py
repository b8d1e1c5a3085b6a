"""How fast histograms are filled: from Python in columns, against hist; one entry at a time by
threads, against the three published ways and ROOT.

    make bench-histograms                              two minutes
    make bench-histograms BENCH_ARGS="--long --plot"   1 to 16 threads, and a plot

All ways of one case alternate in one process, and the best of the turns counts. On a machine that
does other things as well compare CPU times, not fills per second."""

from __future__ import annotations

import argparse
from pathlib import Path

import python_fills
from threads import compile_fills, measure, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="1 to 16 threads, more fills")
    parser.add_argument("--plot", action="store_true", help="draw it, next to the build")
    parser.add_argument("--build", type=Path, default=Path("build/bench-histograms"))
    options = parser.parse_args()
    python_fills.main()
    threads = [1, 2, 4, 8, 16] if options.long else [1, 2, 4]
    n_fills = 8_000_000 if options.long else 1_000_000
    rates = measure(compile_fills(options.build), n_fills, 7, threads)
    print(table(rates))
    if options.plot:
        from plot import draw

        file = options.build / "fills.png"
        draw(rates, file)
        print(f"drawn: {file}")


if __name__ == "__main__":
    main()
