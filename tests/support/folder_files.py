"""Files with trees in folders, as ROOT leaves them when they were made at once, changed later, were
not closed, or are larger than 2 GB."""

from __future__ import annotations

import os
from array import array
from pathlib import Path
from typing import Any

from tests.server.root_program import call_root

KINDS = ("small", "changed", "recovered", "large")
_LIMIT = 2_100_000_000
"""From where on ROOT writes places with 8 bytes."""


def write_folders(path: Path, kind: str = "small") -> Path:
    """Events, of 20, in the file; a histogram and trees "dir/c" and "dir/deep/d" in its folders."""
    call_root(write, str(path), kind, anew=True)
    return path


def write(path: str, kind: str) -> None:
    import ROOT

    if kind == "recovered":
        pid = os.fork()
        if pid == 0:
            _write_all(ROOT, path, kind)
            os._exit(0)
        os.waitpid(pid, 0)
        ROOT.gErrorIgnoreLevel = ROOT.kFatal  # says that it recovers it
        ROOT.TFile(path, "UPDATE").Close()
        return
    file = _write_all(ROOT, path, kind)
    if kind == "changed":
        file.Get("dir").SetTitle("another title")
        file.Delete("empty;*")
        file.Close()
        file = ROOT.TFile(path, "UPDATE")
        _write_tree(ROOT, file.Get("dir"), "c", 3)
        file.Get("dir").Delete("c;2")
        file.Get("dir").Delete("gone;*")
    file.Close()


def _write_all(root: Any, path: str, kind: str) -> Any:
    file = root.TFile(path, "RECREATE")
    _write_tree(root, file, "Events", 20)
    folder = file.mkdir("dir", "its title")
    _write_tree(root, folder, "gone" if kind == "changed" else "b", 3)
    if kind == "large":
        file.SetEND(_LIMIT)
        file.GetListOfFree().Last().SetFirst(_LIMIT)
        file.GetListOfFree().Last().SetLast(2 * _LIMIT)
    _write_tree(root, folder, "c", 7)
    deep = folder.mkdir("deep")
    _write_tree(root, deep, "d", 4)
    histogram = root.TH1F("h", "t", 3, 0, 1)
    histogram.SetDirectory(root.nullptr)
    deep.WriteTObject(histogram)
    file.mkdir("empty")
    file.Write()
    return file


def _write_tree(root: Any, folder: Any, name: str, n_entries: int) -> None:
    """Ids, and the square of the event's number. An older cycle holds half of the entries."""
    folder.cd()
    tree = root.TTree(name, f"tree {name}")
    run, lumi, event, x = array("I", [1]), array("I", [1]), array("Q", [0]), array("i", [0])
    tree.Branch("run", run, "run/i")
    tree.Branch("luminosityBlock", lumi, "luminosityBlock/i")
    tree.Branch("event", event, "event/l")
    tree.Branch("x", x, "x/I")
    for number in range(n_entries):
        event[0], x[0] = number, number**2
        tree.Fill()
        if number == n_entries // 2:
            tree.Write()
    tree.Write()
