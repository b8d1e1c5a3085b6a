"""Common parts of all studies of `forkrun measure`. A new study consists of

1. a file `forkrun/studies/NAME.py` that makes a `Study` (`study.py` here): it gives each way's time
   or counts as functions for `measure_ways` (`repeats.py`), which runs all ways in turn, round
   after round, and monitors other load on the machine;
2. a `Kind` in `forkrun/cli/studies/measure/kinds.py`: its help, its own options, and the call that
   returns the `Study`; `__init__.py` there does the rest: table, `--json`, `--plot`, exit code;
3. its published values in `published.py`, named by the study's `figures`, and its command in
   `docs/published.md`.
"""
