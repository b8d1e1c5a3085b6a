// Accumulators, and columns of other shapes, as a user's plugin has them.
#include <forkrun/module.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

class Counts final : public forkrun::Analyzer {
 public:
  explicit Counts(forkrun::Construction& construction)
      : pt_{construction.consumes_jagged<float>("Jet_pt")},
        n_events_{construction.accumulates<forkrun::CountSum>("n_events")},
        sum_of_pt_{construction.accumulates<forkrun::ExactSum>("sum_of_pt")},
        by_jets_{construction.accumulates<forkrun::SumTable>("by_jets")} {}

  void analyze(const forkrun::EventBlock& block, forkrun::Mask selected) override {
    const auto pt = block.get(pt_);
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      if (selected[event] != 0) {
        n_events_.add();
        sum_of_pt_.add(pt[event]);
        sum_of_pt_.add(1e-30);
        by_jets_.add(std::to_string(pt[event].size()), 1);
        by_jets_.add("weights", 0.1);
      }
    }
  }

 private:
  forkrun::JaggedInput<float> pt_;
  forkrun::CountSum& n_events_;
  forkrun::ExactSum& sum_of_pt_;
  forkrun::SumTable& by_jets_;
};

class Listed final : public forkrun::Analyzer {
 public:
  explicit Listed(forkrun::Construction& construction)
      : every_{construction.parameters().get<int>("every", 50)},
        events_{construction.accumulates<forkrun::ValueList>("events")} {}

  void analyze(const forkrun::EventBlock& block, forkrun::Mask selected) override {
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      const auto number = static_cast<std::int64_t>(block.events()[event]);
      if (selected[event] != 0 && number % every_ == 0) {
        events_.add(number);
        events_.add("event " + std::to_string(number));
      }
    }
  }

 private:
  int every_;
  forkrun::ValueList& events_;
};

/// Copies an array of fixed size, lists of lists and texts, value by value.
class CopyShapes final : public forkrun::Producer {
 public:
  explicit CopyShapes(forkrun::Construction& construction)
      : x_{construction.consumes_fixed<float>("x", {4})},
        floats_{construction.consumes_nested<float>("floats")},
        text_{construction.consumes_jagged<char>("text")},
        texts_{construction.consumes_nested<char>("texts")},
        copied_x_{construction.produces_fixed<float>("copied_x", {4})},
        copied_floats_{construction.produces_nested<float>("copied_floats")},
        length_{construction.produces_scalar<std::int32_t>("length")},
        copied_texts_{construction.produces_nested<char>("copied_texts")} {}

  void produce(const forkrun::EventBlock& block) override {
    const auto x = block.get(x_);
    const auto copied = block.make(copied_x_);
    const auto length = block.make(length_);
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      std::ranges::copy(x[event], copied.begin() + static_cast<std::ptrdiff_t>(4 * event));
      length[event] = static_cast<std::int32_t>(forkrun::text_of(block.get(text_)[event]).size());
    }
    copy(block.get(floats_), block.make(copied_floats_));
    copy(block.get(texts_), block.make(copied_texts_));
  }

 private:
  template <typename T>
  static void copy(const forkrun::NestedView<T>& from, forkrun::Column& to) {
    std::vector<std::int64_t> lists{0};
    std::vector<std::int64_t> ends{0};
    std::vector<T> values;
    for (std::size_t event = 0; event < from.size(); ++event) {
      for (std::size_t i = 0; i < from[event].size(); ++i) {
        values.insert(values.end(), from[event][i].begin(), from[event][i].end());
        ends.push_back(static_cast<std::int64_t>(values.size()));
      }
      lists.push_back(static_cast<std::int64_t>(ends.size()) - 1);
    }
    std::ranges::copy(lists, to.resize_offsets(from.size()).begin());
    std::ranges::copy(ends, to.resize_offsets(ends.size() - 1, 1).begin());
    std::ranges::copy(values, reinterpret_cast<T*>(to.resize_values(values.size())));
  }

  forkrun::FixedInput<float> x_;
  forkrun::NestedInput<float> floats_;
  forkrun::JaggedInput<char> text_;
  forkrun::NestedInput<char> texts_;
  forkrun::FixedOutput<float> copied_x_;
  forkrun::NestedOutput<float> copied_floats_;
  forkrun::ScalarOutput<std::int32_t> length_;
  forkrun::NestedOutput<char> copied_texts_;
};

FORKRUN_REGISTER_MODULE(Counts);
FORKRUN_REGISTER_MODULE(Listed);
FORKRUN_REGISTER_MODULE(CopyShapes);
