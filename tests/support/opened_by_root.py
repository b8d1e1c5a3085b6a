"""Files as ROOT's own classes read them, in a process of their own whose terminal is watched."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.jobs import ROOT, environment

Contents = dict[str, Any]
"""By path within the file: of a tree its entries and the bytes of those that were read, else the
class."""


def open_with_root(files: Sequence[Path], step: int = 1) -> list[Contents]:
    """What is in each file, of which every object and every `step`-th entry was read. Whatever ROOT
    says while it does so is an error: what forkrun writes gives no reason to."""
    command = [sys.executable, "-W", "ignore", "-m", __name__, str(step), *map(str, files)]
    ended = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=500
    )
    assert (ended.stderr, ended.returncode) == ("", 0), ended.stdout
    contents: list[Contents] = json.loads(ended.stdout)
    return contents


def _contents(folder: Any, step: int, prefix: str = "") -> Contents:
    contents: Contents = {}
    for key in folder.GetListOfKeys():
        path = prefix + key.GetName()
        read = key.ReadObj()
        if read.InheritsFrom("TDirectory"):
            contents |= _contents(read, step, path + "/")
        elif read.InheritsFrom("TTree"):
            n_entries = read.GetEntries()
            n_bytes = sum(read.GetEntry(entry) for entry in range(0, n_entries, step))
            contents[path] = [n_entries, n_bytes]
        else:
            contents[path] = read.ClassName()
    return contents


def _main() -> None:
    import ROOT

    contents = []
    step, *paths = sys.argv[1:]
    for path in paths:
        file = ROOT.TFile.Open(path)
        assert not file.TestBit(ROOT.TFile.kRecovered), path
        contents.append(_contents(file, int(step)))
        assert file.GetStreamerInfoList(), path
        file.Close()
    print(json.dumps(contents))


if __name__ == "__main__":
    _main()
