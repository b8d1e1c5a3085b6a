#include <forkrun/core/data/is_text.hpp>

#include <gtest/gtest.h>

#include <string_view>

namespace forkrun {
namespace {

TEST(IsText, NamesInAnyLanguageAre) {
  for (const auto* name : {"", "Muon_pt", "a b.c[3]/F", "\xc3\xa4", "\xe2\x82\xac", "\xed\x9f\xbf",
                           "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_text(name)) << name;
  }
}

TEST(IsText, ControlCharactersAndBrokenUtf8AreNot) {
  for (const auto* name :
       {"a\r", "\x7f", "\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xe2\x82", "\xed\xa0\x80",
        "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3\x28"}) {
    EXPECT_FALSE(is_text(name)) << name;
  }
  EXPECT_FALSE(is_text(std::string_view{"a\0b", 3}));
}

}  // namespace
}  // namespace forkrun
