#include <forkrun/core/data/input_cost.hpp>

namespace forkrun {

InputCost& InputCost::operator+=(const InputCost& other) {
  read_calls += other.read_calls;
  read_bytes += other.read_bytes;
  read_ns += other.read_ns;
  packed_bytes += other.packed_bytes;
  unpacked_bytes += other.unpacked_bytes;
  unpack_ns += other.unpack_ns;
  n_unpacked += other.n_unpacked;
  return *this;
}

/// Not inline: one for all libraries.
InputCosts& InputCosts::of_this_thread() {
  thread_local InputCosts mine;
  return mine;
}

}  // namespace forkrun
