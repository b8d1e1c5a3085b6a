#include <forkrun/core/module/conditions.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/testing/processor_fixture.hpp>

namespace forkrun::testing {
namespace {

ConditionPayload payload_of(const std::vector<double>& values, std::vector<std::size_t> shape = {},
                            const std::string& name = {}) {
  if (shape.empty()) {
    shape = {values.size()};
  }
  ConditionPayload payload;
  const auto kept = std::make_shared<std::vector<double>>(values);
  payload.arrays[name] = {ElementType::float64, std::move(shape), kept->data()};
  payload.owner = kept;
  return payload;
}

std::shared_ptr<Conditions> two_iovs(double in_first, double in_second) {
  auto conditions = std::make_shared<Conditions>(2);
  conditions->add_label("scale", {0, 1});
  conditions->add_payload("scale", 0, payload_of({in_first}));
  conditions->add_payload("scale", 1, payload_of({in_second}));
  return conditions;
}

/// A module's wish, outside of a job.
ConditionObject array_of(const std::string& label, const std::string& name = {}) {
  return {label, typeid(ArrayView<double>), name, [name](const ConditionPayload& payload) {
            return std::make_shared<ArrayView<double>>(payload.array(name));
          }};
}

template <typename Call>
std::string error_of_call(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ArrayViewTest, looks_at_the_same_memory_with_its_shape) {
  const auto payload = payload_of({0, 1, 2, 10, 11, 12}, {2, 3});
  const ArrayView<double> view{payload.array("")};
  EXPECT_EQ(view.values().data(), payload.array("").data);
  EXPECT_EQ(view.shape().size(), 2U);
  EXPECT_EQ(view.shape()[1], 3U);
  EXPECT_EQ(view(1, 2), 12);
  EXPECT_EQ(view[4], 11);
  EXPECT_EQ(view.size(), 6U);
}

TEST(ArrayViewTest, another_type_or_name_is_an_error) {
  const auto payload = payload_of({1}, {}, "muon");
  EXPECT_EQ(error_of_call([&] { ArrayView<float> view{payload.array("muon")}; }),
            "the array holds float64, not float32");
  EXPECT_EQ(error_of_call([&] { (void)payload.array("muno"); }),
            "it has no array \"muno\"; did you mean \"muon\"?");
  EXPECT_EQ(error_of_call([&] { (void)payload.array(""); }), "it has several arrays: \"muon\"");
}

class ConditionsTest : public ProcessorTest {
 protected:
  void use(std::shared_ptr<Conditions> conditions) {
    builder = ScheduleBuilder{MemorySource::description(), 0, std::move(conditions)};
  }
  /// Notes (iov, value) of every block.
  void reader() {
    builder.add_module({"reader", {}}, [&](Construction& construction) {
      const auto scale = construction.condition_array<double>("scale");
      return std::make_unique<FunctionAnalyzer>([this, scale](const EventBlock& block, Mask) {
        seen.emplace_back(block.iov(), block.condition(scale)[0]);
      });
    });
  }
  UnitOfWork unit_in(std::uint32_t iov, std::uint32_t lumi) {
    return {lumi, {1, lumi}, {{0, 10 * lumi, 10 * lumi + 10}}, iov};
  }
  std::vector<std::pair<std::uint32_t, double>> seen;
};

TEST_P(ConditionsTest, blocks_see_what_holds_in_their_iov) {
  use(two_iovs(1.5, 2.5));
  reader();
  processor().process(unit_in(0, 1), {});
  processor().process(unit_in(1, 2), {});
  processor().process(unit_in(0, 3), {});
  ASSERT_FALSE(seen.empty());
  for (const auto& [iov, value] : seen) {
    EXPECT_EQ(value, iov == 0 ? 1.5 : 2.5);
  }
  EXPECT_EQ(seen.front().first, 0U);
  EXPECT_EQ(seen.back().first, 0U);
}

TEST_P(ConditionsTest, what_is_not_there_is_loaded_once_and_can_be_dropped) {
  auto conditions = std::make_shared<Conditions>(2);
  conditions->add_label("scale", {0, 1});
  std::vector<std::uint32_t> loaded;
  conditions->set_load([&, raw = conditions.get()](const std::string& label, std::uint32_t number) {
    loaded.push_back(number);
    raw->add_payload(label, number, payload_of({number + 0.5}));
  });
  use(conditions);
  reader();
  for (const std::uint32_t iov : {0U, 0U, 1U}) {
    conditions->prepare(iov);
    processor().process(unit_in(iov, iov + 1), {});
  }
  conditions->drop("scale", 0);
  conditions->prepare(0);
  processor().process(unit_in(0, 3), {});
  EXPECT_EQ(loaded, (std::vector<std::uint32_t>{0, 1, 0}));
  for (const auto& [iov, value] : seen) {
    EXPECT_EQ(value, iov + 0.5);
  }
}

TEST_P(ConditionsTest, wrong_labels_and_types_are_problems_of_the_module) {
  use(two_iovs(1.5, 2.5));
  builder.add_module({"misspelt", {}}, [&](Construction& construction) {
    construction.condition_array<double>("scael");
    return std::make_unique<FunctionAnalyzer>([](const EventBlock&, Mask) {});
  });
  builder.add_module({"floats", {}}, [&](Construction& construction) {
    construction.condition_array<float>("scale");
    return std::make_unique<FunctionAnalyzer>([](const EventBlock&, Mask) {});
  });
  try {
    schedule = builder.compile();
    FAIL();
  } catch (const ScheduleError& error) {
    EXPECT_EQ(error.problems(),
              (std::vector<std::string>{
                  "module \"misspelt\": unknown condition \"scael\"; did you mean"
                  " \"scale\"?",
                  "module \"floats\": condition \"scale\": the array holds float64, not"
                  " float32"}));
  }
}

INSTANTIATE_TEST_SUITE_P(executors, ConditionsTest, all_executors, name_of);

TEST(ConditionObjectTest, modules_that_want_the_same_share_it) {
  auto conditions = two_iovs(1.5, 2.5);
  EXPECT_EQ(conditions->consume(array_of("scale")), 0U);
  EXPECT_EQ(conditions->consume(array_of("scale")), 0U);
  auto other = array_of("scale");
  other.key = "other";
  EXPECT_EQ(conditions->consume(other), 1U);
  EXPECT_EQ(conditions->objects_in(2), nullptr);
  const auto* const* first = conditions->objects_in(0);
  EXPECT_EQ((*static_cast<const ArrayView<double>*>(first[0]))[0], 1.5);
}

TEST(ConditionObjectTest, every_iov_must_have_a_payload) {
  Conditions conditions{3};
  EXPECT_EQ(error_of_call([&] { conditions.add_label("scale", {0}); }),
            "condition \"scale\" has payloads for 1 of 3 IOVs");
}

class BinnedTableTest : public ::testing::Test {
 protected:
  /// 2 × 3 bins; content 10 x + y by bin number, flow bins included.
  static ConditionPayload payload(const std::string& outside) {
    static const std::vector<double> x{0, 1, 2};
    static const std::vector<double> y{-1, 0, 1, 5};
    static std::vector<double> values(4 * 5);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<double>(10 * (i / 5) + i % 5);
    }
    ConditionPayload made;
    made.arrays["edges_0"] = {ElementType::float64, {3}, x.data()};
    made.arrays["edges_1"] = {ElementType::float64, {4}, y.data()};
    made.arrays["values"] = {ElementType::float64, {4, 5}, values.data()};
    made.arrays["variances"] = made.arrays["values"];
    made.attributes["outside"] = outside;
    return made;
  }
};

TEST_F(BinnedTableTest, a_bin_holds_its_lower_edge) {
  const BinnedTable table{payload("nearest"), 2};
  EXPECT_EQ(table(0.5, 0.5), 12);
  EXPECT_EQ(table(1.0F, 1), 23);
  EXPECT_EQ(table.error(0, -1), std::sqrt(11.0));
  EXPECT_EQ(table.edges(1).size(), 4U);
}

TEST_F(BinnedTableTest, beyond_the_edges_holds_what_the_condition_says) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const BinnedTable nearest{payload("nearest"), 2};
  EXPECT_EQ(nearest(-3, 7), 13);
  EXPECT_EQ(nearest(nan, 0), 22);
  const BinnedTable flow{payload("flow"), 2};
  EXPECT_EQ(flow(-3, 7), 4);
  EXPECT_EQ(flow(2, -1.5), 30);
  EXPECT_EQ(flow(nan, 0), 32);
  const BinnedTable strict{payload("error"), 2};
  EXPECT_EQ(strict(0, 0), 12);
  EXPECT_NE(error_of_call([&] { (void)strict(2, 0); }).find("outside of axis 0"),
            std::string::npos);
}

TEST_F(BinnedTableTest, the_number_of_coordinates_is_checked) {
  EXPECT_EQ(error_of_call([] { BinnedTable table{payload("flow"), 1}; }),
            "the table has 2 coordinates, not 1");
  const BinnedTable table{payload("flow"), 2};
  EXPECT_EQ(error_of_call([&] { (void)table(1); }), "a table of 2 coordinates is given 1");
}

}  // namespace
}  // namespace forkrun::testing
