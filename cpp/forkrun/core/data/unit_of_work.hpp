#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <forkrun/core/data/event_id.hpp>

namespace forkrun {

/// Entries [first, last) of the file with this number in the job's list of files.
struct EntryRange {
  std::uint32_t file{};
  std::int64_t first{};
  std::int64_t last{};
};

/// One lumi, or part of one. Yields exactly one temporary file per output.
struct UnitOfWork {
  std::uint64_t number{};
  LumiId lumi{};
  std::vector<EntryRange> ranges{};
  std::uint32_t iov{};  ///< number of the IOV that the lumi belongs to
};

struct OutputSummary {
  std::string label;
  std::string path;
  EventDigest written;
  std::int64_t n_bytes{};
};

struct UnitResult {
  EventDigest read;
  std::vector<OutputSummary> outputs;
  double wall_s{};
  double cpu_s{};
  std::int64_t read_calls{};
  std::int64_t read_bytes{};
};

}  // namespace forkrun
