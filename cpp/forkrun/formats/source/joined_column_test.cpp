#include <forkrun/formats/source/joined_column.hpp>

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace forkrun::root_io {

namespace {

using Lists = std::vector<std::vector<std::vector<std::int16_t>>>;

template <typename T>
void put(Column& column, const std::vector<T>& values) {
  std::ranges::copy(values, reinterpret_cast<T*>(column.resize_values(values.size())));
}

Column nested(const Lists& events) {
  Column column{ColumnType::parse("int16[][]")};
  std::vector<std::int64_t> outer{0};
  std::vector<std::int64_t> inner{0};
  std::vector<std::int16_t> values;
  for (const auto& event : events) {
    outer.push_back(outer.back() + static_cast<std::int64_t>(event.size()));
    for (const auto& list : event) {
      inner.push_back(inner.back() + static_cast<std::int64_t>(list.size()));
      values.insert(values.end(), list.begin(), list.end());
    }
  }
  std::ranges::copy(outer, column.resize_offsets(events.size()).begin());
  std::ranges::copy(inner, column.resize_offsets(inner.size() - 1, 1).begin());
  put(column, values);
  return column;
}

Lists lists_of(const Column& column) {
  Lists events;
  const auto view = column.nested<std::int16_t>();
  for (std::size_t event = 0; event < view.size(); ++event) {
    auto& lists = events.emplace_back();
    const auto of_event = view[event];
    for (std::size_t list = 0; list < of_event.size(); ++list) {
      lists.emplace_back(of_event[list].begin(), of_event[list].end());
    }
  }
  return events;
}

}  // namespace

TEST(JoinedColumn, HasTheEventsThatWereAddedOfScalars) {
  Column part{ColumnType::parse("float32[2]")};
  put<float>(part, {0, 1, 10, 11, 20, 21});
  JoinedColumn joined;
  joined.begin(part.type(), 3);
  joined.add(part, 1, 3);
  joined.add(part, 0, 1);
  joined.add(part, 2, 2);
  Column into;
  joined.fill(into);
  EXPECT_EQ(into.n_events(), 3U);
  EXPECT_TRUE(std::ranges::equal(into.values<float>(), std::vector<float>{10, 11, 20, 21, 0, 1}));
}

TEST(JoinedColumn, HasTheEventsThatWereAddedOfListsOfLists) {
  const auto one = nested({{{1, 2}, {}}, {}, {{3}}});
  const auto other = nested({{{4}}, {{}, {5, 6}}});
  JoinedColumn joined;
  joined.begin(one.type(), 4);
  joined.add(other, 1, 2);
  joined.add(one, 0, 3);
  joined.add(other, 0, 0);
  Column into;
  joined.fill(into);
  EXPECT_EQ(lists_of(into), (Lists{{{}, {5, 6}}, {{1, 2}, {}}, {}, {{3}}}));
}

}  // namespace forkrun::root_io
