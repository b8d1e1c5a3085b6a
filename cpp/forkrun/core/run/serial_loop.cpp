#include <cstdint>
#include <exception>
#include <utility>

#include <forkrun/core/run/block_loop.hpp>
#include <forkrun/core/run/serial_course.hpp>

namespace forkrun {

namespace {

class SerialParallel final : public Parallel {
 public:
  void for_each(std::size_t n, const std::function<void(std::size_t)>& body) override {
    for (std::size_t i = 0; i < n; ++i) {
      body(i);
    }
  }
};

/// Lets everything go on until something fails; after that no module is called any more.
class FailureGuard {
 public:
  static constexpr bool notes_all = false;
  explicit FailureGuard(std::exception_ptr& first_failure) : first_failure_{&first_failure} {}

  [[nodiscard]] bool enter(std::uint32_t /*node*/) const { return true; }
  void leave(std::uint32_t /*node*/) const {}
  [[nodiscard]] bool pass_by(std::uint32_t /*node*/) const { return true; }
  void fail(std::uint32_t /*node*/, std::exception_ptr failure) const {
    *first_failure_ = std::move(failure);
  }
  void take_over() const {}
  void end_called(std::uint32_t /*node*/, const std::exception_ptr& /*failure*/) const {}
  void wait_for(std::uint32_t /*asker*/, std::uint32_t product) const { check_made(product); }
  [[nodiscard]] bool ask_for(std::uint32_t /*asker*/, std::uint32_t /*product*/) const {
    return true;
  }
  void check_made(std::uint32_t /*product*/) const { throw ProductNotMade{}; }

 private:
  std::exception_ptr* first_failure_;
};

class SerialLoop final : public BlockLoop {
 public:
  SerialLoop(const Graph& graph, std::unique_ptr<Lane> lane)
      : lane_{std::move(lane)}, course_{graph, *lane_, parallel_, FailureGuard{failure_}} {}

  void run(UnitSteps& steps) override {
    bool has_unit = steps.take(*unit_);
    while (has_unit) {
      steps.begin(*unit_);
      if (!unit_->has_failed()) {
        run_blocks();
      }
      unit_->add(lane_->take_share());
      const bool is_next_known = steps.must_know_next() && !unit_->has_failed();
      has_unit = is_next_known && steps.take(*next_);
      steps.end(*unit_, has_unit ? next_.get() : nullptr);
      steps.close(*unit_, parallel_);
      steps.commit(*unit_);
      if (unit_->has_failed()) {
        std::rethrow_exception(unit_->failure());
      }
      has_unit = is_next_known ? has_unit && !steps.is_stopped() : steps.take(*next_);
      unit_.swap(next_);
    }
    steps.rethrow_failure();
  }

 private:
  void run_blocks() {
    std::uint32_t number = 0;
    try {
      for (; number < unit_->n_blocks(); ++number) {
        if (unit_->is_stopped()) {
          throw Stopped{};
        }
        lane_->load(unit_->block(number));
        course_.begin_block();
        if (!course_.run_block()) {
          std::rethrow_exception(std::exchange(failure_, nullptr));
        }
        lane_->end_block();
      }
    } catch (...) {
      unit_->fail(UnitInFlight::at_block(number), std::current_exception());
    }
  }

  std::unique_ptr<Lane> lane_;
  std::unique_ptr<UnitInFlight> unit_ = std::make_unique<UnitInFlight>(1, true);
  std::unique_ptr<UnitInFlight> next_ = std::make_unique<UnitInFlight>(1, true);
  SerialParallel parallel_;
  std::exception_ptr failure_;
  SerialCourse<FailureGuard> course_;
};

}  // namespace

std::unique_ptr<BlockLoop> make_serial_loop(const Graph& graph, const MakeLane& make_lane) {
  return std::make_unique<SerialLoop>(graph, make_lane(0));
}

}  // namespace forkrun
