#include <forkrun/core/data/counted.hpp>

#include <cstddef>

#include <gtest/gtest.h>

namespace forkrun {

TEST(Counted, agrees_with_its_number) {
  EXPECT_EQ(counted(1, "byte"), "1 byte");
  EXPECT_EQ(counted(std::size_t{0}, "byte"), "0 bytes");
  EXPECT_EQ(counted(-2, "byte"), "-2 bytes");
  EXPECT_EQ(counted(1, "entry", "entries"), "1 entry");
  EXPECT_EQ(counted(7U, "byte is", "bytes are"), "7 bytes are");
}

}  // namespace forkrun
