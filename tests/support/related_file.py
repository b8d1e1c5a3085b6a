"""A tree with an index of its events and a friend, both stored with it; by ROOT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.server.root_program import call_root, declare

N_EVENTS = 10
_WRITE = """
void write_related(const char* path, const char* other, int first) {
  {
    TFile file(other, "recreate");
    TTree tree("Fr", "");
    Float_t y;
    tree.Branch("y", &y, "y/F");
    for (int e = 0; e < 10; ++e) { y = first + e; tree.Fill(); }
    tree.Write();
  }
  TFile file(path, "recreate");
  TTree tree("Events", "");
  UInt_t run, lumi = 1;
  ULong64_t event;
  tree.Branch("run", &run, "run/i");
  tree.Branch("luminosityBlock", &lumi, "luminosityBlock/i");
  tree.Branch("event", &event, "event/l");
  for (int e = 0; e < 10; ++e) {
    run = 5 - e / 4;
    event = first + 9 - e;
    tree.Fill();
  }
  tree.AddFriend("Fr", other);
  tree.BuildIndex("run", "event");
  tree.Write();
}"""


def write_related(path: Path, first: int) -> Path:
    """Ten events of three runs, neither of which is in order; beside it the file of its friend."""
    other = path.with_name(f"friend_{path.name}")
    call_root(write, str(path), str(other), first)
    return path


def write(path: str, other: str, first: int) -> None:
    import ROOT

    declare(_WRITE)
    ROOT.write_related(path, other, first)


def relations(path: Path) -> dict[str, Any]:
    """`entries`: for each (run, event) of the tree the entry where its index finds it; None without
    index. `friends`: the files of those that are stored with it."""
    found: dict[str, Any] = call_root(read, str(path))
    return found


def read(path: str) -> dict[str, Any]:
    import ROOT

    file = ROOT.TFile(path)
    tree = file.Get("Events")
    friends = [element.GetTitle() for element in (tree.GetListOfFriends() or [])]
    ids = []
    for entry in range(tree.GetEntries()):
        tree.GetEntry(entry)
        ids.append((int(tree.run), int(tree.event)))
    index = tree.GetTreeIndex()
    entries = [int(index.GetEntryNumberWithIndex(*each)) for each in ids] if index else None
    return {"entries": entries, "friends": friends}
