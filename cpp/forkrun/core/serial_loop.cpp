#include <cstdint>
#include <exception>
#include <utility>

#include <forkrun/core/block_loop.hpp>
#include <forkrun/core/serial_course.hpp>

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

/// Lets everything go on until something fails; after that nobody is called any more.
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
  SerialLoop(const Graph& graph, std::unique_ptr<Lane> lane, StopOrder stop)
      : lane_{std::move(lane)},
        course_{graph, *lane_, parallel_, FailureGuard{failure_}},
        stop_{stop} {}

  void run(const UnitOfWork& unit, std::span<const EntryRange> blocks) override {
    std::uint64_t sequence = 0;
    for (const auto& range : blocks) {
      if (stop_.is_given()) {
        throw Stopped{};
      }
      lane_->load({unit.lumi, range, sequence++, unit.iov});
      course_.begin_block();
      if (!course_.run_block()) {
        std::rethrow_exception(std::exchange(failure_, nullptr));
      }
      lane_->end_block();
    }
  }

  [[nodiscard]] Parallel& parallel() override { return parallel_; }
  [[nodiscard]] std::vector<Lane*> lanes() override { return {lane_.get()}; }

 private:
  std::unique_ptr<Lane> lane_;
  SerialParallel parallel_;
  std::exception_ptr failure_;
  SerialCourse<FailureGuard> course_;
  StopOrder stop_;
};

}  // namespace

std::unique_ptr<BlockLoop> make_serial_loop(const Graph& graph, const MakeLane& make_lane,
                                            StopOrder stop) {
  return std::make_unique<SerialLoop>(graph, make_lane(0), stop);
}

}  // namespace forkrun
