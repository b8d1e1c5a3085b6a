#include <forkrun/formats/ttree/read/form_values.hpp>

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include <forkrun/formats/ttree/layout/leaf_form.hpp>
#include <forkrun/formats/ttree/layout/value_form.hpp>

namespace forkrun::root_io {

namespace {

using Entry = std::vector<std::byte>;

Entry entry(std::initializer_list<int> values) {
  Entry bytes;
  for (const auto value : values) {
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

/// Of the member with this number.
Column read(const std::vector<LeafForm>& leaves, std::size_t member,
            const std::vector<Entry>& entries) {
  auto form = *entry_form_of(leaves);
  const auto columns = columns_of(*form.value, form.is_of_many ? 1 : 0);
  const auto& column = columns.at(member);
  form.path = column.path;
  FormValues values;
  values.begin(form, column.type, entries.size());
  for (const auto& each : entries) {
    values.add(each);
  }
  Column into;
  values.fill(into);
  return into;
}

template <typename T>
std::vector<T> numbers(const Column& column) {
  const auto values = column.values<T>();
  return {values.begin(), values.end()};
}

const std::vector<LeafForm> mixed{{"TLeafS", "x[2]", 2, false, false},
                                  {"TLeafD32", "y/d[0,10,8]", 1, false, false},
                                  {"TLeafC", "text", 1, false, false}};

}  // namespace

TEST(FormValues, LeavesOfAListAreMembers) {
  const std::vector<Entry> entries{entry({0, 1, 255, 254, 0, 0, 0, 128, 2, 'a', 'b'}),
                                   entry({0, 3, 0, 4, 0, 0, 0, 0})};
  EXPECT_EQ(numbers<std::int16_t>(read(mixed, 0, entries)),
            (std::vector<std::int16_t>{1, -2, 3, 4}));
  EXPECT_EQ(numbers<double>(read(mixed, 1, entries)), (std::vector<double>{5, 0}));
  const auto text = read(mixed, 2, entries);
  const auto offsets = text.offsets();
  EXPECT_EQ(std::vector(offsets.begin(), offsets.end()), (std::vector<std::int64_t>{0, 2, 2}));
}

TEST(FormValues, AnEntryOfAnotherSizeIsAnError) {
  for (const std::size_t n : {0U, 3U, 7U, 9U, 10U, 12U}) {
    Entry bytes = entry({0, 1, 255, 254, 0, 0, 0, 128, 2, 'a', 'b'});
    bytes.resize(n);
    EXPECT_THROW(read(mixed, 2, {bytes}), Error) << n;
  }
}

TEST(FormValues, CountedPackedNumbersFillTheirEntry) {
  const std::vector<LeafForm> counted{{"TLeafF16", "x[n]/f[0,255,8]", 1, false, true}};
  const auto column = read(counted, 0, {entry({0, 0, 0, 0}), {}, entry({0, 0, 1, 0, 0, 0, 0, 0})});
  EXPECT_EQ(column.type().name(), "float32[]");
  const auto offsets = column.offsets();
  EXPECT_EQ(std::vector(offsets.begin(), offsets.end()), (std::vector<std::int64_t>{0, 1, 1, 3}));
  EXPECT_EQ(numbers<float>(column), (std::vector<float>{0, 255, 0}));
}

TEST(FixedPlace, IsThatOfNumbersAmongNumbersAlone) {
  const std::vector<LeafForm> plain{{"TLeafI", "a", 1, false, false},
                                    {"TLeafF16", "b", 1, false, false},
                                    {"TLeafD", "c[2][3]", 6, false, false}};
  auto form = *entry_form_of(plain);
  form.path = {2};
  const auto place = fixed_place(form);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->offset, 7U);
  EXPECT_EQ(place->n_bytes, 48U);
  EXPECT_EQ(place->n_entry_bytes, 55U);
  form.path = {1};
  EXPECT_FALSE(fixed_place(form));  // it is packed
  auto with_text = *entry_form_of(mixed);
  with_text.path = {0};
  EXPECT_FALSE(fixed_place(with_text));
}

}  // namespace forkrun::root_io
