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

/// The resource that all unsafe modules share: no name that a user gives.
const std::string unsafe_resource;

bool is_coroutine(const Module& module) {
  return dynamic_cast<const CoroutineProducer*>(&module) != nullptr ||
         dynamic_cast<const CoroutineFilter*>(&module) != nullptr;
}

/// A module that holds what it shares with others cannot wait on a stack: what is called
/// meanwhile might need the same. What it may ask for is made before it runs.
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
  void set_gates(std::uint32_t node, Numbers gates);
  void note_makers();
  void note_events_left();
  [[nodiscard]] std::uint32_t common_gate(std::uint32_t one, std::uint32_t other) const;
  LinkRange add_links(const Numbers& numbers);
  std::uint32_t number_of(const std::string& label) const;

  const JobDescription& job_;
  Graph graph_;
  std::vector<Numbers> consumed_;                   ///< products, by module
  std::vector<Numbers> asked_;                      ///< products that it may ask for, by module
  std::vector<bool> asks_;                          ///< by module
  std::vector<Numbers> produced_;                   ///< products, by module
  Numbers module_nodes_;                            ///< by module
  Numbers column_nodes_;                            ///< by product
  std::vector<Numbers> analyzer_gates_;             ///< by module
  std::map<std::string, std::uint32_t> path_ends_;  ///< gates
  std::vector<Numbers> gate_children_;              ///< by gate
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> gate_behind_;  ///< gate, filter
  std::unordered_map<std::string_view, std::uint32_t> numbers_;  ///< of modules, by label
  std::vector<Numbers> gate_analyzers_;                          ///< by gate
  std::map<std::string, std::uint32_t> resources_;               ///< queues, by name
  std::vector<bool> reaches_waiting_;  ///< by node: it, or what it needs, is in turn
  Numbers lazy_nodes_;
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
      gate_children_(1),
      gate_analyzers_(1) {
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
  for (std::size_t gate = 0; gate < graph_.gates.size(); ++gate) {
    graph_.gates[gate].children = add_links(gate_children_[gate]);
    graph_.gates[gate].analyzers = add_links(gate_analyzers_[gate]);
  }
  note_makers();
  note_events_left();
  add_steps(graph_, lazy_nodes_);
  return std::move(graph_);
}

/// Nodes are numbered after those that they depend on. What a module consumes is looked at in the
/// order in which it said so, then what it may ask for; on a list instead of the stack, since
/// chains of modules may be long.
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

/// All that it depends on has a node.
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

/// A module that asks keeps its thread, or its own queue, while it waits. If what it waits for had
/// to wait for an earlier unit, that unit might need the same: so it first waits for its unit's
/// turn.
void GraphCompiler::set_turn(std::uint32_t module, Node& node) {
  const auto reaches_turn = [this](std::uint32_t input) { return reaches_waiting_[input]; };
  const bool asks_in_turn = std::ranges::any_of(input_nodes(asked_[module]), reaches_turn);
  node.waits_to_commit = node.record->has_transitions() || asks_in_turn ||
                         node.kind == NodeKind::analyzer || node.kind == NodeKind::output;
  reaches_waiting_.push_back(node.waits_to_commit ||
                             std::ranges::any_of(input_nodes(consumed_[module]), reaches_turn));
}

/// Its own first: those that are shared can be left while the others are kept.
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

/// In one order for all modules: they cannot block each other.
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

/// What is done between units must not meet what modules do with blocks of the next.
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

/// Nodes that make these products, each once; all the makers have nodes.
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

/// A coroutine may wait in the middle of a part; a product that is no column has no parts.
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
    node.name = &graph_.products[product].name;  // Stays where it is when the graph is moved.
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
  const auto [known, is_new] = gate_behind_.emplace(std::pair{gate, filter}, number);
  if (!is_new) {
    return known->second;
  }
  auto& filter_mask = graph_.nodes[filter].mask;
  if (filter_mask == none) {
    filter_mask = graph_.n_masks++;
  }
  const auto mask = gate == 0 ? filter_mask : graph_.n_masks++;
  graph_.gates.push_back({gate, filter, filter_mask, mask, {}, {}, {}});
  gate_children_[gate].push_back(number);
  gate_children_.emplace_back();
  gate_analyzers_.emplace_back();
  return number;
}

void GraphCompiler::add_analyzers() {
  for (std::uint32_t module = 0; module < job_.modules.size(); ++module) {
    if (job_.modules[module].kind != ModuleKind::analyzer) {
      continue;
    }
    const auto node = module_node(module);
    set_gates(node, analyzer_gates_[module]);
    for (const auto gate : graph_.at(graph_.nodes[node].gates)) {
      gate_analyzers_[gate].push_back(node);
    }
    graph_.analyzers.push_back(node);
  }
}

void GraphCompiler::add_outputs() {
  for (const auto& output : job_.outputs) {
    Numbers gates;
    for (const auto& path : output.paths) {
      add_once(gates, path_ends_.at(path));
    }
    const auto node = module_node(number_of(output.label));
    set_gates(node, std::move(gates));
    graph_.outputs.push_back(node);
  }
}

void GraphCompiler::set_gates(std::uint32_t node, Numbers gates) {
  if (gates.empty()) {
    gates.push_back(0);
  }
  graph_.nodes[node].mask = gates.size() == 1 ? graph_.gates[gates[0]].mask : graph_.n_masks++;
  graph_.nodes[node].gates = add_links(gates);
}

void GraphCompiler::note_makers() {
  graph_.makers.assign(graph_.products.size(), none);
  for (std::uint32_t node = 0; node < graph_.nodes.size(); ++node) {
    for (const auto product : graph_.at(graph_.nodes[node].products)) {
      graph_.makers[product] = node;
    }
  }
}

/// The events that a node is called with are those of the last gate that leads to all its uses: its
/// mask is known whenever the node is needed. Consumers have larger numbers than what they consume.
void GraphCompiler::note_events_left() {
  Numbers gate_of(graph_.nodes.size(), none);
  const auto use = [&](std::uint32_t node, std::uint32_t gate) {
    gate_of[node] = gate_of[node] == none ? gate : common_gate(gate_of[node], gate);
  };
  for (const auto& gate : std::span{graph_.gates}.subspan(1)) {
    use(gate.filter, gate.parent);
  }
  for (auto number = static_cast<std::uint32_t>(graph_.nodes.size()); number-- > 0;) {
    auto& node = graph_.nodes[number];
    for (const auto gate : graph_.at(node.gates)) {
      use(number, gate);
    }
    const bool sees_left =
        node.kind == NodeKind::output || (node.record != nullptr && node.record->sees_events_left);
    const auto gate = sees_left && gate_of[number] != none ? gate_of[number] : 0;
    node.left = graph_.gates[gate].mask;
    for (const auto input : graph_.at(node.all_inputs)) {
      if (graph_.nodes[input].kind != NodeKind::source_column) {
        use(input, gate);
      }
    }
  }
}

/// The last gate on the way to both.
std::uint32_t GraphCompiler::common_gate(std::uint32_t one, std::uint32_t other) const {
  while (one != other) {
    auto& later = one > other ? one : other;  // Parents have smaller numbers.
    later = graph_.gates[later].parent;
  }
  return one;
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
