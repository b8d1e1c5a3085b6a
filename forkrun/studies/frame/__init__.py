"""Common parts of all studies of `forkrun measure`. A new study consists of

1. a file `forkrun/studies/NAME.py` that makes a `Study` (`study.py` here): it gives each way's time
   or counts as functions for `measure_ways` (`repeats.py`), which runs all ways in turn, round
   after round, and monitors other load on the machine;
2. a file `forkrun/cli/studies/measure/NAME.py` with `HELP`, `DESCRIPTION`, `add_arguments` and
   `study`, which returns the `Study`: `finish.py` there does the rest: table, `--json`, `--plot`,
   exit code; and its name in `KINDS` of `__init__.py` there;
3. its published values in `published.py`, named by the study's `figures`, and its command in
   `docs/published.md`.
"""
