// A plugin as a user writes it: built outside the project, against the installed headers.
#include <forkrun/module.hpp>

class ManyJets final : public forkrun::Filter {
 public:
  explicit ManyJets(forkrun::Construction& construction)
      : n_{construction.parameters().get<int>("n")},
        pt_min_{construction.parameters().get<float>("pt_min", 30.0F)},
        pt_{construction.consumes_jagged<float>("Jet_pt")} {}

  void filter(const forkrun::EventBlock& block, std::span<std::uint8_t> accept) override {
    const auto pt = block.get(pt_);
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      int n = 0;
      for (const float value : pt[event]) {
        n += value > pt_min_;
      }
      accept[event] = n >= n_;
    }
  }

 private:
  int n_;
  float pt_min_;
  forkrun::JaggedInput<float> pt_;
};

/// Two columns filled together; "n_ends": how often each event ends.
class Copies final : public forkrun::Producer {
 public:
  explicit Copies(forkrun::Construction& construction)
      : n_ends_{construction.parameters().get<int>("n_ends", 1)},
        pt_{construction.consumes_jagged<float>("Jet_pt")},
        copy_{construction.produces_jagged<float>("Copy_pt")},
        good_{construction.produces_jagged<bool>("Copy_good")} {}

  void produce(const forkrun::EventBlock& block) override {
    const auto pt = block.get(pt_);
    auto copies = forkrun::append(block, copy_, good_);
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      for (const float value : pt[event]) {
        copies.push_back(value, value > 15);
      }
      if (copies.size() != pt[event].size()) {
        throw forkrun::Error{"records of earlier events are counted"};
      }
      for (int i = 0; i < n_ends_; ++i) {
        copies.end_event();
      }
      if (n_ends_ == 0) {
        return;
      }
    }
  }

 private:
  int n_ends_;
  forkrun::JaggedInput<float> pt_;
  forkrun::JaggedOutput<float> copy_;
  forkrun::JaggedOutput<bool> good_;
};

FORKRUN_REGISTER_MODULE(ManyJets);
FORKRUN_REGISTER_MODULE(Copies);
