#include <forkrun/formats/rntuple/write/pending_column.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include <forkrun/bytes/xxh3.hpp>
#include <forkrun/formats/rntuple/write/page_encoding.hpp>

namespace forkrun::rntuple {

TEST(PendingColumn, EverySixteenthPageThatIsMadeOfValuesIsASample) {
  const std::vector<std::byte> values(10, std::byte{7});
  PendingColumn column{new_column(ElementType::int8, 0), {}};
  std::vector<std::size_t> sampled;
  for (std::size_t n_made = 0; n_made < 33; ++n_made) {
    std::ranges::copy(values, column.extend(values.size()));
    column.add_page(3, values);  // as it is: it does not count
    column.seal();
    ASSERT_EQ(column.pages().size(), 2U);
    EXPECT_FALSE(column.pages()[1].digest);
    if (const auto& digest = column.pages()[0].digest) {
      EXPECT_EQ(*digest, xxh3(values));
      sampled.push_back(n_made);
    }
    column.forget_pages();
  }
  EXPECT_EQ(sampled, (std::vector<std::size_t>{0, 16, 32}));
}

}  // namespace forkrun::rntuple
