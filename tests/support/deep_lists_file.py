"""A tree with lists within each other, three and four deep, by ROOT."""

from __future__ import annotations

from pathlib import Path

from tests.server.root_program import call_root, declare

N_EVENTS = 120
COLUMNS = {
    "deep": "float32[][][]",
    "deeper": "int32[][][][]",
    "words": "string[][]",
    "hits.charges": "float32[][][]",
    "hits.words": "string[][]",
}
_CODE = """
#include <TBranchElement.h>
#include <TClass.h>
#include <TFile.h>
#include <TTree.h>

struct DeepHit { std::vector<std::vector<float>> charges; std::vector<std::string> words; };

template <typename T>
void add_lists(TTree& tree, const char* name, const char* type, T& all) {
  auto* proxy = TClass::GetClass(type)->GetCollectionProxy();
  auto* branch = new TBranchElement(&tree, name, proxy, 2000, 0);
  tree.GetListOfBranches()->Add(branch);
  branch->SetObject(&all);
}

void write_deep(const char* path, int n) {
  TFile file{path, "RECREATE"};
  TTree tree{"Events", ""};
  int event;
  std::vector<std::vector<std::vector<float>>> deep;
  std::vector<std::vector<std::vector<std::vector<int>>>> deeper;
  std::vector<std::vector<std::string>> words;
  std::vector<DeepHit> hits;
  tree.Branch("event", &event, "event/I");
  add_lists(tree, "deep", "vector<vector<vector<float>>>", deep);
  add_lists(tree, "deeper", "vector<vector<vector<vector<int>>>>", deeper);
  add_lists(tree, "words", "vector<vector<string>>", words);
  add_lists(tree, "hits", "vector<DeepHit>", hits);
  for (event = 0; event < n; ++event) {
    deep.clear(); deeper.clear(); words.clear(); hits.clear();
    for (int i = 0; i < event % 3; ++i) {
      deep.emplace_back();
      words.emplace_back();
      hits.emplace_back();
      for (int j = 0; j < (event + i) % 4; ++j) {
        deep.back().emplace_back((i + j) % 3, event + i + 0.25f * j);
        words.back().emplace_back(j * 90, 'a' + event % 26);
        hits.back().charges.emplace_back(j, 0.5f * event);
        hits.back().words.emplace_back(j, 'b');
      }
      deeper.push_back({{}, {{event, i}, {}}});
    }
    tree.Fill();
  }
  tree.Write();
}
"""


def write_deep(path: Path) -> Path:
    call_root(_write, str(path))
    return path


def _write(path: str) -> None:
    import ROOT

    declare(_CODE)
    ROOT.write_deep(path, N_EVENTS)
