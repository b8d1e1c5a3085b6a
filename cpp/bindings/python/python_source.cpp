#include "python_source.hpp"

#include <array>
#include <string>
#include <tuple>
#include <utility>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "../column_arrays.hpp"
#include "../records.hpp"

#include <forkrun/core/data/cut_into_blocks.hpp>
#include <forkrun/core/data/errors.hpp>

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using Numbers = py::array_t<std::uint64_t, py::array::c_style | py::array::forcecast>;

/// \throws InputError for any Python exception. The GIL is held.
template <typename Body>
auto as_input_error(const Body& body) {
  try {
    return body();
  } catch (const py::error_already_set& error) {
    throw InputError(py::str(error.value()));
  }
}

class PythonSource final : public Source {
 public:
  PythonSource(const root_io::EventSource& events, py::object read, py::object read_ids)
      : columns_{events.columns},
        clusters_{events.clusters},
        read_{std::move(read)},
        read_ids_{std::move(read_ids)} {}

  [[nodiscard]] std::span<const ColumnDescription> columns() const override { return columns_; }

  void cut(const UnitOfWork& unit, std::size_t block_size, BlockList& blocks) const override {
    const auto size = static_cast<std::int64_t>(block_size == 0 ? default_block_size : block_size);
    join_into_blocks(unit.ranges, clusters_, {size, size}, blocks);
  }

  [[nodiscard]] std::unique_ptr<SourceLane> make_lane() override;

 private:
  class Lane;

  std::vector<ColumnDescription> columns_;
  std::vector<std::vector<std::int64_t>> clusters_;
  py::object read_;
  py::object read_ids_;
};

class PythonSource::Lane final : public SourceLane {
 public:
  explicit Lane(const PythonSource& source) : source_{source} {}

  std::span<const std::uint64_t> load(EntryRanges block, const BlockLumis& lumis) override {
    block_.assign(block.begin(), block.end());
    const py::gil_scoped_acquire acquire;
    const auto [runs, numbers, events] = as_input_error([&] {
      return source_.read_ids_(py::cast(block_))
          .template cast<std::tuple<Numbers, Numbers, Numbers>>();
    });
    const auto n_events = static_cast<py::ssize_t>(n_events_of(block_));
    if (runs.size() != n_events || numbers.size() != n_events || events.size() != n_events) {
      throw InputError("wanted one event id of the format per entry: " + std::to_string(n_events) +
                       ", got " + std::to_string(events.size()));
    }
    lumis.for_each(0, static_cast<std::size_t>(n_events), [&](LumiId lumi, auto first, auto last) {
      for (auto i = first; i < last; ++i) {
        if (runs.data()[i] != lumi.run || numbers.data()[i] != lumi.lumi) {
          throw InputError("event " + std::to_string(events.data()[i]) + " is of lumi " +
                           std::to_string(runs.data()[i]) + ":" +
                           std::to_string(numbers.data()[i]) + ", not of " +
                           std::to_string(lumi.run) + ":" + std::to_string(lumi.lumi) +
                           " as it was indexed; the file may have changed during the job");
        }
      }
    });
    events_.assign(events.data(), events.data() + n_events);
    return events_;
  }

  void read(std::size_t column, Column& into) override {
    const auto& [name, type] = source_.columns_[column];
    const py::gil_scoped_acquire acquire;
    const auto arrays = as_input_error([&] { return source_.read_(py::cast(block_), name); });
    into.reset(type);
    fill_column(into, arrays, n_events_of(block_), "column \"" + name + '"');
  }

 private:
  const PythonSource& source_;
  std::vector<EntryRange> block_;
  std::vector<std::uint64_t> events_;
};

std::unique_ptr<SourceLane> PythonSource::make_lane() { return std::make_unique<Lane>(*this); }

}  // namespace

std::unique_ptr<Source> make_python_source(const root_io::EventSource& events, py::object read,
                                           py::object read_ids) {
  return std::make_unique<PythonSource>(events, std::move(read), std::move(read_ids));
}

}  // namespace forkrun::bindings
