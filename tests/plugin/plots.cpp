// Histograms with every kind of axis, filled by many threads.
#include <string>
#include <vector>

#include <forkrun/module.hpp>

using namespace forkrun;

class Plots final : public Analyzer {
 public:
  explicit Plots(Construction& construction)
      : event_{construction.consumes_scalar<std::uint64_t>("event")},
        regular_{construction.book("regular", "MET", RegularAxis{40, 0, 100, "MET [GeV]"})},
        plane_{construction.book("plane", "", VariableAxis{{0, 10, 30, 100}, "MET"},
                                 IntegerAxis{0, 3, "n", {.overflow = false}})},
        circle_{construction.book("circle", "", RegularAxis{5, 0, 7, "phi", {.circular = true}})},
        texts_{construction.book("texts", "", TextAxis{{"odd"}, "parity"})},
        growing_{construction.book("growing", "", TextAxis{{"n9"}, "last", Growth::growing},
                                   NumberAxis{{2}, "rest", Growth::growing})},
        profile_{construction.book_profile("profile", "", RegularAxis{10, 0, 100, "MET"})} {
    construction.set_concurrency(Concurrency::reentrant);
    const auto memory = construction.parameters().get<std::string>("memory", "automatic");
    plane_.set_memory(memory == "shared"     ? HistogramMemory::shared
                      : memory == "buffered" ? HistogramMemory::buffered
                                             : HistogramMemory::automatic);
  }

  void analyze(const EventBlock& block, Mask selected) override {
    std::vector<double> met;
    for (std::size_t i = 0; i < block.n_events(); ++i) {
      const auto event = static_cast<std::int64_t>(block.get(event_)[i]);
      met.push_back(static_cast<double>(event * 37 % 1009) / 9 - 3);
      if (selected[i] != 0) {
        fill(met.back(), event);
      }
    }
    regular_.fill_columns(met);
  }

 private:
  void fill(double met, std::int64_t event) {
    const double weight = 1 / (5 + met) * (event % 3 == 0 ? -1e9 : 1);
    plane_.fill(met, event % 5 - 1, weight);
    circle_.fill(met, weight);
    texts_.fill(event % 2 == 1 ? "odd" : "even", weight);
    growing_.fill("n" + std::to_string(event % 10), static_cast<std::int32_t>(event % 4), weight);
    profile_.fill(met, static_cast<double>(event), weight);
  }

  ScalarInput<std::uint64_t> event_;
  HistogramOf<RegularAxis>& regular_;
  HistogramOf<VariableAxis, IntegerAxis>& plane_;
  HistogramOf<RegularAxis>& circle_;
  HistogramOf<TextAxis>& texts_;
  HistogramOf<TextAxis, NumberAxis>& growing_;
  ProfileOf<RegularAxis>& profile_;
};

FORKRUN_REGISTER_MODULE(Plots);
