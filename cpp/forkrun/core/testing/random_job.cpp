#include <forkrun/core/testing/random_job.hpp>

#include <algorithm>
#include <utility>

#include <forkrun/core/testing/random_modules.hpp>

namespace forkrun::testing {

namespace {

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t n) { return random() % n; }

std::vector<std::string> draw_names(Random& random, const std::vector<std::string>& names,
                                    std::size_t n_most) {
  std::vector<std::string> drawn;
  for (auto n = below(random, n_most + 1); n > 0; --n) {
    drawn.push_back(names[below(random, names.size())]);
  }
  return drawn;
}

RandomJob::Part draw_part(Random& random, const std::string& label,
                          const std::vector<std::string>& products) {
  RandomJob::Part part{label, draw_names(random, products, 4),
                       static_cast<Concurrency>(below(random, 3))};
  part.is_told = below(random, 4) == 0;
  return part;
}

/// A producer or filter: of these there are more kinds.
RandomJob::Part draw_rich_part(Random& random, const std::string& label,
                               const std::vector<std::string>& products) {
  auto part = draw_part(random, label, products);
  part.concurrency = static_cast<Concurrency>(below(random, 4));
  part.way = static_cast<RandomJob::Way>(below(random, 4));
  part.resource = below(random, 4) == 0 ? "library" + std::to_string(below(random, 2)) : "";
  part.is_per_block = !part.is_told && below(random, 4) == 0;
  const bool is_called_once =
      part.way == RandomJob::Way::coroutine || part.way == RandomJob::Way::outside;
  part.sees_left = !is_called_once && below(random, 4) != 0;
  return part;
}

ScheduleBuilder describe(const RandomJob& job, Witness& witness) {
  ScheduleBuilder builder{MemorySource::description()};
  const auto add = [&](const std::vector<RandomJob::Part>& parts, auto make) {
    for (const auto& part : parts) {
      builder.add_module({part.label, {}}, [&](Construction& c) { return make(witness, part, c); });
    }
  };
  add(job.analyzers, make_analyzer);
  add(job.filters, make_filter);
  add(job.producers, make_producer);
  for (const auto& [name, labels] : job.paths) {
    builder.add_path({name, labels});
  }
  for (const auto& part : job.outputs) {
    builder.add_output({part.label, job.output_paths.at(part.label), part.inputs},
                       [&](Construction& c) { return make_output(witness, part, c); });
  }
  return builder;
}

/// Takes the state at the commit of a unit; makes room for the next.
UnitObservation take_unit(const RandomJob& job, Witness& witness, const Schedule& schedule) {
  UnitObservation unit;
  for (const auto& part : job.analyzers) {
    auto& seen = witness.seen[part.label];
    if (part.concurrency == Concurrency::reentrant) {
      std::ranges::sort(seen);
    }
    unit.seen[part.label] = std::exchange(seen, {});
  }
  for (const auto& [module, histogram] : schedule.histograms()) {
    const auto values = histogram->values();
    unit.histograms[*module].assign(values.begin(), values.end());
  }
  for (auto& [label, record] : witness.records) {
    unit.written[label] = std::exchange(record.events, {});
    unit.values[label] = std::exchange(record.values, {});
    unit.sequences[label] = std::exchange(record.sequences, {});
  }
  return unit;
}

void collect(Witness& witness, const MemorySource& source, Observation& into) {
  for (const auto& [label, n_calls] : witness.n_calls) {
    into.n_calls[label] = n_calls;
  }
  into.n_calls["column x"] = source.control.n_reads[0];
  into.n_calls["column y"] = source.control.n_reads[1];
  for (const auto& [label, entrance] : witness.entrances) {
    into.n_overlaps += entrance.overlaps();
  }
  for (const auto& [name, entrance] : witness.libraries) {
    into.n_overlaps += entrance.overlaps();
  }
  into.n_overlaps += witness.unsafe.overlaps();
  into.n_misplaced = witness.n_misplaced;
  for (const auto& [label, chronicle] : witness.chronicles) {
    into.messages[label] = chronicle.messages();
    into.n_misplaced += chronicle.n_misplaced();
  }
}

void forget(Witness& witness, MemorySource& source) {
  for (auto& [label, seen] : witness.seen) {
    seen.clear();
  }
  for (auto& [label, record] : witness.records) {
    record = {};
  }
  for (auto& [label, n_calls] : witness.n_calls) {
    n_calls = 0;
  }
  for (auto& n_reads : source.control.n_reads) {
    n_reads = 0;
  }
  witness.fault.reset();
  source.control.load_fails_at.reset();
  source.control.x_fails_at.reset();
}

void set_fault(const std::optional<Fault>& fault, Witness& witness, MemorySource& source) {
  witness.fault = fault;
  if (fault && fault->label == "source") {
    source.control.load_fails_at = fault->event;
  }
  if (fault && fault->label == "column x") {
    source.control.x_fails_at = fault->event;
  }
}

}  // namespace

RandomJob RandomJob::draw(std::uint32_t seed) {
  Random random{seed};
  RandomJob job;
  std::vector<std::string> products{"x", "y"};
  for (std::size_t i = below(random, 12); i > 0; --i) {
    job.producers.push_back(draw_rich_part(random, "p" + std::to_string(i), products));
    products.push_back(job.producers.back().label + "_out");
  }
  std::vector<std::string> on_paths;
  for (std::size_t i = below(random, 6); i > 0; --i) {
    job.filters.push_back(draw_rich_part(random, "f" + std::to_string(i), products));
    on_paths.push_back(job.filters.back().label);
  }
  for (std::size_t i = below(random, 5); i > 0; --i) {
    job.analyzers.push_back(draw_part(random, "a" + std::to_string(i), products));
    on_paths.push_back(job.analyzers.back().label);
  }
  std::vector<std::string> path_names;
  for (std::size_t i = below(random, 6); i > 0 && !on_paths.empty(); --i) {
    path_names.push_back("path" + std::to_string(i));
    job.paths[path_names.back()] = draw_names(random, on_paths, 5);
  }
  for (std::size_t i = below(random, 4); i > 0; --i) {
    job.outputs.push_back(draw_part(random, "o" + std::to_string(i), products));
    auto& paths = job.output_paths[job.outputs.back().label];
    paths = path_names.empty() ? path_names : draw_names(random, path_names, 3);
  }
  std::ranges::shuffle(job.producers, random);
  return job;
}

void PrintTo(const Observation& observation, std::ostream* stream) {
  *stream << "error \"" << observation.error << "\", " << observation.n_overlaps << " overlaps, "
          << observation.n_misplaced << " misplaced";
  for (const auto& [label, n_calls] : observation.n_calls) {
    *stream << ", " << label << " called " << n_calls << " times";
  }
  for (const auto& unit : observation.units) {
    *stream << "; unit " << unit.number << " of " << unit.read.count() << " events";
    for (const auto& [label, events] : unit.written) {
      *stream << ", " << label << " wrote " << events.size() << " events";
    }
  }
  for (const auto& [label, messages] : observation.messages) {
    *stream << "\n" << label << " was told:";
    for (const auto& message : messages) {
      *stream << " " << message << ",";
    }
  }
}

std::vector<UnitOfWork> draw_units(std::uint32_t seed) {
  Random random{seed};
  std::vector<UnitOfWork> units;
  UnitOfWork unit{0, {1, 1}, {}, 0};
  std::int64_t first = 0;
  for (auto n = 1 + below(random, 9); n > 0; --n) {
    const auto n_events = static_cast<std::int64_t>(below(random, 3) * below(random, 30));
    unit.ranges = {{0, first, first + n_events}};
    first += n_events;
    units.push_back(unit);
    ++unit.number;
    const auto change = below(random, 4);
    if (change > 0) {  // Else the next is another part of the same lumi.
      ++unit.lumi.lumi;
      unit.lumi.run += change == 3 ? 1 : 0;
      unit.iov += static_cast<std::uint32_t>(below(random, 2));
    }
  }
  return units;
}

namespace {

void add_lumi(UnitOfWork& unit, const UnitOfWork& next) {
  if (unit.lumis.empty()) {
    unit.lumis = {{unit.lumi, static_cast<std::size_t>(n_events_of(unit.ranges))}};
  }
  if (unit.lumis.back().lumi != next.lumi) {
    unit.lumis.push_back({next.lumi, unit.lumis.back().last});
  }
  unit.lumis.back().last += static_cast<std::size_t>(n_events_of(next.ranges));
  unit.ranges.back().last = next.ranges.back().last;
}

}  // namespace

std::vector<UnitOfWork> join_units(std::uint32_t seed, const std::vector<UnitOfWork>& units) {
  Random random{seed};
  std::vector<UnitOfWork> joined;
  for (const auto& unit : units) {
    if (joined.empty() || joined.back().iov != unit.iov || below(random, 4) == 0) {
      joined.push_back(unit);
    } else {
      add_lumi(joined.back(), unit);
    }
  }
  return joined;
}

namespace {

/// Runs what is left of some units, and takes it from there.
void run(const RandomJob& job, Witness& witness, const Schedule& schedule, Processor& processor,
         std::vector<UnitOfWork>& left, std::vector<UnitObservation>& committed) {
  std::size_t n_taken = 0;
  const NextUnit next = [&]() -> std::optional<UnitToDo> {
    if (n_taken == left.size()) {
      return std::nullopt;
    }
    UnitToDo to_do{left[n_taken++], {}};
    for (const auto& part : job.outputs) {
      to_do.outputs[part.label] =
          to_do.unit.lumis.size() > 1 ? several_lumis : name_of(to_do.unit.lumi);
    }
    return to_do;
  };
  std::size_t n_committed = 0;
  const CommitUnit commit = [&](const UnitOfWork& unit, const UnitResult& result) {
    committed.push_back(take_unit(job, witness, schedule));
    committed.back().number = unit.number;
    committed.back().read = result.read;
    ++n_committed;
  };
  try {
    processor.run(next, commit);
  } catch (...) {
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(n_committed));
    throw;
  }
}

}  // namespace

Observation observe(const RandomJob& job, const ProcessorConfig& config,
                    const std::vector<UnitOfWork>& units, const std::optional<Fault>& fault) {
  Witness witness;
  MemorySource source;
  const auto schedule = describe(job, witness).compile();
  Processor processor{*schedule, source, config, nullptr};
  Observation observation;
  set_fault(fault, witness, source);
  auto left = units;
  try {
    run(job, witness, *schedule, processor, left, observation.units);
  } catch (const std::exception& error) {
    observation.error = error.what();
    forget(witness, source);
    run(job, witness, *schedule, processor, left, observation.units);
  }
  collect(witness, source, observation);
  return observation;
}

}  // namespace forkrun::testing
