#include <forkrun/core/run/unit_in_work.hpp>

#include <utility>

namespace forkrun {

void UnitInWork::begin(UnitToDo to_do, std::vector<EntryRange>& blocks, StopOrder stop) {
  to_do_ = std::move(to_do);
  blocks_.swap(blocks);
  stop_ = stop;
  deal_.begin(static_cast<std::uint32_t>(blocks_.size()));
  turn_.reset();
  result = {};
  is_dropped_ = has_failed_ = false;
  failure_ = nullptr;
}

void UnitInWork::add(const Lane::Share& share) {
  result.read += share.read;
  result.read_calls += share.statistics.read_calls;
  result.read_bytes += share.statistics.read_bytes;
}

void UnitInWork::fail(std::uint64_t where, std::exception_ptr failure) {
  const std::scoped_lock lock{failure_mutex_};
  if (!failure_ || where < failed_where_) {
    failed_where_ = where;
    failure_ = std::move(failure);
  }
  has_failed_ = true;
}

}  // namespace forkrun
