#include <forkrun/core/testing/random_modules.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <forkrun/concurrency/relax.hpp>
#include <forkrun/core/module/module.hpp>

namespace forkrun::testing {

namespace {

constexpr std::uint32_t limit = 2;  ///< of all modules of Concurrency::limited

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
    if (part.is_cut) {
      construction.set_one_lumi();
    }
    if (part.sees_left) {
      construction.set_sees_events_left();
    }
    chronicle_ = part.is_told ? &witness.chronicles[part.label] : nullptr;
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
    note_place(block);
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
  Coroutine run_as_coroutine(const CoroutineBlock& block, Step step) const {
    note_place(block);
    std::vector<Values> values;
    for (const auto input : asked_of(block)) {
      values.push_back(co_await block.get(input));
    }
    compute(block, values, step);
  }

  /// Has nothing done outside, which may fail there, or here.
  void acquire(const EventBlock& block, ExternalWork work) const {
    note_place(block);
    std::exception_ptr failure;
    if (is_told_to_fail(block) && seed_ % 3 == 0) {
      failure = std::make_exception_ptr(std::runtime_error{"told to fail outside"});
    }
    if (is_told_to_fail(block) && seed_ % 3 == 1) {
      throw std::runtime_error{"told to fail while acquiring"};
    }
    witness_.outside.give(std::move(work), failure);
  }

  /// While no other thread is inside that may not be.
  template <typename Tell>
  void hear(const Tell& tell) const {
    const Inside inside{*this};
    tell(*chronicle_);
  }

 private:
  /// Entrances to what this module may not be in more than a given number of times.
  std::vector<Entrance*> entrances_{};
  Chronicle* chronicle_{};  ///< null: it notes nothing

  void note_place(const EventBlock& block) const {
    if (chronicle_ != nullptr) {
      chronicle_->note(block);
    }
    witness_.n_misplaced += part_.is_cut && !block.lumis().is_one() ? 1 : 0;
  }

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
    note_place(block);
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
    if (seed_ % 3 == 0) {  // So that blocks overtake each other.
      for (auto n = mix(seed_, block.events().front()) % 256; n > 0; --n) {
        relax();
      }
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

/// Has Transitions, and passes them to its body.
template <typename Base>
class WithTransitions final : public Base, public Transitions {
 public:
  template <typename... Arguments>
  explicit WithTransitions(const Body& body, Arguments&&... arguments)
      : Base{std::forward<Arguments>(arguments)...}, body_{body} {}
  bool ends_with_commits() const override { return false; }
  void begin_iov(std::uint32_t iov) override {
    body_.hear([&](auto& chronicle) { chronicle.begin_iov(iov); });
  }
  void end_iov(std::uint32_t iov) override {
    body_.hear([&](auto& chronicle) { chronicle.end_iov(iov); });
  }
  void begin_run(std::uint32_t run) override {
    body_.hear([&](auto& chronicle) { chronicle.begin_run(run); });
  }
  void end_run(std::uint32_t run) override {
    body_.hear([&](auto& chronicle) { chronicle.end_run(run); });
  }
  void begin_lumi(LumiId lumi) override {
    body_.hear([&](auto& chronicle) { chronicle.begin_lumi(lumi); });
  }
  void end_lumi(LumiId lumi) override {
    body_.hear([&](auto& chronicle) { chronicle.end_lumi(lumi); });
  }

 private:
  Body body_;
};

template <typename Base, typename... Arguments>
std::unique_ptr<Module> make(const RandomJob::Part& part, const Body& body,
                             Arguments&&... arguments) {
  if (part.is_told) {
    return std::make_unique<WithTransitions<Base>>(body, std::forward<Arguments>(arguments)...);
  }
  return std::make_unique<Cloneable<Base>>(std::forward<Arguments>(arguments)...);
}

}  // namespace

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
    return make<FunctionCoroutineProducer>(part, body,
                                           [body, filling](const CoroutineBlock& block) {
                                             return body.run_as_coroutine(block, filling(block));
                                           });
  }
  if (part.way == RandomJob::Way::outside) {
    return make<WithOutside<FunctionProducer>>(part, body, run,
                                               [body](const EventBlock& block, ExternalWork work) {
                                                 body.acquire(block, std::move(work));
                                               });
  }
  if (part.sees_left) {
    return make<LeftProducer>(part, body, [body, filling](const EventBlock& block, Mask left) {
      body.run(block, [left, fill = filling(block)](std::size_t event, std::uint64_t number) {
        fill(event, is_left(left, event) ? number : 0);
      });
    });
  }
  return make<FunctionProducer>(part, body, run);
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
    return make<FunctionCoroutineFilter>(
        part, body, [body, deciding](const CoroutineBlock& block, Accept accept) {
          return body.run_as_coroutine(block, deciding(accept));
        });
  }
  if (part.way == RandomJob::Way::outside) {
    return make<WithOutside<FunctionFilter>>(part, body, run,
                                             [body](const EventBlock& block, ExternalWork work) {
                                               body.acquire(block, std::move(work));
                                             });
  }
  if (part.sees_left) {
    return make<LeftFilter>(
        part, body, [body, deciding](const EventBlock& block, Mask left, Accept accept) {
          body.run(block,
                   [left, decide = deciding(accept)](std::size_t event, std::uint64_t number) {
                     decide(event, is_left(left, event) ? number : 1);
                   });
        });
  }
  return make<FunctionFilter>(part, body, run);
}

/// Ordered unless reentrant: then what is seen is a set, compared sorted.
std::unique_ptr<Module> make_analyzer(Witness& witness, const RandomJob::Part& part,
                                      Construction& construction) {
  const Body body{witness, part, construction};
  const bool ordered = part.concurrency != Concurrency::reentrant;
  auto& histogram = construction.book("h", "", RegularAxis{5, 0, 100});
  auto& seen = witness.seen[part.label];
  auto& mutex = witness.seen_mutex;
  return make<FunctionAnalyzer>(
      part, body,
      [body, ordered, &histogram, &seen, &mutex](const EventBlock& block, Mask selected) {
        body.run(block, [&](std::size_t event, std::uint64_t number) {
          if (selected[event] == 0) {
            return;
          }
          histogram.fill(static_cast<double>(number % 100), 0.1 * static_cast<double>(number % 7));
          if (ordered) {
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
  auto& opened = witness.records[part.label].opened;
  auto& n_misplaced = witness.n_misplaced;
  auto touch = [body, &opened, &n_misplaced](const EventBlock& block, Mask selected,
                                             Parallel& parallel) {
    const bool is_right = opened.back() == several_lumis || opened.back() == name_of(block.lumi());
    n_misplaced += is_right ? 0 : 1;
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
  auto& record = witness.records[part.label];
  if (part.is_told) {
    return std::make_unique<WithTransitions<MemoryOutput>>(body, record, inputs, touch);
  }
  return std::make_unique<MemoryOutput>(record, inputs, touch);
}

}  // namespace forkrun::testing
