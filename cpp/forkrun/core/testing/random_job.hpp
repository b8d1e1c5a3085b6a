#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <forkrun/core/run/processor.hpp>
#include <forkrun/core/testing/function_modules.hpp>
#include <forkrun/core/testing/memory_source.hpp>

namespace forkrun::testing {

/// A job drawn by chance: producers that consume columns of the input and each other's, filters and
/// analyzers on paths, outputs, of all kinds of concurrency.
struct RandomJob {
  /// How a producer or filter gets at its inputs.
  enum class Way : std::uint8_t { before, asks, coroutine, outside };
  struct Part {
    std::string label;
    std::vector<std::string> inputs;
    Concurrency concurrency{};
    Way way{};               ///< `outside`: as `before`, but has work done outside
    std::string resource{};  ///< empty: none
    bool is_per_block{};
    bool is_told{};    ///< of runs, lumis and IOVs
    bool is_cut{};     ///< sees one lumi at a time
    bool sees_left{};  ///< says something else of events that filters have refused
  };
  std::vector<Part> producers, filters, analyzers, outputs;
  std::map<std::string, std::vector<std::string>> paths;         ///< labels
  std::map<std::string, std::vector<std::string>> output_paths;  ///< by output

  /// The same job for the same seed.
  [[nodiscard]] static RandomJob draw(std::uint32_t seed);
};

/// Where a module throws: the one of this label, in the block that has this event.
struct Fault {
  std::string label;
  std::uint64_t event{};
};

/// All that can be observed of a unit when it is committed.
struct UnitObservation {
  std::uint64_t number{};
  std::map<std::string, std::vector<std::uint64_t>>
      seen;  ///< analyzers: event, mask, inputs, in order
  std::map<std::string, std::vector<double>> histograms;
  std::map<std::string, std::vector<std::uint64_t>> written;    ///< events, by output
  std::map<std::string, std::vector<std::int64_t>> values;      ///< of their products
  std::map<std::string, std::vector<std::uint64_t>> sequences;  ///< blocks, by output
  EventDigest read;

  bool operator==(const UnitObservation&) const = default;
};

/// All that can be observed of processing some units.
struct Observation {
  std::string error;  ///< empty: none
  std::vector<UnitObservation> units;
  std::map<std::string, int> n_calls;                        ///< by module, and by column
  std::map<std::string, std::vector<std::string>> messages;  ///< by module with Transitions
  int n_overlaps{};   ///< where more modules were inside than are allowed
  int n_misplaced{};  ///< blocks outside their run, lumi or IOV, or not of the open outputs

  bool operator==(const Observation&) const = default;
};

/// For the messages of failing tests.
void PrintTo(const Observation& observation, std::ostream* stream);

/// Units of all sizes, none included, of parts of lumis of several runs and IOVs.
[[nodiscard]] std::vector<UnitOfWork> draw_units(std::uint32_t seed);

/// The same events in units of several lumis.
[[nodiscard]] std::vector<UnitOfWork> join_units(std::uint32_t seed,
                                                 const std::vector<UnitOfWork>& units);

/// Processes `units`; if one fails, as `fault` has it, what was not committed once more without the
/// fault.
[[nodiscard]] Observation observe(const RandomJob& job, const ProcessorConfig& config,
                                  const std::vector<UnitOfWork>& units,
                                  const std::optional<Fault>& fault = {});

}  // namespace forkrun::testing
