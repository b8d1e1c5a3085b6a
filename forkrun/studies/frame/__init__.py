"""What all studies of `forkrun measure` share. A new study is

1. a folder `forkrun/studies/NAME/` that makes a `Study` (`study.py` here): it says how long each
   way takes, or what it counts, as functions for `measure_ways` (`repeats.py`), which runs all ways
   in turn, round after round, and watches what others do on the machine meanwhile;
2. a file `forkrun/cli/studies/measure/NAME.py` with `HELP`, `DESCRIPTION`, `add_arguments` and
   `study`, which gives the `Study`: `finish.py` there does the rest, table, `--json`, `--plot`,
   exit code; and its name in `KINDS` of `__init__.py` there;
3. its published values in `published.py`, named by the study's `figures`, and its command in
   `docs/published.md`.
"""
