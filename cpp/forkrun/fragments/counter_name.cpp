#include <forkrun/fragments/counter_name.hpp>

namespace forkrun {

std::string counter_name(const std::string& column) {
  return "n" + column.substr(0, column.find('_'));
}

}  // namespace forkrun
