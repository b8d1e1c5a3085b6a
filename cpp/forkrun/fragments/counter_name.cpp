#include <forkrun/fragments/counter_name.hpp>

namespace forkrun {

std::string counter_name(const std::string& column) {
  const bool is_member = column.find('.') != std::string::npos;
  return "n" + column.substr(0, is_member ? std::string::npos : column.find('_'));
}

}  // namespace forkrun
