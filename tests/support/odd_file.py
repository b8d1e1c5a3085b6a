"""A file with every kind of branch, in many small baskets, written by ROOT itself."""

from __future__ import annotations

import array
from pathlib import Path
from typing import Any

from tests.server.root_program import call_root

N_EVENTS = 300
VECTORS = {"v_float": "float", "v_bool": "bool", "v_long": "long long"}
LEAVES = {"short": "S", "ushort": "s", "char": "B", "uchar": "b", "long": "L"}
LEAVES |= {"double": "D", "flag": "O"}
CODES = {"S": "h", "s": "H", "B": "b", "b": "B", "L": "q", "D": "d", "O": "b"}
OBJECTS = ("nested", "lorentz")
RECIPES = {"zlib": 101, "lzma": 206, "lz4": 404, "zstd": 505, "none": 0}


def write_odd_file(path: Path, compression: str) -> Path:
    """300 events of run 7, lumis 1 to 3; values depend on the event's number. Written by a process
    of its own: PyROOT changes the one that it is in."""
    call_root(write, str(path), compression)
    return path


def write(path: str, compression: str) -> None:
    import ROOT

    file = ROOT.TFile(path, "RECREATE", "", RECIPES[compression])
    tree = ROOT.TTree("Events", "all kinds of branches")
    columns = _scalars(tree) | _arrays(tree)
    objects = _objects(tree, ROOT)
    for branch in tree.GetListOfBranches():
        branch.SetBasketSize(700)
    for event in range(N_EVENTS):
        _fill(columns, objects, event)
        tree.Fill()
    tree.Write()
    file.Close()


def _scalars(tree: Any) -> dict[str, Any]:
    columns = {"run": array.array("I", [7]), "luminosityBlock": array.array("I", [0])}
    columns["event"] = array.array("Q", [0])
    for name, letter in (("run", "i"), ("luminosityBlock", "i"), ("event", "l")):
        tree.Branch(name, columns[name], f"{name}/{letter}")
    for name, letter in LEAVES.items():
        columns[name] = array.array(CODES[letter], [0])
        tree.Branch(name, columns[name], f"{name}/{letter}")
    return columns


def _arrays(tree: Any) -> dict[str, Any]:
    columns = {"fixed": array.array("f", [0] * 3), "nX": array.array("i", [0])}
    columns["X_a"] = array.array("d", [0] * 10)
    for name, leaf in (("fixed", "fixed[3]/F"), ("nX", "nX/I"), ("X_a", "X_a[nX]/D")):
        tree.Branch(name, columns[name], leaf)
    return columns


def _objects(tree: Any, root: Any) -> dict[str, Any]:
    objects = {name: root.std.vector(kind)() for name, kind in VECTORS.items()}
    objects |= {"text": root.std.string(), "nested": root.std.vector("std::vector<float>")()}
    objects["lorentz"] = root.TLorentzVector()
    for name, value in objects.items():
        tree.Branch(name, value)
    return objects


def _fill(columns: dict[str, Any], objects: dict[str, Any], event: int) -> None:
    columns["luminosityBlock"][0] = 1 + event // 100
    columns["event"][0] = 1000 + event
    for name, letter in LEAVES.items():
        sign = 1 if letter in "sbO" else -1
        columns[name][0] = sign * (event % (2 if letter == "O" else 100))
    columns["fixed"][:] = array.array("f", [event, event + 0.5, -event])
    columns["nX"][0] = event % 6
    columns["X_a"][: event % 6] = array.array("d", [event + 0.1 * i for i in range(event % 6)])
    for name in (*VECTORS, "nested"):
        objects[name].clear()
    for i in range(event % 4):
        objects["v_float"].push_back(event + 0.5 * i)
        objects["v_bool"].push_back(i % 2 == 0)
        objects["v_long"].push_back(-event * 10**12 - i)
    objects["nested"].resize(event % 3)
    for i in range(event % 3):
        objects["nested"][i].push_back(event + i)
    objects["text"].assign(f"event {event} " * (event % 5))
    objects["lorentz"].SetPtEtaPhiM(event, 0.1, 0.2, 0.3)
