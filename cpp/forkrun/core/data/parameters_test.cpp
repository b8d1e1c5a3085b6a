#include <forkrun/core/data/parameters.hpp>

#include <gtest/gtest.h>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {
namespace {

const Parameters parameters{"muons",
                            {{"pt_min", 5.5},
                             {"n", std::int64_t{3}},
                             {"large", std::int64_t{1} << 40},
                             {"flag", true},
                             {"name", std::string{"tight"}},
                             {"edges", std::vector<std::int64_t>{1, 2}},
                             {"cuts", std::vector<double>{0.5, 2}},
                             {"names", std::vector<std::string>{"a", "b"}},
                             {"empty", std::vector<std::int64_t>{}}}};

template <typename T>
std::string error_of(const std::string& name) {
  try {
    (void)parameters.get<T>(name);
  } catch (const ScheduleError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ParametersTest, values_come_with_their_type) {
  EXPECT_EQ(parameters.get<double>("pt_min"), 5.5);
  EXPECT_EQ(parameters.get<float>("pt_min"), 5.5F);
  EXPECT_EQ(parameters.get<int>("n"), 3);
  EXPECT_EQ(parameters.get<std::int64_t>("large"), std::int64_t{1} << 40);
  EXPECT_TRUE(parameters.get<bool>("flag"));
  EXPECT_EQ(parameters.get<std::string>("name"), "tight");
  EXPECT_EQ(parameters.get<std::vector<double>>("cuts"), (std::vector<double>{0.5, 2}));
  EXPECT_EQ(parameters.get<std::vector<std::string>>("names"),
            (std::vector<std::string>{"a", "b"}));
}

TEST(ParametersTest, integers_are_accepted_for_numbers_and_nothing_else_is_converted) {
  EXPECT_EQ(parameters.get<double>("n"), 3.0);
  EXPECT_EQ(parameters.get<std::vector<double>>("edges"), (std::vector<double>{1, 2}));
  EXPECT_EQ(error_of<int>("pt_min"),
            "module \"muons\": parameter \"pt_min\" must be an integer of 32 bits, but a number is "
            "given");
  EXPECT_EQ(error_of<double>("flag"),
            "module \"muons\": parameter \"flag\" must be a number, but a boolean is given");
  EXPECT_NE(error_of<bool>("n"), "no error");
  EXPECT_NE(error_of<int>("large"), "no error");
  EXPECT_NE(error_of<std::vector<double>>("n"), "no error");
  EXPECT_NE(error_of<std::vector<std::int64_t>>("cuts"), "no error");
}

TEST(ParametersTest, empty_list_is_a_list_of_anything) {
  EXPECT_EQ(parameters.get<std::vector<std::string>>("empty"), std::vector<std::string>{});
}

TEST(ParametersTest, missing_parameter_has_its_fallback_or_is_an_error) {
  EXPECT_EQ(parameters.get<double>("eta_max", 2.4), 2.4);
  EXPECT_EQ(parameters.get<int>("n", 7), 3);
  EXPECT_EQ(error_of<double>("eta_max"),
            "module \"muons\" needs the parameter \"eta_max\" (a number)");
}

TEST(ParametersTest, parameters_that_nobody_asked_for_are_named) {
  const Parameters few{"jets", {{"pt_mim", 5.5}, {"r", 0.4}}};
  (void)few.get<double>("pt_min", 1);
  (void)few.get<double>("r");
  try {
    few.check_all_used();
    FAIL();
  } catch (const ScheduleError& error) {
    EXPECT_STREQ(error.what(),
                 "module \"jets\" has no parameter \"pt_mim\"; did you mean \"pt_min\"?");
  }
}

}  // namespace
}  // namespace forkrun
