#pragma once

#include <forkrun/core/data/source.hpp>

namespace forkrun::replay {

/// Events that have a number and nothing else: entry i is event i.
class CountingSource final : public Source {
 public:
  [[nodiscard]] std::span<const ColumnDescription> columns() const override { return {}; }
  void cut(const UnitOfWork& unit, std::size_t block_size, BlockList& blocks) const override;
  [[nodiscard]] std::unique_ptr<SourceLane> make_lane() override;
};

}  // namespace forkrun::replay
