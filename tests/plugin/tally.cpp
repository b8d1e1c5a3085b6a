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

FORKRUN_REGISTER_MODULE(ManyJets);
