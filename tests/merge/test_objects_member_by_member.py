"""Objects with a base class that ROOT stores member by member: what cannot be read as columns is
left out of RNTuples by name, and the rest of the file is there."""

from __future__ import annotations

from pathlib import Path

import pytest
import uproot

from tests.server.root_program import call_root, declare
from tests.support.jobs import forkrun

_CODE = """
#include <TBranchElement.h>
#include <TClass.h>
#include <TFile.h>
#include <TTree.h>

class Based : public TObject {
 public:
  float px = 0;
  ClassDef(Based, 1)
};

void write_based(const char* path) {
  TFile file{path, "RECREATE"};
  TTree tree{"Events", ""};
  std::vector<Based> all(3);
  int k = 0;
  tree.Branch("k", &k, "k/I");
  auto* proxy = TClass::GetClass("vector<Based>")->GetCollectionProxy();
  auto* branch = new TBranchElement(&tree, "all", proxy, 32000, 0);
  tree.GetListOfBranches()->Add(branch);
  branch->SetObject(&all);
  for (k = 0; k < 10; ++k) { all[1].px = k; tree.Fill(); }
  file.Write();
}"""
LEFT_OUT = '"Events": "all.px" is left out, for it has no column'


def _write(path: str) -> None:
    import ROOT

    declare(_CODE)
    ROOT.write_based(path)


@pytest.mark.slow
def test_what_cannot_be_a_column_is_left_out_of_an_ntuple_by_name(tmp_path: Path) -> None:
    call_root(_write, str(tmp_path / "in.root"))
    ended = forkrun("convert", "in.root", "out.root", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert LEFT_OUT in ended.out + ended.err
    with uproot.open(tmp_path / "out.root") as file:
        assert file["Events"].keys() == ["k"]
        assert file["Events"]["k"].array().tolist() == list(range(10))
    listed = forkrun("columns", "in.root", "--tree", "Events", cwd=tmp_path)
    assert "stored member by member" in listed.out
    ended = forkrun("merge", "both.root", "in.root", "in.root", cwd=tmp_path)
    assert ended.code == 0, ended.err
    with uproot.open(tmp_path / "in.root") as one, uproot.open(tmp_path / "both.root") as both:
        before, after = (file["Events"]["all"] for file in (one, both))
        assert after.num_entries == 2 * before.num_entries
        assert after.interpretation.typename == before.interpretation.typename
