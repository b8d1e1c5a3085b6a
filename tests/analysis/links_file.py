"""A file with ElementLinks, as ATLAS has them in PHYSLITE."""

from __future__ import annotations

from pathlib import Path

from tests.server.root_program import call_root, declare

N_EVENTS = 60
_CODE = """
#include <TBranchElement.h>
#include <TClass.h>
#include <TFile.h>
#include <TTree.h>

struct ElementLinkBase { unsigned m_persKey = 0, m_persIndex = 0; };
struct Tracks {};
struct Particles {};
template <typename T> struct ElementLink : ElementLinkBase {};
using Link = ElementLink<Particles>;
using TrackLink = ElementLink<Tracks>;

template <typename T>
void add_links(TTree& tree, const char* name, const char* type, T& all, int level) {
  auto* proxy = TClass::GetClass(type)->GetCollectionProxy();
  auto* branch = new TBranchElement(&tree, name, proxy, 2000, level);
  tree.GetListOfBranches()->Add(branch);
  branch->SetObject(&all);
}

void write_links(const char* path, int n) {
  const unsigned in_muons = 342174277, in_electrons = 394100163, in_tracks = 0x2E42DB0B;
  TFile file{path, "RECREATE"};
  TTree tree{"CollectionTree", ""};
  std::vector<float> pt, muons, electrons, tracks;
  std::vector<int> charge;
  std::vector<Link> truth;
  std::vector<std::vector<TrackLink>> links;
  tree.Branch("AnalysisElectronsAuxDyn.pt", &pt);
  tree.Branch("TruthMuonsAuxDyn.pt", &muons);
  tree.Branch("TruthElectronsAuxDyn.pt", &electrons);
  tree.Branch("GSFTrackParticlesAuxDyn.phi", &tracks);
  tree.Branch("GSFTrackParticlesAuxDyn.charge", &charge);
  add_links(tree, "AnalysisElectronsAuxDyn.truthParticleLink", "vector<ElementLink<Particles>>",
            truth, 99);
  add_links(tree, "AnalysisElectronsAuxDyn.trackParticleLinks",
            "vector<vector<ElementLink<Tracks>>>", links, 0);
  for (int i = 0; i < n; ++i) {
    pt.assign(i % 4, 10.f * i);
    muons.clear(); electrons.clear(); tracks.clear(); truth.clear(); links.clear();
    charge.clear();
    for (int k = 0; k < 3; ++k) {
      muons.push_back(100 * i + k);
      electrons.push_back(100 * i + 10 + k);
    }
    for (int k = 0; k < 5; ++k) { tracks.push_back(i + 0.125f * k); charge.push_back(i - k); }
    for (int k = 0; k < i % 4; ++k) {
      Link link;  // of every fourth: to nothing
      const unsigned keys[4] = {in_muons, in_electrons, 0, 12345};
      link.m_persKey = keys[(i + k) % 4];
      link.m_persIndex = k;
      truth.push_back(link);
      std::vector<TrackLink> own((i + k) % 3);
      for (size_t j = 0; j < own.size(); ++j) {
        own[j].m_persKey = in_tracks;
        own[j].m_persIndex = j + k;
      }
      links.push_back(own);
    }
    tree.Fill();
  }
  tree.Write();
}
"""


def write_links(path: Path) -> Path:
    """Event i has i % 4 electrons; those lead to truth muons or electrons of several containers,
    and to some of five tracks each."""
    call_root(_write, str(path))
    return path


def _write(path: str) -> None:
    import ROOT

    declare(_CODE)
    ROOT.write_links(path, N_EVENTS)
