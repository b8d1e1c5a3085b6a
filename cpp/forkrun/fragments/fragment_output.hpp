#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/module/module.hpp>
#include <forkrun/fragments/fragment.hpp>

namespace forkrun {

/// Name of the column of events that a path has accepted.
[[nodiscard]] std::string decision_name(const std::string& path);

/// Events of the blocks in flight that the paths have accepted. Analyzers at the ends of the paths
/// note them, outputs write them: outputs are called when all paths of their block have ended.
class PathDecisions {
 public:
  /// Returns the number of the path.
  std::size_t add(const std::string& path);
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }

  /// For the block that a lane has now.
  void note(std::size_t path, const EventBlock& block, Mask selected);
  /// (n_events,) boolean. Valid until the lane has another block.
  [[nodiscard]] const Column& of(std::size_t path, const EventBlock& block);

 private:
  struct Noted {
    EntryRange first_range{};  ///< of the block: no other block begins with its first event
    Column column{{ElementType::boolean, Shape::scalar}};
  };
  Noted& noted(std::size_t path, const EventBlock& block);

  std::vector<std::string> paths_;
  std::mutex mutex_;                                 ///< of the map: each entry belongs to one lane
  std::map<std::size_t, std::vector<Noted>> lanes_;  ///< by path
};

/// Analyzer at the end of a path.
class PathDecision final : public Analyzer {
 public:
  PathDecision(Construction& construction, std::shared_ptr<PathDecisions> decisions,
               const std::string& path);
  void analyze(const EventBlock& block, Mask selected) override;

 private:
  std::shared_ptr<PathDecisions> decisions_;
  std::size_t path_;
};

struct FragmentOutputConfig {
  std::string label;
  std::vector<std::string> branches;  ///< branches of the input to keep, with their counters
  std::vector<ColumnDescription> products;
  std::vector<std::uint32_t> product_numbers;  ///< of `products`, in the job
  std::shared_ptr<PathDecisions> decisions{};  ///< written as well, if not null
};

/// Notes the selected events of a unit of work, and their new columns: kept branches of the input
/// are not touched before the merge.
class FragmentOutput : public OutputModule {
 public:
  explicit FragmentOutput(FragmentOutputConfig config);
  ~FragmentOutput() override;

  void open(const UnitOfWork& unit, const std::string& path) override;
  void write(const EventBlock& block, Mask selected, Parallel& parallel) override;
  OutputSummary close(Parallel& parallel) override;
  void abandon() noexcept override;

 private:
  /// A new jagged column with the counter of another: their counts must agree.
  struct SharedCounter {
    std::string column;
    std::uint32_t product{};
    std::string counter;
    std::uint32_t counted_product{};  ///< of the first column with this counter
    bool is_of_input{};               ///< it counts values of the input, if the file has it
  };

  [[nodiscard]] std::vector<ColumnDescription> columns() const;
  void find_shared_counters();
  void add_entries(EntryRanges block, std::span<const EntryRun> runs);
  void check_counts(const EventBlock& block, std::span<const EntryRun> runs) const;

  FragmentOutputConfig config_;
  std::vector<SharedCounter> shared_;
  std::unique_ptr<FragmentWriter> fragment_;
  EventDigest written_;
};

/// Makes a column with the number of each event's dataset.
class DatasetColumn final : public Producer {
 public:
  /// `of_file`: dataset number of each file of the input.
  DatasetColumn(Construction& construction, const std::string& name,
                std::vector<std::int32_t> of_file);
  void produce(const EventBlock& block) override;

 private:
  ScalarOutput<std::int32_t> column_;
  std::vector<std::int32_t> of_file_;
};

}  // namespace forkrun
