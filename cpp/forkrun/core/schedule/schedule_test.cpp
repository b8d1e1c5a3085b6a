#include <forkrun/core/schedule/schedule.hpp>

#include <gtest/gtest.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/schedule/graph.hpp>
#include <forkrun/core/testing/function_modules.hpp>

namespace forkrun {
namespace {

using testing::FunctionAnalyzer;
using testing::FunctionFilter;
using testing::FunctionProducer;
using testing::MemoryOutput;
using Strings = std::vector<std::string>;

class ScheduleTest : public ::testing::Test {
 protected:
  void producer(const std::string& label, const Strings& inputs, const Strings& products) {
    builder.add_module({label, {}}, [&](Construction& construction) {
      for (const auto& input : inputs) {
        construction.consumes_scalar<float>(input);
      }
      for (const auto& product : products) {
        construction.produces_scalar<float>(product);
      }
      return std::make_unique<FunctionProducer>([](const EventBlock&) {});
    });
  }

  void filter(const std::string& label, const Strings& inputs = {}) {
    builder.add_module({label, {}}, [&](Construction& construction) {
      for (const auto& input : inputs) {
        construction.consumes_scalar<float>(input);
      }
      return std::make_unique<FunctionFilter>([](const EventBlock&, std::span<std::uint8_t>) {});
    });
  }

  void output(const std::string& label, const Strings& paths, const Strings& products) {
    builder.add_output({label, paths, products}, [this](Construction&) {
      return std::make_unique<MemoryOutput>(record, std::vector<ScalarInput<std::int64_t>>{});
    });
  }

  Strings problems() {
    try {
      (void)builder.compile();
    } catch (const ScheduleError& error) {
      return error.problems();
    }
    return {};
  }

  MemoryOutput::Record record;
  ScheduleBuilder builder{{{"Muon_pt", ColumnType::parse("float32[]")},
                           {"MET_pt", ColumnType::parse("float32")},
                           {"run", ColumnType::parse("uint32")}}};
};

TEST_F(ScheduleTest, a_module_can_mean_other_versions_of_products_by_its_names) {
  const auto make = [](Construction& construction) {
    construction.consumes_scalar<float>("MET_pt");
    construction.produces_scalar<float>("ht");
    return std::make_unique<FunctionProducer>([](const EventBlock&) {});
  };
  producer("scale", {"MET_pt"}, {"MET_pt@up"});
  builder.add_module({"sum", {}}, make);
  builder.add_module({"sum@up", {}, {}, {{{"MET_pt", "MET_pt@up"}}, {{"ht", "ht@up"}}}}, make);
  const auto products = builder.products_by_module();
  EXPECT_EQ(products.at("sum").kind, "producer");
  EXPECT_EQ(products.at("sum").consumed, Strings{"MET_pt"});
  EXPECT_EQ(products.at("sum").produced, Strings{"ht"});
  EXPECT_EQ(products.at("sum@up").consumed, Strings{"MET_pt@up"});
  EXPECT_EQ(products.at("sum@up").produced, Strings{"ht@up"});
  EXPECT_EQ(problems(), Strings{});
}

TEST_F(ScheduleTest, a_module_that_is_added_later_has_the_place_that_was_reserved) {
  builder.reserve_module("a");
  producer("b", {"MET_ptt"}, {"x"});
  filter("f", {"nothing"});
  producer("a", {"Muon_ptt"}, {"x"});
  EXPECT_EQ(problems(),
            (Strings{"product \"x\" is made twice: by module \"a\" and by module \"b\"",
                     "module \"a\" consumes \"Muon_ptt\", which no module makes; did you mean "
                     "\"Muon_pt\"?",
                     "module \"b\" consumes \"MET_ptt\", which no module makes; did you mean "
                     "\"MET_pt\"?",
                     "module \"f\" consumes \"nothing\", which no module makes"}));
}

TEST_F(ScheduleTest, a_place_that_stays_empty_is_an_error) {
  builder.reserve_module("a");
  EXPECT_THROW((void)builder.compile(), Error);
}

TEST_F(ScheduleTest, before_any_replacement_a_column_that_nothing_replaces_is_itself) {
  producer("a", {"MET_pt@input"}, {"x"});
  EXPECT_EQ(builder.consumed_source_columns(), Strings{"MET_pt"});
  EXPECT_EQ(problems(), Strings{});
}

TEST_F(ScheduleTest, all_problems_are_reported_together) {
  producer("a", {"MET_ptt"}, {"x"});
  producer("b", {"Muon_pt"}, {"x"});
  filter("f");
  builder.add_path({"skim", {"ff", "a"}});
  output("out", {"skin"}, {});
  EXPECT_EQ(problems(),
            (Strings{"product \"x\" is made twice: by module \"a\" and by module \"b\"",
                     "module \"a\" consumes \"MET_ptt\", which no module makes; did you mean "
                     "\"MET_pt\"?",
                     "module \"b\" consumes \"Muon_pt\" as float32, but the input makes it as "
                     "float32[]",
                     "path \"skim\" names \"ff\", which is not a module; did you mean \"f\"?",
                     "path \"skim\" names \"a\", a producer: a path has filters and analyzers, and "
                     "their inputs are made on demand",
                     "output \"out\" writes path \"skin\", which does not exist; did you mean "
                     "\"skim\"?"}));
}

TEST_F(ScheduleTest, cycle_is_written_along_the_flow_of_products) {
  producer("a", {"z"}, {"x"});
  producer("b", {"x"}, {"y"});
  producer("c", {"y"}, {"z"});
  EXPECT_EQ(problems(),
            (Strings{"cycle: a → b → c → a (each consumes a product of the previous one)"}));
}

TEST_F(ScheduleTest, product_of_the_input_made_again_is_a_problem) {
  producer("a", {}, {"MET_pt"});
  EXPECT_EQ(problems(),
            (Strings{"product \"MET_pt\" is made twice: by the input and by module \"a\""}));
}

TEST_F(ScheduleTest, type_mismatch_names_both_types_also_of_objects) {
  builder.add_module({"a", {}}, [](Construction& construction) {
    construction.produces<std::vector<int>>("list");
    return std::make_unique<FunctionProducer>([](const EventBlock&) {});
  });
  producer("b", {"list"}, {});
  output("out", {}, {"list"});
  EXPECT_EQ(problems(),
            (Strings{"module \"b\" consumes \"list\" as float32, but module \"a\" makes "
                     "it as std::vector<int, std::allocator<int> >",
                     "output \"out\" consumes \"list\" as a column, but module \"a\" "
                     "makes it as std::vector<int, std::allocator<int> >"}));
}

TEST_F(ScheduleTest, constructor_that_throws_is_one_problem_among_others) {
  builder.add_module({"a", {}}, [](Construction&) -> std::unique_ptr<Module> {
    throw std::runtime_error{"no such calibration"};
  });
  filter("f", {"nothing"});
  EXPECT_EQ(problems(), (Strings{"module \"a\": no such calibration",
                                 "module \"f\" consumes \"nothing\", which no module makes"}));
}

TEST_F(ScheduleTest, parameter_that_no_module_asked_for_is_a_problem) {
  builder.add_module({"a", Parameters{"a", {{"pt_mim", 5.0}}}}, [](Construction& construction) {
    (void)construction.parameters().get<double>("pt_min", 3.0);
    return std::make_unique<FunctionProducer>([](const EventBlock&) {});
  });
  EXPECT_EQ(problems(), (Strings{"module \"a\" has no parameter \"pt_mim\"; did you mean "
                                 "\"pt_min\"?"}));
}

TEST_F(ScheduleTest, labels_and_paths_are_unique) {
  filter("f");
  filter("f");
  builder.add_path({"p", {"f"}});
  builder.add_path({"p", {"f"}});
  EXPECT_EQ(problems(), (Strings{"there are two modules \"f\"", "there are two paths \"p\""}));
}

TEST_F(ScheduleTest, only_analyzers_book_histograms) {
  builder.add_module({"f", {}}, [](Construction& construction) {
    construction.book("h", "", RegularAxis{1, 0, 1});
    return std::make_unique<FunctionFilter>([](const EventBlock&, std::span<std::uint8_t>) {});
  });
  EXPECT_EQ(problems(), (Strings{"module \"f\" books histograms, but is not an analyzer"}));
}

TEST_F(ScheduleTest, histograms_that_cannot_be_booked_are_named_with_their_module) {
  builder.add_module({"a", {}}, [](Construction& construction) -> std::unique_ptr<Module> {
    construction.book("h", "", RegularAxis{1, 0, 1});
    construction.book("h", "", RegularAxis{2, 0, 1});
    return nullptr;
  });
  builder.add_module({"b", {}}, [](Construction& construction) -> std::unique_ptr<Module> {
    construction.book_profile("h", "", IntegerAxis{2, 2, "jets"});
    return nullptr;
  });
  EXPECT_EQ(problems(),
            (Strings{"module \"a\": histogram \"h\" is booked twice",
                     "module \"b\": histogram \"h\": axis 0 \"jets\" needs start < stop"}));
}

TEST_F(ScheduleTest, filter_that_declares_a_product_is_a_problem) {
  builder.add_module({"f", {}}, [](Construction& construction) {
    construction.produces_scalar<float>("x");
    return std::make_unique<FunctionFilter>([](const EventBlock&, std::span<std::uint8_t>) {});
  });
  EXPECT_EQ(problems(), (Strings{"module \"f\" declares products, but is not a producer"}));
}

TEST_F(ScheduleTest, an_output_that_may_consume_is_a_problem_among_the_others) {
  filter("f", {"nothing"});
  builder.add_output({"out", {}, {}}, [this](Construction& construction) {
    construction.may_consume_scalar<float>("MET_pt");
    return std::make_unique<MemoryOutput>(record, std::vector<ScalarInput<std::int64_t>>{});
  });
  EXPECT_EQ(problems(), (Strings{"module \"f\" consumes \"nothing\", which no module makes",
                                 "output \"out\" may consume \"MET_pt\", but outputs cannot "
                                 "request products while they write: declare it with consumes()"}));
}

TEST_F(ScheduleTest, a_clone_of_another_class_is_a_problem) {
  class Base : public Producer {
   public:
    [[nodiscard]] std::unique_ptr<Module> clone() const override {
      return std::make_unique<Base>();
    }
    void produce(const EventBlock&) override {}
  };
  class Derived final : public Base {};
  builder.add_module({"d", {}}, [](Construction& construction) {
    construction.set_instances(Instances::per_block);
    return std::make_unique<Derived>();
  });
  EXPECT_EQ(problems(), (Strings{"module \"d\" cannot have one object per block: it has a clone() "
                                 "that makes an object of another class"}));
}

TEST_F(ScheduleTest, a_builder_is_compiled_once) {
  producer("a", {"MET_pt"}, {"x"});
  filter("f", {"x"});
  builder.add_path({"p", {"f"}});
  (void)builder.compile();
  EXPECT_THROW((void)builder.compile(), Error);
  EXPECT_THROW(filter("g", {"x"}), Error);
  EXPECT_THROW(output("out", {}, {"x"}), Error);
  EXPECT_THROW(builder.add_path({"q", {"f"}}), Error);
}

TEST_F(ScheduleTest, columns_made_and_columns_read_are_known_before_compiling) {
  producer("a", {"MET_pt"}, {"z", "b"});
  output("out", {}, {"z", "run"});
  const auto produced = builder.produced_columns();
  ASSERT_EQ(produced.size(), 2U);
  EXPECT_EQ(produced[0].name, "b");
  EXPECT_EQ(produced[1].name, "z");
  EXPECT_EQ(produced[1].type.name(), "float32");
  EXPECT_EQ(builder.consumed_source_columns(), (Strings{"MET_pt", "run"}));
}

TEST_F(ScheduleTest, columns_are_told_by_the_module_that_makes_them) {
  producer("late", {"MET_pt"}, {"z", "b"});
  filter("f", {"z"});
  producer("early", {"MET_pt"}, {"a"});
  const std::map<std::string, Strings> expected{{"late", {"z", "b"}}, {"early", {"a"}}};
  EXPECT_EQ(builder.columns_by_module(), expected);
}

TEST_F(ScheduleTest, only_what_is_needed_has_a_node) {
  producer("unneeded", {"MET_pt"}, {"y"});
  producer("needed", {}, {"z"});
  filter("f", {"z"});
  filter("off_path");
  builder.add_path({"p", {"f"}});
  const auto schedule = builder.compile();
  Strings names;
  for (const auto& node : schedule->graph().nodes) {
    names.push_back(*node.name);
  }
  EXPECT_EQ(names, (Strings{"needed", "f"}));
}

TEST_F(ScheduleTest, paths_that_begin_alike_share_their_gates) {
  filter("f");
  filter("g");
  filter("h");
  builder.add_path({"p", {"f", "g"}});
  builder.add_path({"q", {"f", "h"}});
  builder.add_path({"r", {"f", "g"}});
  const auto schedule = builder.compile();
  EXPECT_EQ(schedule->graph().gates.size(), 4U);
}

}  // namespace
}  // namespace forkrun
