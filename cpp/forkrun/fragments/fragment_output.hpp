#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/core/module/module.hpp>
#include <forkrun/fragments/fragment.hpp>
#include <forkrun/fragments/path_decisions.hpp>

namespace forkrun {

struct FragmentOutputConfig {
  std::string label;
  std::vector<std::string> branches;  ///< of the input that the output keeps, with their counters
  std::vector<ColumnDescription> products;
  std::vector<std::uint32_t> product_numbers;  ///< of `products`, in the job
  std::shared_ptr<PathDecisions> decisions{};  ///< written as well, if not null
};

/// Notes which events of a unit of work are selected, and their new columns: kept branches of the
/// input are not touched before the output is made.
class FragmentOutput : public OutputModule {
 public:
  explicit FragmentOutput(FragmentOutputConfig config);
  ~FragmentOutput() override;

  void open(const UnitOfWork& unit, const std::string& path) override;
  void write(const EventBlock& block, Mask selected, Parallel& parallel) override;
  OutputSummary close(Parallel& parallel) override;
  void abandon() noexcept override;

 private:
  /// A new jagged column that shares the counter of another: their counts must agree.
  struct SharedCounter {
    std::string column;
    std::uint32_t product{};
    std::string counter;
    std::uint32_t counted_product{};  ///< of the column that made the counter, if not of the input
    bool is_of_input{};
  };

  [[nodiscard]] std::vector<ColumnDescription> columns() const;
  void find_shared_counters();
  void add_entries(EntryRanges block, std::span<const EntryRun> runs);
  void check_counts(const EventBlock& block) const;

  FragmentOutputConfig config_;
  std::vector<SharedCounter> shared_;
  std::unique_ptr<FragmentWriter> fragment_;
  EventDigest written_;
};

}  // namespace forkrun
