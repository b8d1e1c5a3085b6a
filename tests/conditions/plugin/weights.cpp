// Modules in C++ that read conditions: an array, a table, and what they make of it themselves.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <forkrun/module.hpp>

/// scale: (n_events,) float64, the first element of the array `scale`.
class Scale final : public forkrun::Producer {
 public:
  explicit Scale(forkrun::Construction& construction)
      : array_{construction.condition_array<double>("scale")},
        scale_{construction.produces_scalar<double>("scale")} {
    construction.consumes_scalar<std::uint64_t>("event");
  }

  void produce(const forkrun::EventBlock& block) override {
    for (double& scale : block.make(scale_)) {
      scale = block.condition(array_)(0);
    }
  }

 private:
  forkrun::ConditionInput<forkrun::ArrayView<double>> array_;
  forkrun::ScalarOutput<double> scale_;
};

class WrongType final : public forkrun::Producer {
 public:
  explicit WrongType(forkrun::Construction& construction) {
    construction.condition_array<float>("scale");
    construction.produces_scalar<double>("scale");
  }
  void produce(const forkrun::EventBlock& /*block*/) override {}
};

/// Jet_sf, Jet_sf_error: twin of Weights in modules.py.
class Weights final : public forkrun::Producer {
 public:
  explicit Weights(forkrun::Construction& construction)
      : table_{construction.condition_table("sf", 2)},
        pt_{construction.consumes_jagged<float>("Jet_pt")},
        event_{construction.consumes_scalar<std::uint64_t>("event")},
        sf_{construction.produces_jagged<double>("Jet_sf")},
        error_{construction.produces_jagged<double>("Jet_sf_error")} {}

  void produce(const forkrun::EventBlock& block) override {
    const auto& table = block.condition(table_);
    const auto events = block.get(event_);
    fill(block, sf_, [&](std::size_t event, float pt) { return table(pt, eta(events[event])); });
    fill(block, error_,
         [&](std::size_t event, float pt) { return table.error(pt, eta(events[event])); });
  }

 private:
  static double eta(std::uint64_t event) { return static_cast<double>(event % 7) - 3.0; }

  template <typename Value>
  void fill(const forkrun::EventBlock& block, forkrun::JaggedOutput<double> output, Value value) {
    const auto pt = block.get(pt_);
    auto& column = block.make(output);
    const auto offsets = column.resize_offsets(block.n_events());
    std::ranges::copy(pt.offsets(), offsets.begin());
    auto* values = reinterpret_cast<double*>(column.resize_values(pt.values().size()));
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      for (const float jet : pt[event]) {
        *values++ = value(event, jet);
      }
    }
  }

  forkrun::ConditionInput<forkrun::BinnedTable> table_;
  forkrun::JaggedInput<float> pt_;
  forkrun::ScalarInput<std::uint64_t> event_;
  forkrun::JaggedOutput<double> sf_;
  forkrun::JaggedOutput<double> error_;
};

/// cumulated: (n_events,) float64, the sum of an array, which is made once for each payload.
class Cumulated final : public forkrun::Producer {
 public:
  explicit Cumulated(forkrun::Construction& construction)
      : sum_{construction.condition<double>(
            "scale",
            [](const forkrun::ConditionPayload& payload) {
              double sum = 0;
              for (const double value : forkrun::ArrayView<double>{payload.array("")}.values()) {
                sum += value;
              }
              return std::make_shared<const double>(sum);
            })},
        out_{construction.produces_scalar<double>("cumulated")} {
    construction.consumes_scalar<std::uint64_t>("event");
  }
  void produce(const forkrun::EventBlock& block) override {
    std::ranges::fill(block.make(out_), block.condition(sum_));
  }

 private:
  forkrun::ConditionInput<double> sum_;
  forkrun::ScalarOutput<double> out_;
};

/// n_jets: (n_events,) int64. Notes each construction in a file.
class Noted final : public forkrun::Producer {
 public:
  explicit Noted(forkrun::Construction& construction)
      : pt_{construction.consumes_jagged<float>("Jet_pt")},
        n_{construction.produces_scalar<std::int64_t>("n_jets")} {
    std::ofstream{construction.parameters().get<std::string>("notes"), std::ios::app}
        << construction.label() << '\n';
  }
  void produce(const forkrun::EventBlock& block) override {
    const auto pt = block.get(pt_);
    for (std::size_t event = 0; auto& n : block.make(n_)) {
      n = static_cast<std::int64_t>(pt[event++].size());
    }
  }

 private:
  forkrun::JaggedInput<float> pt_;
  forkrun::ScalarOutput<std::int64_t> n_;
};

FORKRUN_REGISTER_MODULE(Noted);
FORKRUN_REGISTER_MODULE(Scale);
FORKRUN_REGISTER_MODULE(WrongType);
FORKRUN_REGISTER_MODULE(Weights);
FORKRUN_REGISTER_MODULE(Cumulated);
