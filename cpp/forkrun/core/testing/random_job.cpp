#include <forkrun/core/testing/random_job.hpp>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <thread>

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
  return {label, draw_names(random, products, 4), static_cast<Concurrency>(below(random, 3))};
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 29U);
}

std::uint64_t hash_of(const std::string& label) {
  std::uint64_t hash = 1;
  for (const char letter : label) {
    hash = mix(hash, static_cast<unsigned char>(letter));
  }
  return hash;
}

/// Counts those who are inside at the same time.
class Entrance {
 public:
  int overlaps() const { return n_overlaps_; }
  void enter() { n_overlaps_ += n_inside_.fetch_add(1) > 0 ? 1 : 0; }
  void leave() { --n_inside_; }

 private:
  std::atomic<int> n_inside_{};
  std::atomic<int> n_overlaps_{};
};

/// What all modules of a job share while it is observed.
struct Witness {
  std::optional<Fault> fault;
  Entrance unsafe;
  std::map<std::string, std::atomic<int>> n_calls;
  std::map<std::string, Entrance> entrances;
  std::map<std::string, std::vector<std::uint64_t>> seen;
  std::map<std::string, MemoryOutput::Record> records;
  std::mutex seen_mutex;
};

/// One module's part in the job: computes from its inputs a number per event.
class Body {
 public:
  Body(Witness& witness, const RandomJob::Part& part, Construction& construction)
      : witness_{witness},
        part_{part},
        entrance_{witness.entrances[part.label]},
        n_calls_{witness.n_calls[part.label]},
        seed_{hash_of(part.label)} {
    construction.set_concurrency(part.concurrency);
    for (const auto& input : part.inputs) {
      inputs_.push_back(construction.consumes_scalar<std::int64_t>(input));
    }
  }

  template <typename Step>
  void run(const EventBlock& block, const Step& step) const {
    ++n_calls_;
    const Inside inside{*this};
    fail_if_told(block);
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      step(event, number_of(block, event));
    }
    if (seed_ % 3 == 0) {
      std::this_thread::yield();
    }
  }

 private:
  struct Inside {
    explicit Inside(const Body& b) : body{b} {
      if (body.part_.concurrency == Concurrency::one) body.entrance_.enter();
      if (body.part_.concurrency == Concurrency::unsafe) body.witness_.unsafe.enter();
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() {
      if (body.part_.concurrency == Concurrency::one) body.entrance_.leave();
      if (body.part_.concurrency == Concurrency::unsafe) body.witness_.unsafe.leave();
    }
    const Body& body;
  };

  void fail_if_told(const EventBlock& block) const {
    const auto& fault = witness_.fault;
    if (fault && fault->label == part_.label &&
        std::ranges::find(block.events(), fault->event) != block.events().end()) {
      throw std::runtime_error{"told to fail"};
    }
  }

  [[nodiscard]] std::uint64_t number_of(const EventBlock& block, std::size_t event) const {
    auto number = mix(seed_, block.events()[event]);
    for (const auto input : inputs_) {
      number = mix(number, static_cast<std::uint64_t>(block.get(input)[event]));
    }
    return number;
  }

  Witness& witness_;
  RandomJob::Part part_;
  Entrance& entrance_;
  std::atomic<int>& n_calls_;
  std::uint64_t seed_;
  std::vector<ScalarInput<std::int64_t>> inputs_;
};

std::unique_ptr<Module> make_producer(Witness& witness, const RandomJob::Part& part,
                                      Construction& construction) {
  const Body body{witness, part, construction};
  const auto output = construction.produces_scalar<std::int64_t>(part.label + "_out");
  return std::make_unique<FunctionProducer>([body, output](const EventBlock& block) {
    const auto values = block.make(output);
    body.run(block, [&](std::size_t event, std::uint64_t number) {
      values[event] = static_cast<std::int64_t>(number);
    });
  });
}

std::unique_ptr<Module> make_filter(Witness& witness, const RandomJob::Part& part,
                                    Construction& construction) {
  const Body body{witness, part, construction};
  return std::make_unique<FunctionFilter>(
      [body](const EventBlock& block, std::span<std::uint8_t> accept) {
        body.run(block, [&](std::size_t event, std::uint64_t number) {
          accept[event] = number % 3 == 0 ? 0 : 1;
        });
      });
}

/// Ordered unless reentrant: then what is seen is a set, compared sorted.
std::unique_ptr<Module> make_analyzer(Witness& witness, const RandomJob::Part& part,
                                      Construction& construction) {
  const Body body{witness, part, construction};
  const bool ordered = part.concurrency != Concurrency::reentrant;
  auto* histogram = ordered ? &construction.book("h", "", {{"n", 5, 0, 100}}) : nullptr;
  auto& seen = witness.seen[part.label];
  auto& mutex = witness.seen_mutex;
  return std::make_unique<FunctionAnalyzer>(
      [body, histogram, &seen, &mutex](const EventBlock& block, Mask selected) {
        body.run(block, [&](std::size_t event, std::uint64_t number) {
          if (selected[event] == 0) {
            return;
          }
          if (histogram != nullptr) {
            histogram->fill(static_cast<double>(number % 100), static_cast<double>(number % 7));
            seen.push_back(number);
          } else {
            const std::scoped_lock lock{mutex};
            seen.push_back(number);
          }
        });
      });
}

std::unique_ptr<OutputModule> make_output(Witness& witness, const RandomJob::Part& part,
                                          Construction& construction) {
  const Body body{witness, part, construction};
  std::vector<ScalarInput<std::int64_t>> inputs;
  for (const auto& input : part.inputs) {
    inputs.push_back({construction.consume_any_column(input)});
  }
  auto touch = [body](const EventBlock& block, Mask selected, Parallel& parallel) {
    std::atomic<std::size_t> n_parts{};
    parallel.for_each(3, [&](std::size_t) { ++n_parts; });
    if (n_parts != 3) {
      throw std::runtime_error{"a part was left out"};
    }
    // Without a selected event its products have not been made.
    if (std::ranges::find(selected, 1) != selected.end()) {
      body.run(block, [](std::size_t, std::uint64_t) {});
    }
  };
  return std::make_unique<MemoryOutput>(witness.records[part.label], inputs, touch);
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

void collect(const RandomJob& job, Witness& witness, const Schedule& schedule,
             const MemorySource& source, Observation& into) {
  for (const auto& part : job.analyzers) {
    auto& seen = witness.seen[part.label];
    if (part.concurrency == Concurrency::reentrant) {
      std::ranges::sort(seen);
    }
    into.seen[part.label] = seen;
  }
  for (const auto& [module, histogram] : schedule.histograms()) {
    into.histograms[*module].assign(histogram->values().begin(), histogram->values().end());
  }
  for (const auto& [label, record] : witness.records) {
    into.written[label] = record.events;
    into.values[label] = record.values;
    into.sequences[label] = record.sequences;
  }
  for (const auto& [label, n_calls] : witness.n_calls) {
    into.n_calls[label] = n_calls;
  }
  into.n_calls["column x"] = source.control.n_reads[0];
  into.n_calls["column y"] = source.control.n_reads[1];
  for (const auto& [label, entrance] : witness.entrances) {
    into.n_overlaps += entrance.overlaps();
  }
  into.n_overlaps += witness.unsafe.overlaps();
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
    job.producers.push_back(draw_part(random, "p" + std::to_string(i), products));
    products.push_back(job.producers.back().label + "_out");
  }
  std::vector<std::string> on_paths;
  for (std::size_t i = below(random, 6); i > 0; --i) {
    job.filters.push_back(draw_part(random, "f" + std::to_string(i), products));
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
  *stream << "error \"" << observation.error << "\", " << observation.read.count() << " events, "
          << observation.n_overlaps << " overlaps";
  for (const auto& [label, n_calls] : observation.n_calls) {
    *stream << ", " << label << " called " << n_calls << " times";
  }
  for (const auto& [label, events] : observation.written) {
    *stream << ", " << label << " wrote " << events.size() << " events";
  }
}

Observation observe(const RandomJob& job, const ProcessorConfig& config, const UnitOfWork& unit,
                    const std::optional<Fault>& fault) {
  Witness witness;
  MemorySource source;
  const auto schedule = describe(job, witness).compile();
  Processor processor{*schedule, source, config, nullptr};
  std::map<std::string, std::string> paths;
  for (const auto& part : job.outputs) {
    paths[part.label] = "nowhere";
  }
  Observation observation;
  set_fault(fault, witness, source);
  try {
    observation.read = processor.process(unit, paths).read;
  } catch (const std::exception& error) {
    observation.error = error.what();
    forget(witness, source);
    observation.read = processor.process(unit, paths).read;
  }
  collect(job, witness, *schedule, source, observation);
  return observation;
}

}  // namespace forkrun::testing
