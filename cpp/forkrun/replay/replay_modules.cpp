#include <forkrun/replay/replay_modules.hpp>

#include <chrono>
#include <numeric>
#include <thread>
#include <utility>

#include <sys/prctl.h>

#include <forkrun/replay/busy_wait.hpp>

namespace forkrun::replay {

void be_punctual() {
  thread_local const bool is_set = ::prctl(PR_SET_TIMERSLACK, 1UL) == 0;
  (void)is_set;
}

Timer::Timer() : thread_{[this](const std::stop_token& stop) { run(stop); }} {}

Timer::~Timer() = default;

void Timer::answer_after(std::chrono::duration<double> time, ExternalWork work) {
  const auto when = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  const std::scoped_lock lock{mutex_};
  const bool is_earliest = pending_.empty() || when < pending_.top().when;
  pending_.push({when, std::move(work)});
  if (is_earliest) {
    changed_.notify_one();
  }
}

void Timer::run(const std::stop_token& stop) {
  be_punctual();
  std::unique_lock lock{mutex_};
  while (!stop.stop_requested()) {
    if (pending_.empty()) {
      changed_.wait(lock, stop, [this] { return !pending_.empty(); });
      continue;
    }
    const auto when = pending_.top().when;
    if (Clock::now() < when) {
      changed_.wait_until(lock, stop, when, [this, when] { return pending_.top().when < when; });
      continue;
    }
    auto work = std::move(pending_.top().work);
    pending_.pop();
    lock.unlock();
    work.done();
    lock.lock();
  }
}

namespace {

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 31U)) * 0x9e3779b97f4a7c15U;
  return value ^ (value >> 29U);
}

std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 1;
  for (const char letter : text) {
    hash = mix(hash + static_cast<unsigned char>(letter));
  }
  return hash;
}

/// Common part of all kinds of modules. A product is the sum over the events of the block of a
/// number of module and event, plus all input products: the same for every size of blocks.
class Body {
 public:
  Body(Stage& stage, const ModuleDescription& description, Construction& construction)
      : stage_{stage},
        times_s_{description.event_times_s},
        work_{description.work},
        hash_{hash_of(description.label)} {
    construction.set_concurrency(description.concurrency);
    for (const auto& product : description.consumes) {
      if (description.get == Get::prefetch) {
        inputs_.push_back(construction.consumes<std::uint64_t>(product));
      } else {
        asked_.push_back(construction.may_consume<std::uint64_t>(product));
      }
    }
    for (const auto& product : description.produces) {
      outputs_.push_back(construction.produces<std::uint64_t>(product));
    }
    filter_ = description.is_filter ? stage.n_filters++ : 0;
  }

  /// Sum of the inputs made before.
  [[nodiscard]] std::uint64_t inputs(const EventBlock& block) const {
    std::uint64_t sum = 0;
    for (const auto input : inputs_) {
      sum += block.get(input);
    }
    return sum;
  }
  /// Sum of the inputs made now; waits.
  [[nodiscard]] std::uint64_t wait_for_inputs(const EventBlock& block) const {
    std::uint64_t sum = 0;
    for (const auto input : asked_) {
      const std::uint64_t& value = block.get(input);
      sum += value;
    }
    return sum;
  }
  [[nodiscard]] const std::vector<LazyInput<std::uint64_t>>& asked() const { return asked_; }

  void finish(const EventBlock& block, std::uint64_t sum) const {
    spend_time(block);
    for (const auto event : block.events()) {
      sum += hash_ * mix(event);
    }
    for (const auto output : outputs_) {
      block.make(output) = sum;
    }
    if (outputs_.empty()) {
      stage_.sums[block.lane()][filter_] += sum;
    }
  }

  void acquire(const EventBlock& block, ExternalWork work) const {
    stage_.timer->answer_after(time_of(block), std::move(work));
  }

 private:
  [[nodiscard]] std::chrono::duration<double> time_of(const EventBlock& block) const {
    double time_s = 0;
    for (const auto event : block.events()) {
      time_s += times_s_[event % times_s_.size()];
    }
    return std::chrono::duration<double>{time_s};
  }

  void spend_time(const EventBlock& block) const {
    if (work_ == Work::busy_wait) {
      wait_busily(time_of(block).count());
    } else if (work_ == Work::fixed_work) {
      integrate(static_cast<std::uint64_t>(time_of(block).count() * stage_.steps_per_s));
    } else if (work_ == Work::sleep) {
      be_punctual();
      std::this_thread::sleep_for(time_of(block));
    }
  }

  Stage& stage_;
  std::vector<double> times_s_;
  Work work_;
  std::uint64_t hash_;
  std::size_t filter_{};
  std::vector<Input<std::uint64_t>> inputs_{};
  std::vector<LazyInput<std::uint64_t>> asked_{};
  std::vector<Output<std::uint64_t>> outputs_{};
};

template <typename Base>
class WithBody : public Base {
 public:
  explicit WithBody(Body of_module) : body{std::move(of_module)} {}

 protected:
  Body body;
};

class ReplayProducer : public WithBody<Producer> {
 public:
  using WithBody::WithBody;
  void produce(const EventBlock& block) override { body.finish(block, body.inputs(block)); }
};

class ReplayFilter : public WithBody<Filter> {
 public:
  using WithBody::WithBody;
  void filter(const EventBlock& block, std::span<std::uint8_t> /*accept*/) override {
    body.finish(block, body.inputs(block));
  }
};

class AskingProducer : public WithBody<Producer> {
 public:
  using WithBody::WithBody;
  void produce(const EventBlock& block) override {
    body.finish(block, body.wait_for_inputs(block));
  }
};

class AskingFilter : public WithBody<Filter> {
 public:
  using WithBody::WithBody;
  void filter(const EventBlock& block, std::span<std::uint8_t> /*accept*/) override {
    body.finish(block, body.wait_for_inputs(block));
  }
};

Coroutine ask_and_finish(const Body& body, const CoroutineBlock& block) {
  std::uint64_t sum = 0;
  for (const auto input : body.asked()) {
    sum += co_await block.get(input);
  }
  body.finish(block, sum);
}

class AwaitingProducer : public WithBody<CoroutineProducer> {
 public:
  using WithBody::WithBody;
  Coroutine produce(const CoroutineBlock& block) override { return ask_and_finish(body, block); }
};

class AwaitingFilter : public WithBody<CoroutineFilter> {
 public:
  using WithBody::WithBody;
  Coroutine filter(const CoroutineBlock& block, std::span<std::uint8_t> /*accept*/) override {
    return ask_and_finish(body, block);
  }
};

/// The same with its time spent outside, before.
template <typename Base>
class Outside final : public Base, public External {
 public:
  using Base::Base;
  void acquire(const EventBlock& block, ExternalWork work) override {
    this->body.acquire(block, std::move(work));
  }
};

template <typename Kind>
std::unique_ptr<Module> make(Body body, bool is_async) {
  if (is_async) {
    return std::make_unique<Outside<Kind>>(std::move(body));
  }
  return std::make_unique<Kind>(std::move(body));
}

}  // namespace

void Stage::begin(std::size_t n_lanes, double steps_per_second, bool needs_timer) {
  steps_per_s = steps_per_second;
  timer = needs_timer ? std::make_unique<Timer>() : nullptr;
  sums.assign(n_lanes, CacheLineVector<std::uint64_t>(n_filters));
}

std::uint64_t Stage::checksum() const {
  std::uint64_t sum = 0;
  for (const auto& of_lane : sums) {
    sum = std::accumulate(of_lane.begin(), of_lane.end(), sum);
  }
  return sum;
}

std::unique_ptr<Module> make_module(Stage& stage, const ModuleDescription& description,
                                    Construction& construction) {
  Body body{stage, description, construction};
  const bool is_async = description.work == Work::async;
  switch (description.get) {
    case Get::blocking:
      return description.is_filter ? make<AskingFilter>(std::move(body), is_async)
                                   : make<AskingProducer>(std::move(body), is_async);
    case Get::coroutine:
      return description.is_filter ? make<AwaitingFilter>(std::move(body), is_async)
                                   : make<AwaitingProducer>(std::move(body), is_async);
    default:
      return description.is_filter ? make<ReplayFilter>(std::move(body), is_async)
                                   : make<ReplayProducer>(std::move(body), is_async);
  }
}

}  // namespace forkrun::replay
