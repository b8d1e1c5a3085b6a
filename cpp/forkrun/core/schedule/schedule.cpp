#include <forkrun/core/schedule/schedule.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/schedule/graph.hpp>

namespace forkrun {

Schedule::Schedule(std::vector<ModuleRecord> modules, std::unique_ptr<Graph> graph)
    : modules_{std::move(modules)}, graph_{std::move(graph)} {}

Schedule::~Schedule() = default;

template <typename Call>
void Schedule::call_all(const std::string& message, Call call) {
  for (auto& record : modules_) {
    try {
      call(*record.module);
      for (const auto& clone : record.clones) {
        call(*clone);
      }
    } catch (...) {
      rethrow_of_module("module \"" + record.label + "\" failed in " + message);
    }
  }
}

void Schedule::pre_fork() {
  call_all("pre_fork", [](Module& module) { module.pre_fork(); });
}

void Schedule::post_fork(int child) {
  call_all("post_fork", [child](Module& module) { module.post_fork(child); });
}

void Schedule::begin_job() {
  call_all("begin_job", [](Module& module) { module.begin_job(); });
}

void Schedule::end_job() {
  call_all("end_job", [](Module& module) { module.end_job(); });
}

void Schedule::make_clones(std::size_t n_clones) {
  for (auto& record : modules_) {
    record.clones.clear();
    for (std::size_t i = 0; record.instances == Instances::per_block && i < n_clones; ++i) {
      auto clone = record.module->clone();
      if (!clone) {
        throw Error{"module \"" + record.label +
                    "\": its clone() returns nothing, though it did before"};
      }
      record.clones.push_back(std::move(clone));
    }
  }
}

std::vector<BookedHistogram> Schedule::histograms() const {
  std::vector<BookedHistogram> booked;
  for (const auto& record : modules_) {
    for (const auto& histogram : record.histograms) {
      booked.push_back({&record.label, histogram.get()});
    }
  }
  return booked;
}

std::vector<DeclaredAccumulator> Schedule::accumulators() const {
  std::vector<DeclaredAccumulator> declared;
  for (const auto& record : modules_) {
    for (const auto& accumulator : record.accumulators) {
      declared.push_back({&record.label, accumulator.get()});
    }
  }
  return declared;
}

void Schedule::clear_accumulators() {
  for (auto& record : modules_) {
    for (auto& accumulator : record.accumulators) {
      accumulator->clear();
    }
  }
}

bool Schedule::wants_whole_lumis() const {
  return std::ranges::any_of(modules_, &ModuleRecord::sees_one_lumi);
}

bool Schedule::wants_one_lumi(std::size_t n_blocks) const {
  return std::ranges::any_of(graph_->nodes, [n_blocks](const Node& node) {
    const bool is_apart = node.record != nullptr && node.record->sees_one_lumi();
    const bool is_in_order = n_blocks == 1 || node.in_order;
    return is_apart && !(node.is_cut && (is_in_order || !node.record->has_transitions()));
  });
}

std::span<const ModuleRecord> Schedule::modules() const { return modules_; }

void Schedule::share_histograms(std::size_t n_threads) {
  for (auto& record : modules_) {
    const auto concurrency = record.concurrency();
    const bool has_several =
        concurrency == Concurrency::reentrant || concurrency == Concurrency::limited;
    for (const auto& histogram : record.histograms) {
      if (n_threads > 1 && has_several) {
        histogram->share(n_threads);
      }
    }
  }
}

void Schedule::clear_histograms() {
  for (auto& record : modules_) {
    for (auto& histogram : record.histograms) {
      histogram->clear();
    }
  }
}

}  // namespace forkrun
