#include <forkrun/core/data/nearest_name.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace forkrun {
namespace {

const std::vector<std::string> names{"Muon_pt", "Muon_eta", "Jet_pt", "MET_pt", "run"};

TEST(NearestNameTest, one_or_two_slips_find_the_name) {
  EXPECT_EQ(nearest_name("Muon_ptt", names), "Muon_pt");
  EXPECT_EQ(nearest_name("Moun_eta", names), "Muon_eta");
  EXPECT_EQ(nearest_name("met_pt", names), "MET_pt");
  EXPECT_EQ(nearest_name("rn", names), "run");
}

TEST(NearestNameTest, nothing_is_near_a_strange_name) {
  EXPECT_EQ(nearest_name("quarkonium", names), "");
  EXPECT_EQ(nearest_name_hint("quarkonium", names), "");
  EXPECT_EQ(nearest_name_hint("Jet_p", names), "; did you mean \"Jet_pt\"?");
}

}  // namespace
}  // namespace forkrun
