#include "timing.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <numeric>
#include <string>

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

/// Flat, for NumPy.
struct TraceRecord {
  std::uint32_t thread, node, lane, run, lumi;
  std::uint64_t sequence;
  std::int64_t start_ns, end_ns;
};

std::string kind_name(const Node& node) {
  static constexpr const char* names[] = {"source column", "producer", "filter", "analyzer",
                                          "output"};
  return names[static_cast<std::size_t>(node.kind)];
}

std::string concurrency_name(const Node& node) {
  static constexpr const char* names[] = {"reentrant", "one", "unsafe", "limited"};
  return names[static_cast<std::size_t>(node.concurrency)];
}

std::vector<std::string> inputs_of(const Graph& graph, const Node& node) {
  std::vector<std::string> labels;
  for (const auto input : graph.at(node.inputs)) {
    labels.push_back(*graph.nodes[input].name);
  }
  return labels;
}

/// Non-empty bins, as (start [s], count).
std::vector<std::pair<double, std::uint64_t>> bins_of(const Recorder::NodeStatistics& node) {
  std::vector<std::pair<double, std::uint64_t>> bins;
  for (std::size_t bin = 0; bin < node.bins.size(); ++bin) {
    if (node.bins[bin] != 0) {
      bins.emplace_back(1e-9 * Recorder::bin_start_ns(bin), node.bins[bin]);
    }
  }
  return bins;
}

py::dict input_of(const InputCost& cost) {
  py::dict input;
  input["read_calls"] = cost.read_calls;
  input["read_bytes"] = cost.read_bytes;
  input["read_s"] = 1e-9 * static_cast<double>(cost.read_ns);
  input["packed_bytes"] = cost.packed_bytes;
  input["unpacked_bytes"] = cost.unpacked_bytes;
  input["unpack_s"] = 1e-9 * static_cast<double>(cost.unpack_ns);
  return input;
}

py::dict loading_of(const Recorder::Loading& loading) {
  auto dict = input_of(loading.input);
  dict["count"] = loading.n_calls;
  dict["total_s"] = 1e-9 * static_cast<double>(loading.total_ns);
  return dict;
}

/// Time of a kind in each piece [us].
py::list of_kind(const Recorder::OfTime& thread, Activity::Kind kind) {
  py::list values;
  for (const auto& piece : thread.pieces) {
    values.append(std::max<std::int64_t>(piece[static_cast<std::size_t>(kind)], 0) / 1000);
  }
  return values;
}

py::dict course_of(const Recorder::Course& course) {
  py::list threads;
  for (const auto& thread : course.threads) {
    py::dict of_thread;
    of_thread["name"] = thread.name;
    of_thread["reading"] = of_kind(thread, Activity::Kind::reading);
    of_thread["unpacking"] = of_kind(thread, Activity::Kind::unpacking);
    of_thread["processing"] = of_kind(thread, Activity::Kind::processing);
    of_thread["committing"] = of_kind(thread, Activity::Kind::committing);
    threads.append(of_thread);
  }
  py::dict dict;
  dict["start_s"] = 1e-9 * static_cast<double>(course.origin_ns);
  dict["piece_s"] = 1e-9 * static_cast<double>(course.piece_ns);
  dict["threads"] = threads;
  return dict;
}

py::dict module_of(const Graph& graph, const Node& node,
                   const Recorder::NodeStatistics& statistics) {
  py::dict module;
  module["label"] = *node.name;
  module["kind"] = kind_name(node);
  module["concurrency"] = concurrency_name(node);
  module["inputs"] = inputs_of(graph, node);
  module["count"] = statistics.n_calls;
  module["total_s"] = 1e-9 * static_cast<double>(statistics.total_ns);
  module["max_s"] = 1e-9 * static_cast<double>(statistics.longest_ns);
  // CPU time of the calls that were measured, scaled to all calls.
  const auto wall = static_cast<double>(statistics.cpu_wall_ns);
  const auto share = wall > 0 ? static_cast<double>(statistics.cpu_ns) / wall : 0.0;
  module["cpu_s"] = 1e-9 * static_cast<double>(statistics.total_ns) * std::min(share, 1.0);
  module["wait_inputs_s"] = 1e-9 * static_cast<double>(statistics.wait_inputs_ns);
  module["wait_queue_s"] = 1e-9 * static_cast<double>(statistics.wait_queue_ns);
  module["bins"] = bins_of(statistics);
  if (node.kind == NodeKind::source_column) {
    module["input"] = input_of(statistics.input);
    module["input"]["shared_s"] = 1e-9 * static_cast<double>(statistics.shared_ns);
  }
  return module;
}

}  // namespace

py::dict timing_of(const Graph& graph, const Recorder& recorder) {
  const auto statistics = recorder.statistics();
  py::list modules;
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    modules.append(module_of(graph, graph.nodes[node], statistics[node]));
  }
  py::list stalls;
  for (const auto& stall : recorder.stalls()) {
    if (stall.waited_for != none) {
      stalls.append(py::make_tuple(*graph.nodes[stall.node].name,
                                   *graph.nodes[stall.waited_for].name, stall.count,
                                   1e-9 * static_cast<double>(stall.total_ns)));
    }
  }
  py::dict timing;
  timing["modules"] = modules;
  timing["stalls"] = stalls;
  timing["n_not_traced"] = recorder.n_not_traced();
  timing["loading"] = loading_of(recorder.loading_statistics());
  timing["activity"] = course_of(recorder.course());
  return timing;
}

py::array trace_of(const Recorder& recorder) {
  PYBIND11_NUMPY_DTYPE(TraceRecord, thread, node, lane, run, lumi, sequence, start_ns, end_ns);
  const auto trace = recorder.trace();
  py::array_t<TraceRecord> records(static_cast<py::ssize_t>(trace.size()));
  std::ranges::transform(trace, records.mutable_data(), [](const auto& traced) {
    const auto& call = traced.call;
    return TraceRecord{traced.thread, call.node,     call.lane,     call.run,
                       call.lumi,     call.sequence, call.start_ns, call.end_ns};
  });
  return records;
}

}  // namespace forkrun::bindings
