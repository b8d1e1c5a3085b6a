#include <forkrun/formats/ttree/layout/column_leaf.hpp>

#include <array>
#include <cstddef>

#include <forkrun/fragments/counter_name.hpp>

namespace forkrun::root_io {

std::string leaf_title(const ColumnDescription& column) {
  auto title = column.name;
  if (column.type.is_counted()) {
    title += "[" + counter_name(column.name) + "]";
  }
  for (const auto size : column.type.dimensions) {
    title += size == 0 ? "" : "[" + std::to_string(size) + "]";
  }
  return title;
}

char leaf_letter(ElementType element) {
  constexpr std::array letters{'O', 'B', 'b', 'S', 's', 'I', 'i', 'L', 'l', 'F', 'D'};
  return letters.at(static_cast<std::size_t>(element));
}

}  // namespace forkrun::root_io
