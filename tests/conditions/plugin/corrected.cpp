// A module that evaluates a correction of correctionlib: twin of Corrected in modules.py.
#include <algorithm>
#include <cstddef>

#include <forkrun/conditions/correctionlib.hpp>

class Corrected final : public forkrun::Producer {
 public:
  explicit Corrected(forkrun::Construction& construction)
      : jec_{forkrun::correction_of(construction, "jec",
                                    construction.parameters().get<std::string>("name", "jec"))},
        set_{forkrun::correction_set(construction, "jec")},
        pt_{construction.consumes_jagged<float>("Jet_pt")},
        corrected_{construction.produces_jagged<double>("Jet_c")} {}

  void produce(const forkrun::EventBlock& block) override {
    const auto& jec = block.condition(jec_);
    const auto pt = block.get(pt_);
    auto& column = block.make(corrected_);
    std::ranges::copy(pt.offsets(), column.resize_offsets(block.n_events()).begin());
    auto* values = reinterpret_cast<double*>(column.resize_values(pt.values().size()));
    for (const float jet : pt.values()) {
      *values++ = jec.evaluate({double{jet}});
    }
    (void)block.condition(set_).at("jec");  // throws if there is none
  }

 private:
  forkrun::ConditionInput<correction::Correction> jec_;
  forkrun::ConditionInput<correction::CorrectionSet> set_;
  forkrun::JaggedInput<float> pt_;
  forkrun::JaggedOutput<double> corrected_;
};

FORKRUN_REGISTER_MODULE(Corrected);
