// What a compiled graph has to be, checked against the definition on random schedules; and what
// compiling costs, in steps.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <forkrun/core/schedule/graph.hpp>
#include <forkrun/core/schedule/schedule.hpp>
#include <forkrun/core/testing/function_modules.hpp>

namespace forkrun::testing {
namespace {

using Nodes = std::set<std::uint32_t>;

std::string numbered(const std::string& name, std::uint32_t number) {
  return name + std::to_string(number);
}

/// Producers, filters and analyzers that consume columns and each other's products, on paths that
/// begin alike or not.
class RandomSchedule {
 public:
  explicit RandomSchedule(std::uint32_t seed) : random_{seed} {
    for (std::uint32_t i = 0; i < n_producers_; ++i) {
      add<FunctionProducer>("p", i, i, [](const EventBlock&) {});
    }
    for (std::uint32_t i = 0; i < n_filters; ++i) {
      add<FunctionFilter>("f", i, n_producers_, [](const EventBlock&, std::span<std::uint8_t>) {});
    }
    for (std::uint32_t i = 0; i < n_analyzers; ++i) {
      add<FunctionAnalyzer>("a", i, n_producers_, [](const EventBlock&, Mask) {});
    }
    add_paths(pick(10));
  }

  std::unique_ptr<Schedule> compile() { return builder_.compile(); }

 private:
  static constexpr std::uint32_t n_filters = 12;
  static constexpr std::uint32_t n_analyzers = 4;

  std::uint32_t pick(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }

  template <typename Kind, typename Function>
  void add(const std::string& kind, std::uint32_t number, std::uint32_t n_before,
           Function function) {
    builder_.add_module({numbered(kind, number), {}}, [&](Construction& construction) {
      for (auto n = pick(4); n > 0; --n) {
        const auto from = pick(n_before + 1);
        const auto name = from == n_before ? "x" : numbered("product", from);
        if (pick(5) == 0) {
          (void)construction.may_consume_scalar<float>(name);
        } else {
          (void)construction.consumes_scalar<float>(name);
        }
      }
      if (pick(3) != 0) {
        construction.set_sees_events_left();
      }
      if (kind == "p") {
        (void)construction.produces_scalar<float>(numbered("product", number));
      }
      return std::make_unique<Kind>(function);
    });
  }

  void add_paths(std::uint32_t n_paths) {
    for (std::uint32_t path = 0; path < n_paths; ++path) {
      std::vector<std::string> labels;
      for (auto n = pick(8); n > 0; --n) {
        labels.push_back(pick(5) == 0 ? numbered("a", pick(n_analyzers))
                                      : numbered("f", pick(pick(3) == 0 ? n_filters : 3)));
      }
      builder_.add_path({numbered("path", path), labels});
    }
  }

  std::mt19937 random_;
  std::uint32_t n_producers_ = 1 + pick(10);
  ScheduleBuilder builder_{{{"x", ColumnType::parse("float32")}}};
};

/// Those of a union; else the gate itself.
std::vector<std::uint32_t> parts_of(const Graph& graph, std::uint32_t gate) {
  const auto parts = graph.at(graph.gates[gate].parts);
  return parts.empty() ? std::vector{gate} : std::vector(parts.begin(), parts.end());
}

/// By the definition, with a copy of all that was called on the way to each gate.
class Definition {
 public:
  explicit Definition(const Graph& graph) : graph_{graph}, certain_(graph.gates.size()) {
    for (std::uint32_t number = 1; number < graph.first_union; ++number) {
      const auto& gate = graph.gates[number];
      certain_[number] = certain_[gate.parent];
      certain_[number].merge(needed_by(gate.filter));
    }
  }

  [[nodiscard]] Nodes steps_of_gate(std::uint32_t gate) const {
    return without(needed_by(graph_.gates[gate].filter), certain_[graph_.gates[gate].parent]);
  }
  [[nodiscard]] Nodes steps_of(std::uint32_t node) const {
    const auto gates = parts_of(graph_, graph_.nodes[node].gate);
    auto certain = certain_[gates[0]];
    for (const auto gate : gates) {
      std::erase_if(certain, [&](auto other) { return !certain_[gate].contains(other); });
    }
    return without(needed_by(node), certain);
  }

 private:
  [[nodiscard]] Nodes needed_by(std::uint32_t node) const {  // NOLINT(misc-no-recursion)
    Nodes needed{node};
    for (const auto input : graph_.at(graph_.nodes[node].inputs)) {
      needed.merge(needed_by(input));
    }
    return needed;
  }
  static Nodes without(Nodes nodes, const Nodes& others) {
    std::erase_if(nodes, [&](auto node) { return others.contains(node); });
    return nodes;
  }

  const Graph& graph_;
  std::vector<Nodes> certain_;  ///< by gate
};

/// Nodes of a range of steps; checks that these are in the order of their numbers.
Nodes nodes_of(const Graph& graph, LinkRange range) {
  Nodes nodes;
  std::uint32_t n_before = 0;
  for (const auto& step : graph.steps_at(range)) {
    EXPECT_TRUE(n_before == 0 || step.node > *nodes.rbegin());
    ++n_before;
    nodes.insert(step.node);
  }
  return nodes;
}

TEST(CompileGraphTest, steps_are_what_is_needed_without_what_was_certainly_called) {
  std::size_t n_certain = 0;
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const auto schedule = RandomSchedule{seed}.compile();
    const auto& graph = schedule->graph();
    const Definition definition{graph};
    for (std::uint32_t gate = 1; gate < graph.first_union; ++gate) {
      EXPECT_EQ(nodes_of(graph, graph.gates[gate].steps), definition.steps_of_gate(gate)) << seed;
      n_certain += definition.steps_of_gate(gate).empty() ? 1 : 0;
    }
    for (const auto node : graph.analyzers) {
      EXPECT_EQ(nodes_of(graph, graph.nodes[node].steps), definition.steps_of(node)) << seed;
    }
  }
  EXPECT_GT(n_certain, 0U);  // Filters that come twice on a path.
}

/// The gates whose events a node is called with, by the definition: those of its uses that no other
/// use leads to.
class EventsLeft {
 public:
  explicit EventsLeft(const Graph& graph) : graph_{graph} {
    for (std::uint32_t gate = 0; gate < graph.gates.size(); ++gate) {
      gate_of_mask_[graph.gates[gate].mask] = gate;
    }
  }

  [[nodiscard]] Nodes found(std::uint32_t node) const {
    const auto parts = parts_of(graph_, gate_of_mask_.at(graph_.nodes[node].left));
    return {parts.begin(), parts.end()};
  }
  /// By what was found of those that use it.
  [[nodiscard]] Nodes expected(std::uint32_t node) const {
    Nodes uses;
    if (!graph_.nodes[node].record->sees_events_left) {
      return {0};
    }
    for (const auto& gate : std::span{graph_.gates}.subspan(1)) {
      if (gate.filter == node) {
        uses.insert(gate.parent);
      }
    }
    for (std::uint32_t user = node + 1; user < graph_.nodes.size(); ++user) {
      const auto inputs = graph_.at(graph_.nodes[user].all_inputs);
      if (std::ranges::find(inputs, node) != inputs.end()) {
        uses.merge(found(user));
      }
    }
    auto first = uses;
    std::erase_if(first, [&](auto gate) {
      return std::ranges::any_of(
          uses, [&](auto other) { return other != gate && way_to(gate).contains(other); });
    });
    return first.empty() ? Nodes{0} : first;
  }
  /// The last gate on the way to all.
  [[nodiscard]] Nodes common(const Nodes& gates) const {
    auto way = way_to(*gates.begin());
    for (const auto gate : gates) {
      std::erase_if(way, [&](auto other) { return !way_to(gate).contains(other); });
    }
    return {*way.rbegin()};
  }

 private:
  [[nodiscard]] Nodes way_to(std::uint32_t gate) const {
    Nodes way{0};
    for (; gate != 0; gate = graph_.gates[gate].parent) {
      way.insert(gate);
    }
    return way;
  }

  const Graph& graph_;
  std::map<std::uint32_t, std::uint32_t> gate_of_mask_;
};

TEST(CompileGraphTest, a_module_sees_the_events_that_any_of_its_uses_wants) {
  std::size_t n_left = 0;
  std::size_t n_united = 0;
  std::size_t n_common = 0;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    const auto schedule = RandomSchedule{seed}.compile();
    const auto& graph = schedule->graph();
    const EventsLeft definition{graph};
    for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) {
      const auto kind = graph.nodes[node].kind;
      if (kind != NodeKind::producer && kind != NodeKind::filter) {
        continue;
      }
      const auto expected = definition.expected(node);
      const auto found = definition.found(node);
      n_left += found == Nodes{0} ? 0 : 1;
      if (found != expected) {
        EXPECT_EQ(found, definition.common(expected)) << seed;
        ++n_common;
      } else if (found.size() > 1) {
        EXPECT_EQ(graph.gates[graph.nodes[node].waits_for].mask, graph.nodes[node].left) << seed;
        ++n_united;
      }
    }
  }
  EXPECT_GT(n_left, 100U);
  EXPECT_GT(n_united, 100U);
  EXPECT_GT(n_common, 10U);  // Asked for, or waiting for each other.
}

TEST(CompileGraphTest, gates_come_after_all_that_they_wait_for) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const auto schedule = RandomSchedule{seed}.compile();
    const auto& graph = schedule->graph();
    Nodes gates{0};
    const auto check = [&](std::uint32_t node, const auto& self) -> void {
      const auto waits_for = graph.nodes[node].waits_for;
      EXPECT_TRUE(waits_for == none || gates.contains(waits_for)) << seed;
      for (const auto input : graph.at(graph.nodes[node].inputs)) {
        self(input, self);
      }
    };
    for (const auto number : graph.gate_order) {
      const auto& gate = graph.gates[number];
      for (const auto part : parts_of(graph, number)) {
        EXPECT_TRUE(part == number || gates.contains(part)) << seed;
      }
      if (gate.filter != none) {
        EXPECT_TRUE(gates.contains(gate.parent)) << seed;
        check(gate.filter, check);
      }
      gates.insert(number);
    }
    EXPECT_EQ(gates.size(), graph.gates.size()) << seed;
  }
}

TEST(CompileGraphTest,
     a_step_says_whether_it_may_have_been_called_and_whether_others_want_to_know) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const auto schedule = RandomSchedule{seed}.compile();
    const auto& graph = schedule->graph();
    std::map<std::uint32_t, std::uint32_t> n_met;
    for (const auto& step : graph.steps) {
      ++n_met[step.node];
    }
    std::map<std::uint32_t, std::uint32_t> n_seen;
    for (const auto& step : graph.steps) {
      const bool is_first = n_seen[step.node]++ == 0;
      EXPECT_TRUE(is_first || step.may_be_called) << seed;
      EXPECT_TRUE(n_met[step.node] == 1 || step.is_noted) << seed;
    }
  }
}

/// A menu of paths of filters that each consume the column and a product of their own.
std::unique_ptr<Schedule> menu(std::uint32_t n_paths, std::uint32_t n_filters) {
  ScheduleBuilder builder{{{"x", ColumnType::parse("float32")}}};
  for (std::uint32_t path = 0; path < n_paths; ++path) {
    std::vector<std::string> labels;
    for (std::uint32_t i = 0; i < n_filters; ++i) {
      const auto number = path * n_filters + i;
      builder.add_module({numbered("p", number), {}}, [&](Construction& construction) {
        (void)construction.consumes_scalar<float>("x");
        (void)construction.produces_scalar<float>(numbered("product", number));
        return std::make_unique<FunctionProducer>([](const EventBlock&) {});
      });
      labels.push_back(numbered("f", number));
      builder.add_module({labels.back(), {}}, [&](Construction& construction) {
        (void)construction.consumes_scalar<float>(numbered("product", number));
        return std::make_unique<FunctionFilter>([](const EventBlock&, std::span<std::uint8_t>) {});
      });
    }
    builder.add_path({numbered("path", path), labels});
  }
  return builder.compile();
}

TEST(CompileGraphTest, the_steps_of_a_menu_grow_as_its_filters_do) {
  const auto schedule = menu(700, 20);
  const auto& graph = schedule->graph();
  EXPECT_EQ(graph.nodes.size(), 2U * 700 * 20 + 1);
  EXPECT_EQ(graph.gates.size(), 700U * 20 + 1);
  EXPECT_EQ(graph.steps.size(), 2U * 700 * 20 + 700);  // The column once on each path.
}

TEST(CompileGraphTest, a_chain_of_a_hundred_thousand_modules_is_compiled) {
  constexpr std::uint32_t n_modules = 100'000;
  ScheduleBuilder builder{{}};
  for (std::uint32_t i = n_modules; i-- > 0;) {  // Consumers first.
    builder.add_module({numbered("p", i), {}}, [&](Construction& construction) {
      if (i > 0) {
        (void)construction.consumes_scalar<float>(numbered("product", i - 1));
      }
      (void)construction.produces_scalar<float>(numbered("product", i));
      return std::make_unique<FunctionProducer>([](const EventBlock&) {});
    });
  }
  builder.add_module({"a", {}}, [&](Construction& construction) {
    (void)construction.consumes_scalar<float>(numbered("product", n_modules - 1));
    return std::make_unique<FunctionAnalyzer>([](const EventBlock&, Mask) {});
  });
  const auto schedule = builder.compile();
  EXPECT_EQ(schedule->graph().nodes.size(), n_modules + 1U);
  EXPECT_EQ(*schedule->graph().nodes.front().name, "p0");
}

}  // namespace
}  // namespace forkrun::testing
