#include <forkrun/core/testing/random_job.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

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

/// A producer or filter: of these there are more kinds.
RandomJob::Part draw_rich_part(Random& random, const std::string& label,
                               const std::vector<std::string>& products) {
  auto part = draw_part(random, label, products);
  part.concurrency = static_cast<Concurrency>(below(random, 4));
  part.way = static_cast<RandomJob::Way>(below(random, 4));
  part.resource = below(random, 4) == 0 ? "library" + std::to_string(below(random, 2)) : "";
  part.is_per_block = below(random, 4) == 0;
  return part;
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

constexpr std::uint32_t limit = 2;  ///< of all modules of Concurrency::limited

/// Counts those who are inside at the same time, where not more than `n_most` may be.
class Entrance {
 public:
  explicit Entrance(int n_most = 1) : n_most_{n_most} {}
  int overlaps() const { return n_overlaps_; }
  void enter() { n_overlaps_ += n_inside_.fetch_add(1) >= n_most_ ? 1 : 0; }
  void leave() { --n_inside_; }

 private:
  int n_most_;
  std::atomic<int> n_inside_{};
  std::atomic<int> n_overlaps_{};
};

/// Answers what it was given, the last first, on a thread of its own.
class Outside {
 public:
  void give(ExternalWork work, std::exception_ptr failure) {
    const std::scoped_lock lock{mutex_};
    given_.emplace_back(std::move(work), std::move(failure));
    changed_.notify_one();
  }

 private:
  void answer(const std::stop_token& stop) {
    std::unique_lock lock{mutex_};
    while (changed_.wait(lock, stop, [this] { return !given_.empty(); })) {
      auto [work, failure] = std::move(given_.back());
      given_.pop_back();
      lock.unlock();
      if (failure) {
        work.failed(failure);
      } else {
        work.done();
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::pair<ExternalWork, std::exception_ptr>> given_;
  std::jthread thread_{[this](const std::stop_token& stop) { answer(stop); }};
};

/// What all modules of a job share while it is observed.
struct Witness {
  std::optional<Fault> fault;
  Entrance unsafe;
  std::map<std::string, std::atomic<int>> n_calls;
  std::map<std::string, Entrance> entrances;
  std::map<std::string, Entrance> libraries;
  std::map<std::string, std::vector<std::uint64_t>> seen;
  std::map<std::string, MemoryOutput::Record> records;
  std::mutex seen_mutex;
  Outside outside;
};

/// One module's part in the job: computes from its inputs a number per event.
class Body {
 public:
  using Way = RandomJob::Way;
  using Values = ScalarView<std::int64_t>;

  Body(Witness& witness, const RandomJob::Part& part, Construction& construction)
      : witness_{witness},
        part_{part},
        n_calls_{witness.n_calls[part.label]},
        seed_{hash_of(part.label)} {
    construction.set_concurrency(part.concurrency);
    declare_entrances(construction);
    if (part.is_per_block) {
      construction.set_instances(Instances::per_block);
    }
    const bool asks = part.way == Way::asks || part.way == Way::coroutine;
    for (const auto& input : part.inputs) {
      if (asks) {
        asked_.push_back(construction.may_consume_scalar<std::int64_t>(input));
      } else {
        inputs_.push_back(construction.consumes_scalar<std::int64_t>(input));
      }
    }
  }

  /// `step` gets each event with its number.
  template <typename Step>
  void run(const EventBlock& block, const Step& step) const {
    std::vector<Values> values;
    for (const auto input : inputs_) {
      values.push_back(block.get(input));
    }
    for (const auto input : asked_of(block)) {
      values.push_back(block.get(input));
    }
    compute(block, values, step);
  }

  template <typename Step>
  Coroutine run_as_coroutine(const EventBlock& block, Step step) const {
    std::vector<Values> values;
    for (const auto input : asked_of(block)) {
      values.push_back(co_await block.get(input));
    }
    compute(block, values, step);
  }

  /// Has nothing done outside, which may fail there, or here.
  void acquire(const EventBlock& block, ExternalWork work) const {
    std::exception_ptr failure;
    if (is_told_to_fail(block) && seed_ % 3 == 0) {
      failure = std::make_exception_ptr(std::runtime_error{"told to fail outside"});
    }
    if (is_told_to_fail(block) && seed_ % 3 == 1) {
      throw std::runtime_error{"told to fail while acquiring"};
    }
    witness_.outside.give(std::move(work), failure);
  }

 private:
  /// Of what this module may not be in more than a given number of times.
  std::vector<Entrance*> entrances_{};

  void declare_entrances(Construction& construction) {
    if (part_.concurrency == Concurrency::limited) {
      construction.set_limit(limit);
      entrances_.push_back(&witness_.entrances.try_emplace(part_.label, limit).first->second);
    }
    if (part_.concurrency == Concurrency::one) {
      entrances_.push_back(&witness_.entrances[part_.label]);
    }
    if (part_.concurrency == Concurrency::unsafe) {
      entrances_.push_back(&witness_.unsafe);
    }
    if (!part_.resource.empty()) {
      construction.uses_resource(part_.resource);
      entrances_.push_back(&witness_.libraries[part_.resource]);
    }
  }

  struct Inside {
    explicit Inside(const Body& b) : body{b} {
      for (auto* entrance : body.entrances_) {
        entrance->enter();
      }
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() {
      for (auto* entrance : body.entrances_) {
        entrance->leave();
      }
    }
    const Body& body;
  };

  /// Some events need what others do not.
  [[nodiscard]] bool asks_for(std::uint64_t event) const { return mix(seed_, event) % 4 == 0; }

  /// All of them, or none: that depends on the events.
  [[nodiscard]] std::vector<LazyScalarInput<std::int64_t>> asked_of(const EventBlock& block) const {
    const bool any = std::ranges::any_of(block.events(), [this](auto e) { return asks_for(e); });
    return any ? asked_ : std::vector<LazyScalarInput<std::int64_t>>{};
  }

  template <typename Step>
  void compute(const EventBlock& block, const std::vector<Values>& values, const Step& step) const {
    ++n_calls_;
    const Inside inside{*this};
    if (is_told_to_fail(block)) {
      throw std::runtime_error{"told to fail"};
    }
    for (std::size_t event = 0; event < block.n_events(); ++event) {
      auto number = mix(seed_, block.events()[event]);
      const bool uses = asked_.empty() || asks_for(block.events()[event]);
      for (std::size_t i = 0; uses && i < values.size(); ++i) {
        number = mix(number, static_cast<std::uint64_t>(values[i][event]));
      }
      step(event, number);
    }
    if (seed_ % 3 == 0) {
      std::this_thread::yield();
    }
    if (seed_ % 5 == 0) {  // Long enough to be worth a thread.
      std::this_thread::sleep_for(std::chrono::microseconds{20});
    }
  }

  [[nodiscard]] bool is_told_to_fail(const EventBlock& block) const {
    const auto& fault = witness_.fault;
    return fault && fault->label == part_.label &&
           std::ranges::find(block.events(), fault->event) != block.events().end();
  }

  Witness& witness_;
  RandomJob::Part part_;
  std::atomic<int>& n_calls_;
  std::uint64_t seed_;
  std::vector<ScalarInput<std::int64_t>> inputs_{};
  std::vector<LazyScalarInput<std::int64_t>> asked_{};
};

/// With a `clone`, for those that are to have one object per block.
template <typename Base>
class Cloneable final : public Base {
 public:
  using Base::Base;
  [[nodiscard]] std::unique_ptr<Module> clone() const override {
    return std::make_unique<Cloneable>(*this);
  }
};

std::unique_ptr<Module> make_producer(Witness& witness, const RandomJob::Part& part,
                                      Construction& construction) {
  const Body body{witness, part, construction};
  const auto output = construction.produces_scalar<std::int64_t>(part.label + "_out");
  const auto filling = [output](const EventBlock& block) {
    return [values = block.make(output)](std::size_t event, std::uint64_t number) {
      values[event] = static_cast<std::int64_t>(number);
    };
  };
  const auto run = [body, filling](const EventBlock& block) { body.run(block, filling(block)); };
  if (part.way == RandomJob::Way::coroutine) {
    return std::make_unique<Cloneable<FunctionCoroutineProducer>>(
        [body, filling](const EventBlock& block) {
          return body.run_as_coroutine(block, filling(block));
        });
  }
  if (part.way == RandomJob::Way::outside) {
    return std::make_unique<Cloneable<WithOutside<FunctionProducer>>>(
        run, [body](const EventBlock& block, ExternalWork work) {
          body.acquire(block, std::move(work));
        });
  }
  return std::make_unique<Cloneable<FunctionProducer>>(run);
}

std::unique_ptr<Module> make_filter(Witness& witness, const RandomJob::Part& part,
                                    Construction& construction) {
  const Body body{witness, part, construction};
  using Accept = std::span<std::uint8_t>;
  const auto deciding = [](Accept accept) {
    return [accept](std::size_t event, std::uint64_t number) {
      accept[event] = number % 3 == 0 ? 0 : 1;
    };
  };
  const auto run = [body, deciding](const EventBlock& block, Accept accept) {
    body.run(block, deciding(accept));
  };
  if (part.way == RandomJob::Way::coroutine) {
    return std::make_unique<Cloneable<FunctionCoroutineFilter>>(
        [body, deciding](const EventBlock& block, Accept accept) {
          return body.run_as_coroutine(block, deciding(accept));
        });
  }
  if (part.way == RandomJob::Way::outside) {
    return std::make_unique<Cloneable<WithOutside<FunctionFilter>>>(
        run, [body](const EventBlock& block, ExternalWork work) {
          body.acquire(block, std::move(work));
        });
  }
  return std::make_unique<Cloneable<FunctionFilter>>(run);
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
  for (const auto& [name, entrance] : witness.libraries) {
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
