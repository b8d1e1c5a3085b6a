#include <forkrun/bytes/byte_costs.hpp>

namespace forkrun {

ByteCosts& byte_costs() {
  thread_local ByteCosts costs;
  return costs;
}

}  // namespace forkrun
