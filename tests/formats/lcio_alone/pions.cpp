// Counts the charged pions of a file of LCIO, and prints their mean momentum along z.
#include <forkrun/formats/lcio/columns.hpp>

#include <cstdio>
#include <cstdlib>

int main(int, char** arguments) {
  using namespace forkrun;
  const auto file = std::make_shared<const lcio::EventFile>(arguments[1]);
  const lcio::WantedMembers wanted{{"MCParticle", {"pdg", "momentum.z"}}};
  lcio::EventBlock events{wanted};
  events.load({{file, 0, std::ssize(file->events())}});  // records are read, headers inflated
  const auto* particles = events.objects("MCParticle", "pdg");  // inflated, and taken apart
  const auto pdg = particles->as<std::int32_t>("pdg");
  const auto pz = particles->as<float>("momentum.z");
  double n = 0, sum = 0;
  for (std::size_t i = 0; i < pdg.size(); ++i) {
    if (std::abs(pdg[i]) == 211) {
      ++n;
      sum += pz[i];
    }
  }
  std::printf("%zu events, %.0f pions, %.4f GeV\n", events.size(), n, sum / n);
}
