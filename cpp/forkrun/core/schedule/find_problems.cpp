#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <forkrun/core/data/nearest_name.hpp>
#include <forkrun/core/schedule/compile_graph.hpp>

namespace forkrun {

namespace {

std::vector<std::string> labels_of(const JobDescription& job) {
  std::vector<std::string> labels;
  labels.reserve(job.modules.size());
  for (const auto& record : job.modules) {
    labels.push_back(record.label);
  }
  return labels;
}

/// `module "dimuon"`, `output "events"`
std::vector<std::string> descriptions_of(const JobDescription& job) {
  std::vector<std::string> descriptions;
  descriptions.reserve(job.modules.size());
  for (const auto& record : job.modules) {
    descriptions.push_back((record.kind == ModuleKind::output ? "output \"" : "module \"") +
                           record.label + "\"");
  }
  return descriptions;
}

void check_unique(const std::string& what, const std::vector<std::string>& names,
                  std::vector<std::string>& problems) {
  std::set<std::string> seen;
  for (const auto& name : names) {
    if (!seen.insert(name).second) {
      problems.push_back(std::string{"there are two "}.append(what).append(" \"" + name + "\""));
    }
  }
}

using KindsByLabel = std::map<std::string_view, ModuleKind>;

std::string check_path_label(const JobDescription& job, const KindsByLabel& kinds,
                             const PathDescription& path, const std::string& label) {
  const auto found = kinds.find(label);
  if (found != kinds.end() && found->second != ModuleKind::producer &&
      found->second != ModuleKind::output) {
    return {};
  }
  const auto start = "path \"" + path.name + "\" names \"" + label + "\"";
  if (found == kinds.end()) {
    return start + ", which is not a module" + nearest_name_hint(label, labels_of(job));
  }
  if (found->second == ModuleKind::producer) {
    return start +
           ", a producer: a path has filters and analyzers, and their inputs are "
           "made on demand";
  }
  return start + ", an output: say in the output which paths it writes";
}

void check_paths(const JobDescription& job, std::vector<std::string>& problems) {
  KindsByLabel kinds;
  for (const auto& record : job.modules) {
    kinds.emplace(record.label, record.kind);
  }
  for (const auto& path : job.paths) {
    for (const auto& label : path.labels) {
      auto problem = check_path_label(job, kinds, path, label);
      if (!problem.empty()) {
        problems.push_back(std::move(problem));
      }
    }
  }
}

std::vector<std::string> names_of(const std::vector<PathDescription>& paths) {
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const auto& path : paths) {
    names.push_back(path.name);
  }
  return names;
}

void check_outputs(const JobDescription& job, std::vector<std::string>& problems) {
  const auto paths = names_of(job.paths);
  const std::set<std::string_view> known{paths.begin(), paths.end()};
  for (const auto& output : job.outputs) {
    for (const auto& path : output.paths) {
      if (!known.contains(path)) {
        problems.push_back("output \"" + output.label + "\" writes path \"" + path +
                           "\", which does not exist" + nearest_name_hint(path, paths));
      }
    }
  }
}

void check_products_of(const ModuleRecord& record, bool makes_products,
                       std::vector<std::string>& problems) {
  if (makes_products && record.kind != ModuleKind::producer) {
    problems.push_back("module \"" + record.label + "\" declares products, but is not a producer");
  }
}

void check_histograms_of(const ModuleRecord& record, std::vector<std::string>& problems) {
  if (!record.histograms.empty() && record.kind != ModuleKind::analyzer) {
    problems.push_back("module \"" + record.label + "\" books histograms, but is not an analyzer");
  }
}

/// Other modules see blocks in any order, and again after a failure.
void check_accumulators_of(const ModuleRecord& record, std::vector<std::string>& problems) {
  if (!record.accumulators.empty() && record.kind != ModuleKind::analyzer) {
    problems.push_back("module \"" + record.label + "\" accumulates, but is not an analyzer");
  }
  const auto concurrency = record.concurrency();
  const bool has_several =
      concurrency == Concurrency::reentrant || concurrency == Concurrency::limited;
  for (const auto& accumulator : record.accumulators) {
    if (has_several && accumulator->is_ordered()) {
      problems.push_back("module \"" + record.label + "\" accumulates a list, \"" +
                         accumulator->name() +
                         "\", but sees several blocks at once: leave its concurrency at \"one\"");
    }
  }
}

void check_instances_of(const ModuleRecord& record, std::vector<std::string>& problems) {
  if (record.instances == Instances::shared) {
    return;
  }
  const auto start = "module \"" + record.label + "\" cannot have one object per block: it ";
  if (record.kind == ModuleKind::output) {
    problems.push_back(start + "is an output");
  } else if (const auto clone = record.module->clone(); !clone) {
    problems.push_back(start + "has no clone()");
  } else if (const auto& original = *record.module, &other = *clone;
             typeid(original) != typeid(other)) {
    problems.push_back(start + "has a clone() that makes an object of another class");
  }
}

void check_external(const ModuleRecord& record, std::vector<std::string>& problems) {
  const bool is_external = dynamic_cast<const External*>(record.module.get()) != nullptr;
  if (is_external && record.kind != ModuleKind::producer && record.kind != ModuleKind::filter) {
    problems.push_back("module \"" + record.label +
                       "\" has external work, but is neither a producer nor a filter");
  }
}

/// Outputs share the lane of the source, so nothing can be made while one writes.
void check_asking_outputs(const JobDescription& job, std::vector<std::string>& problems) {
  for (const auto& [module, product, type, when] : job.products.consumptions()) {
    const auto& record = job.modules[module];
    if (when == Consumption::When::asked && record.kind == ModuleKind::output) {
      problems.push_back(
          "output \"" + record.label + "\" may consume \"" + job.products.products()[product].name +
          "\", but outputs cannot request products while they write: declare it with consumes()");
    }
  }
}

void check_kinds(const JobDescription& job, std::vector<std::string>& problems) {
  std::vector<bool> makes_products(job.modules.size());
  for (const auto& product : job.products.products()) {
    if (product.module != none) {
      makes_products[product.module] = true;
    }
  }
  for (std::uint32_t number = 0; number < job.modules.size(); ++number) {
    if (job.modules[number].module) {  // Else its constructor threw, already noted as a problem.
      check_products_of(job.modules[number], makes_products[number], problems);
      check_histograms_of(job.modules[number], problems);
      check_accumulators_of(job.modules[number], problems);
      check_instances_of(job.modules[number], problems);
      check_external(job.modules[number], problems);
    }
  }
}

/// Follows the flow of products, looking for a cycle.
class CycleSearch {
 public:
  explicit CycleSearch(const JobDescription& job)
      : job_{job}, consumers_(job.modules.size()), states_(job.modules.size()) {
    for (const auto& consumption : job.products.consumptions()) {
      const auto maker = job.products.products()[consumption.product].module;
      if (maker != none) {
        consumers_[maker].insert(consumption.module);
      }
    }
  }

  std::vector<std::string> find() {
    for (std::uint32_t module = 0; module < consumers_.size(); ++module) {
      visit(module);
    }
    return std::move(cycles_);
  }

 private:
  enum class State : std::uint8_t { unseen, on_the_way, done };

  /// On a list instead of the stack: chains of modules may be long.
  void visit(std::uint32_t module) {
    enter(module);
    while (!way_.empty()) {
      const auto last = way_.back();
      auto& next = next_.back();
      if (next == consumers_[last].end()) {
        states_[last] = State::done;
        way_.pop_back();
        next_.pop_back();
      } else {
        enter(*next++);
      }
    }
  }

  void enter(std::uint32_t module) {
    if (states_[module] == State::on_the_way) {
      report(module);
    }
    if (states_[module] == State::unseen) {
      states_[module] = State::on_the_way;
      way_.push_back(module);
      next_.push_back(consumers_[module].begin());
    }
  }

  void report(std::uint32_t module) {
    std::string text = "cycle: ";
    for (auto step = std::ranges::find(way_, module); step != way_.end(); ++step) {
      text += job_.modules[*step].label + " → ";
    }
    cycles_.push_back(text + job_.modules[module].label +
                      " (each consumes a product of the previous one)");
  }

  const JobDescription& job_;
  std::vector<std::set<std::uint32_t>> consumers_;
  std::vector<State> states_;
  std::vector<std::uint32_t> way_;
  std::vector<std::set<std::uint32_t>::const_iterator> next_;  ///< by step of the way: a consumer
  std::vector<std::string> cycles_;
};

}  // namespace

std::vector<std::string> find_problems(const JobDescription& job) {
  std::vector<std::string> problems;
  check_unique("modules", labels_of(job), problems);
  check_unique("paths", names_of(job.paths), problems);
  std::ranges::move(job.products.problems(descriptions_of(job)), std::back_inserter(problems));
  std::ranges::move(CycleSearch{job}.find(), std::back_inserter(problems));
  check_kinds(job, problems);
  check_asking_outputs(job, problems);
  check_paths(job, problems);
  check_outputs(job, problems);
  return problems;
}

}  // namespace forkrun
