#include <forkrun/core/schedule/compile_graph.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace forkrun {

namespace {

using Numbers = std::vector<std::uint32_t>;

void add_once(Numbers& numbers, std::uint32_t number) {
  if (std::ranges::find(numbers, number) == numbers.end()) {
    numbers.push_back(number);
  }
}

/// Resource shared by all unsafe modules, with a name that no user gives.
const std::string unsafe_resource;

bool is_coroutine(const Module& module) {
  return dynamic_cast<const CoroutineProducer*>(&module) != nullptr ||
         dynamic_cast<const CoroutineFilter*>(&module) != nullptr;
}

/// A module that holds shared resources cannot wait on a stack: modules called meanwhile might need
/// the same. Products that it may request are made before it runs.
bool cannot_wait(const ModuleRecord& record) {
  const bool shares = record.concurrency() == Concurrency::unsafe || !record.resources.empty();
  return shares && !is_coroutine(*record.module);
}

class GraphCompiler {
 public:
  explicit GraphCompiler(const JobDescription& job);
  Graph compile();

 private:
  std::uint32_t module_node(std::uint32_t module);
  void add_module_node(std::uint32_t module);
  Numbers queues_of(std::uint32_t module);
  Numbers shared_queues_of(std::uint32_t module);
  void add_queues_between_units();
  std::uint32_t shared_queue(const std::string& resource);
  std::uint32_t column_node(std::uint32_t product);
  Node describe(std::uint32_t module) const;
  void set_turn(std::uint32_t module, Node& node);
  [[nodiscard]] Numbers input_nodes(const Numbers& products) const;
  Numbers columns_among(const Numbers& products) const;
  [[nodiscard]] bool can_be_cut(std::uint32_t module, const Node& node) const;
  void add_path(const PathDescription& path);
  std::uint32_t next_gate(std::uint32_t gate, std::uint32_t filter);
  void add_analyzers();
  void add_outputs();
  void note_makers();
  void note_events_left();
  void pass_uses_on();
  std::uint32_t use(std::uint32_t before, std::uint32_t gate);
  [[nodiscard]] bool leads_to(std::uint32_t gate, std::uint32_t other) const;
  [[nodiscard]] std::uint32_t common_gate(const Numbers& gates) const;
  std::uint32_t gate_of(std::uint32_t set);
  bool order_gates();
  [[nodiscard]] Numbers waited_for(std::uint32_t vertex) const;
  LinkRange add_links(const Numbers& numbers);
  std::uint32_t number_of(const std::string& label) const;

  const JobDescription& job_;
  Graph graph_;
  std::vector<Numbers> consumed_;                   ///< products, by module
  std::vector<Numbers> asked_;                      ///< products that it may request, by module
  std::vector<bool> asks_;                          ///< by module
  std::vector<Numbers> produced_;                   ///< products, by module
  Numbers module_nodes_;                            ///< by module
  Numbers column_nodes_;                            ///< by product
  std::vector<Numbers> analyzer_gates_;             ///< by module
  std::map<std::uint32_t, Numbers> own_gates_;      ///< of analyzers and outputs, by node
  std::map<std::string, std::uint32_t> path_ends_;  ///< gates
  std::vector<Numbers> gate_children_;              ///< by gate
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> gate_after_;  ///< gate, filter
  std::unordered_map<std::string_view, std::uint32_t> numbers_;  ///< of modules, by label
  std::vector<Numbers> gate_analyzers_;                          ///< by gate
  std::map<std::string, std::uint32_t> resources_;               ///< queues, by name
  std::vector<bool> reaches_waiting_;  ///< by node: it, or an input, is in turn
  Numbers lazy_nodes_;
  std::vector<bool> takes_common_;  ///< by node: sees the events left on the way to all its uses
  std::vector<Numbers> sets_;       ///< gates none of which leads to another; gate n is set n
  std::map<Numbers, std::uint32_t> set_numbers_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> joined_sets_;
  std::map<std::uint32_t, std::uint32_t> unions_;  ///< gates, by set
};

GraphCompiler::GraphCompiler(const JobDescription& job)
    : job_{job},
      consumed_(job.modules.size()),
      asked_(job.modules.size()),
      asks_(job.modules.size()),
      produced_(job.modules.size()),
      module_nodes_(job.modules.size(), none),
      column_nodes_(job.products.products().size(), none),
      analyzer_gates_(job.modules.size()),
      gate_children_(1) {
  graph_.products = job.products.products();
  graph_.gates.resize(1);
  for (const auto& consumption : job.products.consumptions()) {
    asks_[consumption.module] =
        asks_[consumption.module] || consumption.when == Consumption::When::asked;
    const bool before = consumption.when == Consumption::When::before ||
                        cannot_wait(job.modules[consumption.module]);
    add_once((before ? consumed_ : asked_)[consumption.module], consumption.product);
  }
  for (std::uint32_t module = 0; module < job.modules.size(); ++module) {
    numbers_.emplace(job.modules[module].label, module);
  }
  for (std::uint32_t number = 0; number < graph_.products.size(); ++number) {
    if (graph_.products[number].module != none) {
      produced_[graph_.products[number].module].push_back(number);
    }
  }
}

Graph GraphCompiler::compile() {
  for (const auto& path : job_.paths) {
    add_path(path);
  }
  add_analyzers();
  add_outputs();
  add_queues_between_units();
  note_makers();
  note_events_left();
  for (std::size_t gate = 0; gate < gate_children_.size(); ++gate) {
    graph_.gates[gate].children = add_links(gate_children_[gate]);
  }
  for (const auto node : graph_.analyzers) {
    gate_analyzers_[graph_.nodes[node].gate].push_back(node);
  }
  for (std::size_t gate = 0; gate < graph_.gates.size(); ++gate) {
    graph_.gates[gate].analyzers = add_links(gate_analyzers_[gate]);
  }
  add_steps(graph_, lazy_nodes_);
  return std::move(graph_);
}

/// Nodes are numbered after their dependencies. A module's inputs are visited in the order of
/// declaration, then the products that it may request; on a list instead of the stack, since chains
/// of modules may be long.
std::uint32_t GraphCompiler::module_node(std::uint32_t module) {
  struct Visit {
    std::uint32_t module;
    std::size_t n_seen;  ///< of its products
  };
  std::vector<Visit> way;
  if (module_nodes_[module] == none) {
    way.push_back({module, 0});
  }
  while (!way.empty()) {
    auto& [visited, n_seen] = way.back();
    const auto& consumed = consumed_[visited];
    const auto& asked = asked_[visited];
    if (n_seen == consumed.size() + asked.size()) {
      add_module_node(visited);
      way.pop_back();
      continue;
    }
    const auto product =
        n_seen < consumed.size() ? consumed[n_seen] : asked[n_seen - consumed.size()];
    ++n_seen;
    const auto maker = graph_.products[product].module;
    if (maker == none) {
      column_node(product);
    } else if (module_nodes_[maker] == none) {
      way.push_back({maker, 0});
    }
  }
  return module_nodes_[module];
}

/// All its dependencies have nodes.
void GraphCompiler::add_module_node(std::uint32_t module) {
  auto node = describe(module);
  node.inputs = add_links(input_nodes(consumed_[module]));
  auto all = consumed_[module];
  std::ranges::copy(asked_[module], std::back_inserter(all));
  node.all_inputs = asked_[module].empty() ? node.inputs : add_links(input_nodes(all));
  std::ranges::copy(input_nodes(asked_[module]), std::back_inserter(lazy_nodes_));
  node.products = add_links(produced_[module]);
  node.columns = add_links(columns_among(produced_[module]));
  node.is_cut = node.record->sees_one_lumi() && can_be_cut(module, node);
  node.cut_columns = add_links(node.is_cut ? consumed_[module] : Numbers{});
  node.queues = add_links(queues_of(module));
  set_turn(module, node);
  module_nodes_[module] = static_cast<std::uint32_t>(graph_.nodes.size());
  graph_.nodes.push_back(node);
}

Node GraphCompiler::describe(std::uint32_t module) const {
  const auto& record = job_.modules[module];
  static constexpr NodeKind kinds[] = {NodeKind::producer, NodeKind::producer, NodeKind::filter,
                                       NodeKind::analyzer, NodeKind::output};
  Node node;
  node.kind = kinds[static_cast<std::size_t>(record.kind)];
  node.concurrency = record.concurrency();
  node.in_order = node.kind == NodeKind::output ||
                  (node.kind == NodeKind::analyzer && node.concurrency != Concurrency::reentrant);
  node.is_coroutine = is_coroutine(*record.module);
  node.asks = asks_[module];
  node.may_wait = !asked_[module].empty();
  node.is_external = dynamic_cast<const External*>(record.module.get()) != nullptr;
  node.record = &record;
  node.module = module;
  node.name = &record.label;
  return node;
}

/// A requesting module keeps its thread, or its own queue, while it waits. If the product's maker
/// had to wait for an earlier unit, that unit might need the same: so it first waits for its unit's
/// turn.
void GraphCompiler::set_turn(std::uint32_t module, Node& node) {
  const auto reaches_turn = [this](std::uint32_t input) { return reaches_waiting_[input]; };
  const bool asks_in_turn = std::ranges::any_of(input_nodes(asked_[module]), reaches_turn);
  node.waits_to_commit = node.record->has_transitions() || asks_in_turn ||
                         node.kind == NodeKind::analyzer || node.kind == NodeKind::output;
  reaches_waiting_.push_back(node.waits_to_commit ||
                             std::ranges::any_of(input_nodes(consumed_[module]), reaches_turn));
}

/// Its own first: it can leave shared ones while it keeps the others.
Numbers GraphCompiler::queues_of(std::uint32_t module) {
  const auto& record = job_.modules[module];
  Numbers queues;
  const bool is_one = record.concurrency() == Concurrency::one && !describe(module).in_order;
  if (is_one || record.concurrency() == Concurrency::limited) {
    queues.push_back(static_cast<std::uint32_t>(graph_.queues.size()));
    graph_.queues.push_back({is_one ? 1 : record.limit, false});
  }
  std::ranges::copy(shared_queues_of(module), std::back_inserter(queues));
  return queues;
}

/// In the same order for all modules, against deadlocks.
Numbers GraphCompiler::shared_queues_of(std::uint32_t module) {
  const auto& record = job_.modules[module];
  Numbers shared;
  if (record.concurrency() == Concurrency::unsafe) {
    shared.push_back(shared_queue(unsafe_resource));
  }
  for (const auto& resource : record.resources) {
    shared.push_back(shared_queue(resource));
  }
  std::ranges::sort(shared);
  return shared;
}

/// Steps between units must not overlap with modules' calls for blocks of the next.
void GraphCompiler::add_queues_between_units() {
  std::set<std::uint32_t> with_transitions;
  std::set<std::uint32_t> outputs;
  for (std::uint32_t module = 0; module < job_.modules.size(); ++module) {
    const auto& record = job_.modules[module];
    const auto shared = shared_queues_of(module);
    if (record.has_transitions()) {
      graph_.has_transitions = true;
      with_transitions.insert(shared.begin(), shared.end());
    }
    if (record.kind == ModuleKind::output) {
      outputs.insert(shared.begin(), shared.end());
    }
  }
  graph_.transition_queues = add_links({with_transitions.begin(), with_transitions.end()});
  graph_.output_queues = add_links({outputs.begin(), outputs.end()});
}

std::uint32_t GraphCompiler::shared_queue(const std::string& resource) {
  const auto next = static_cast<std::uint32_t>(graph_.queues.size());
  const auto [found, is_new] = resources_.emplace(resource, next);
  if (is_new) {
    graph_.queues.push_back({1, true});
  }
  return found->second;
}

/// Nodes that make these products, each once; all makers have nodes.
Numbers GraphCompiler::input_nodes(const Numbers& products) const {
  Numbers nodes;
  std::set<std::uint32_t> seen;
  for (const auto product : products) {
    const auto maker = graph_.products[product].module;
    const auto node = maker == none ? column_nodes_[product] : module_nodes_[maker];
    if (seen.insert(node).second) {
      nodes.push_back(node);
    }
  }
  return nodes;
}

Numbers GraphCompiler::columns_among(const Numbers& products) const {
  Numbers columns;
  std::ranges::copy_if(products, std::back_inserter(columns), [this](auto product) {
    return graph_.products[product].type->cpp_type == typeid(Column);
  });
  return columns;
}

/// A coroutine may wait in the middle of a part; only columns have parts.
bool GraphCompiler::can_be_cut(std::uint32_t module, const Node& node) const {
  const auto are_columns = [this](const Numbers& products) {
    return columns_among(products).size() == products.size();
  };
  const bool is_called_once =
      node.kind == NodeKind::output || node.is_coroutine || node.asks || node.is_external;
  return !is_called_once && are_columns(consumed_[module]) && are_columns(produced_[module]);
}

std::uint32_t GraphCompiler::column_node(std::uint32_t product) {
  if (column_nodes_[product] == none) {
    Node node;
    node.kind = NodeKind::source_column;
    node.source_column = graph_.products[product].source_column;
    node.columns = node.products = add_links({product});
    node.name = &graph_.products[product].name;  // Its address survives moves of the graph.
    column_nodes_[product] = static_cast<std::uint32_t>(graph_.nodes.size());
    graph_.nodes.push_back(node);
    reaches_waiting_.push_back(false);
  }
  return column_nodes_[product];
}

void GraphCompiler::add_path(const PathDescription& path) {
  std::uint32_t gate = 0;
  for (const auto& label : path.labels) {
    const auto module = number_of(label);
    if (job_.modules[module].kind == ModuleKind::filter) {
      gate = next_gate(gate, module_node(module));
    } else {
      add_once(analyzer_gates_[module], gate);
    }
  }
  path_ends_[path.name] = gate;
}

std::uint32_t GraphCompiler::next_gate(std::uint32_t gate, std::uint32_t filter) {
  const auto number = static_cast<std::uint32_t>(graph_.gates.size());
  const auto [known, is_new] = gate_after_.emplace(std::pair{gate, filter}, number);
  if (!is_new) {
    return known->second;
  }
  auto& filter_mask = graph_.nodes[filter].mask;
  if (filter_mask == none) {
    filter_mask = graph_.n_masks++;
  }
  const auto mask = gate == 0 ? filter_mask : graph_.n_masks++;
  graph_.gates.push_back({gate, filter, filter_mask, mask, {}, {}, {}, {}, {}});
  gate_children_[gate].push_back(number);
  gate_children_.emplace_back();
  return number;
}

void GraphCompiler::add_analyzers() {
  for (std::uint32_t module = 0; module < job_.modules.size(); ++module) {
    if (job_.modules[module].kind != ModuleKind::analyzer) {
      continue;
    }
    graph_.analyzers.push_back(module_node(module));
    own_gates_[graph_.analyzers.back()] = analyzer_gates_[module];
  }
}

void GraphCompiler::add_outputs() {
  for (const auto& output : job_.outputs) {
    Numbers gates;
    for (const auto& path : output.paths) {
      add_once(gates, path_ends_.at(path));
    }
    graph_.outputs.push_back(module_node(number_of(output.label)));
    own_gates_[graph_.outputs.back()] = std::move(gates);
  }
}

void GraphCompiler::note_makers() {
  graph_.makers.assign(graph_.products.size(), none);
  for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) {
    for (const auto product : graph_.at(graph_.nodes[node].products)) {
      graph_.makers[product] = node;
    }
  }
}

/// A node is called with the events that any of its uses wants: these are known when all gates that
/// lead to a use are known, so the node waits for these. Where they wait for the node themselves,
/// through other such nodes, or a module may request it while running, a node takes the events left
/// on the way to all its uses, which are always known in time.
void GraphCompiler::note_events_left() {
  graph_.first_union = static_cast<std::uint32_t>(graph_.gates.size());
  for (std::uint32_t gate = 0; gate < graph_.first_union; ++gate) {
    sets_.push_back({gate});
  }
  takes_common_.assign(graph_.nodes.size(), false);
  for (const auto node : lazy_nodes_) {
    takes_common_[node] = true;
  }
  for (auto number = graph_.nodes.size(); number-- > 0;) {
    for (const auto input : graph_.at(graph_.nodes[number].all_inputs)) {
      takes_common_[input] = takes_common_[input] || takes_common_[number];
    }
  }
  const auto n_masks = graph_.n_masks;
  do {
    graph_.gates.resize(graph_.first_union);
    graph_.n_masks = n_masks;
    unions_.clear();
    pass_uses_on();
  } while (!order_gates());
  gate_analyzers_.resize(graph_.gates.size());
  std::vector<Numbers> of_gate(graph_.first_union);
  for (const auto& [set, number] : unions_) {
    graph_.gates[number].parts = add_links(sets_[set]);
    for (const auto part : sets_[set]) {
      of_gate[part].push_back(number);
    }
  }
  for (std::uint32_t gate = 0; gate < graph_.first_union; ++gate) {
    graph_.gates[gate].unions = add_links(of_gate[gate]);
  }
}

/// From consumers, which have larger numbers, to their inputs.
void GraphCompiler::pass_uses_on() {
  Numbers uses(graph_.nodes.size(), none);  // Sets.
  for (const auto& gate : std::span{graph_.gates}.subspan(1)) {
    uses[gate.filter] = use(uses[gate.filter], gate.parent);
  }
  for (auto number = static_cast<std::uint32_t>(graph_.nodes.size()); number-- > 0;) {
    auto& node = graph_.nodes[number];
    if (const auto own = own_gates_.find(number); own != own_gates_.end()) {
      for (const auto gate : own->second) {
        uses[number] = use(uses[number], gate);
      }
      uses[number] = uses[number] == none ? 0 : uses[number];
      node.gate = gate_of(uses[number]);
      node.mask = graph_.gates[node.gate].mask;
    }
    const bool sees_left =
        node.kind == NodeKind::output || (node.record != nullptr && node.record->sees_events_left);
    auto set = sees_left && uses[number] != none ? uses[number] : 0;
    set = takes_common_[number] ? common_gate(sets_[set]) : set;
    const auto gate = node.kind == NodeKind::source_column ? 0 : gate_of(set);
    node.left = graph_.gates[gate].mask;
    const bool is_after_gates = node.kind == NodeKind::analyzer || node.kind == NodeKind::output;
    node.waits_for = gate >= graph_.first_union && !is_after_gates ? gate : none;
    for (const auto input : graph_.at(node.all_inputs)) {
      uses[input] = use(uses[input], set);
    }
  }
}

/// Set of uses including this one; `before`: a set, or none.
std::uint32_t GraphCompiler::use(std::uint32_t before, std::uint32_t set) {
  if (before == none || before == set) {
    return set;
  }
  const auto next = static_cast<std::uint32_t>(sets_.size());
  const auto [known, is_new] = joined_sets_.emplace(std::minmax(before, set), next);
  if (!is_new) {
    return known->second;
  }
  Numbers first;
  const auto add = [&](const Numbers& gates, const Numbers& others, bool with_same) {
    std::ranges::copy_if(gates, std::back_inserter(first), [&](auto gate) {
      return std::ranges::none_of(others, [&](auto other) {
        return leads_to(other, gate) && (other != gate || !with_same);
      });
    });
  };
  add(sets_[before], sets_[set], true);
  add(sets_[set], sets_[before], false);
  std::ranges::sort(first);
  const auto number =
      first.size() == 1 ? first[0] : set_numbers_.emplace(first, next).first->second;
  if (number == next) {
    sets_.push_back(std::move(first));
  }
  return known->second = number;
}

/// Whether a gate is on the way to another. Parents have smaller numbers.
bool GraphCompiler::leads_to(std::uint32_t gate, std::uint32_t other) const {
  while (other > gate) {
    other = graph_.gates[other].parent;
  }
  return other == gate;
}

/// The last gate on the way to all.
std::uint32_t GraphCompiler::common_gate(const Numbers& gates) const {
  auto common = gates[0];
  while (!std::ranges::all_of(gates, [&](auto gate) { return leads_to(common, gate); })) {
    common = graph_.gates[common].parent;
  }
  return common;
}

/// Gate of a set: a union, if it has several.
std::uint32_t GraphCompiler::gate_of(std::uint32_t set) {
  if (set < graph_.first_union) {
    return set;
  }
  const auto next = static_cast<std::uint32_t>(graph_.gates.size());
  const auto [known, is_new] = unions_.emplace(set, next);
  if (is_new) {
    graph_.gates.push_back({0, none, none, graph_.n_masks++, {}, {}, {}, {}, {}});
  }
  return known->second;
}

/// Orders gates after everything they wait for. False if gates wait for each other: then another
/// node takes the events left on the way to all its uses.
bool GraphCompiler::order_gates() {
  const auto n_gates = static_cast<std::uint32_t>(graph_.gates.size());
  enum class State : std::uint8_t { unseen, open, done };
  struct Visit {
    std::uint32_t vertex{};  ///< a gate, or n_gates + a node
    Numbers waited_for;
  };
  std::vector<State> states(n_gates + graph_.nodes.size());
  states[0] = State::done;
  graph_.gate_order.clear();
  std::vector<Visit> way;  // Instead of the stack: chains of modules may be long.
  const auto open = [&](std::uint32_t vertex) {
    states[vertex] = State::open;
    way.push_back({vertex, waited_for(vertex)});
  };
  for (std::uint32_t gate = 1; gate < n_gates; ++gate) {
    if (states[gate] == State::unseen) {
      open(gate);
    }
    while (!way.empty()) {
      auto& [vertex, left] = way.back();
      if (left.empty()) {
        states[vertex] = State::done;
        if (vertex < n_gates) {
          graph_.gate_order.push_back(vertex);
        }
        way.pop_back();
        continue;
      }
      const auto next = left.back();
      left.pop_back();
      if (states[next] == State::unseen) {
        open(next);
      } else if (states[next] == State::open) {  // All after it on the way wait for each other.
        const auto waits = std::ranges::find_if(way.rbegin(), way.rend(), [&](const Visit& visit) {
          return visit.vertex >= n_gates && graph_.nodes[visit.vertex - n_gates].waits_for != none;
        });
        takes_common_[waits->vertex - n_gates] = true;
        return false;
      }
    }
  }
  return true;
}

/// Gates or nodes that a gate, or a node, waits for, the first last. Nodes are numbered after the
/// gates.
Numbers GraphCompiler::waited_for(std::uint32_t vertex) const {
  const auto n_gates = static_cast<std::uint32_t>(graph_.gates.size());
  if (vertex >= graph_.first_union && vertex < n_gates) {
    const auto is_it = [&](const auto& each) { return each.second == vertex; };
    return sets_[std::ranges::find_if(unions_, is_it)->first];
  }
  if (vertex < n_gates) {
    const auto& gate = graph_.gates[vertex];
    return {n_gates + gate.filter, gate.parent};
  }
  Numbers found;
  const auto& node = graph_.nodes[vertex - n_gates];
  for (const auto input : graph_.at(node.inputs)) {
    if (graph_.nodes[input].kind != NodeKind::source_column) {
      found.push_back(n_gates + input);
    }
  }
  if (node.waits_for != none) {
    found.push_back(node.waits_for);
  }
  return found;
}

LinkRange GraphCompiler::add_links(const Numbers& numbers) {
  const LinkRange range{static_cast<std::uint32_t>(graph_.links.size()),
                        static_cast<std::uint32_t>(numbers.size())};
  graph_.links.insert(graph_.links.end(), numbers.begin(), numbers.end());
  return range;
}

std::uint32_t GraphCompiler::number_of(const std::string& label) const {
  return numbers_.at(label);
}

}  // namespace

Graph compile_graph(const JobDescription& job) { return GraphCompiler{job}.compile(); }

}  // namespace forkrun
