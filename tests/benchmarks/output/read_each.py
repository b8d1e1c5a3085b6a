"""Reads all columns of an RNTuple, one after the other, and prints wall and CPU seconds of each of
two times, then the peak of the process in MB: as a program, it imports nothing else.

    read_each.py FILE
"""

from __future__ import annotations

import resource
import sys
import time

from forkrun import _core


def each_once(path: str) -> list[str]:
    """Columns of an RNTuple, those that have two names under the first of them."""
    names: dict[str, str] = {}
    for name, kind, *_ in _core.index_tree(path, "Events", "", "", "", 0)["branches"]:
        if not kind.startswith("other:"):
            names.setdefault(name.replace(".", "_"), name)
    return list(names.values())


def main() -> None:
    """Opens it anew each time."""
    path = sys.argv[1]
    names = each_once(path)
    for _ in range(2):
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        tree = _core.OpenTree(path, "Events")
        for name in names:
            tree.read([name])
        print(time.perf_counter() - start_s, time.process_time() - start_cpu_s)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    main()
