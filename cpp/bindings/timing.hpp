#pragma once

#include <pybind11/numpy.h>

#include <forkrun/core/run/recorder.hpp>
#include <forkrun/core/schedule/graph.hpp>

namespace forkrun::bindings {

/// Record for forkrun.monitoring.timing: a dict of modules and stalls, times in s.
[[nodiscard]] pybind11::dict timing_of(const Graph& graph, const Recorder& recorder);
/// (n,) records: thread, node, lane, run, lumi (uint32), sequence (uint64), start_ns, end_ns
/// (int64).
[[nodiscard]] pybind11::array trace_of(const Recorder& recorder);

}  // namespace forkrun::bindings
