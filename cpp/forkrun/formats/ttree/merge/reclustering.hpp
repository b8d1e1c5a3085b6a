#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <forkrun/bytes/compression.hpp>
#include <forkrun/formats/ttree/merge/basket_check.hpp>

namespace forkrun::root_io {

/// Whether entries of merged trees are rewritten in larger baskets.
enum class Recluster {
  where_small,  ///< of files whose baskets are little more than their headers
  always,
  never,  ///< baskets are copied one by one
};

/// Treatment of baskets: whether they are recompressed, and whether they are joined.
struct BasketTreatment {
  Compression compression;  ///< of rewritten baskets
  bool recompresses{};      ///< all of them are
  Recluster recluster = Recluster::where_small;
};

/// Decides for each file whether the entries of its tree are joined with those of other files, and
/// explains why.
class Reclustering {
 public:
  explicit Reclustering(const BasketTreatment& treatment) : treatment_{treatment} {}

  /// Whether entries with these baskets are to be joined.
  [[nodiscard]] bool joins(std::span<const BasketPlace> baskets) const;
  /// `are_joined`: baskets that `joins` wants to join cannot always be.
  void note(std::span<const BasketPlace> baskets, bool are_joined);
  /// Line for people: how the baskets of all files were treated, and why. Empty if there were none.
  [[nodiscard]] std::string text() const;

 private:
  struct Baskets {
    std::size_t n_files{};
    std::size_t n{};
    std::int64_t n_bytes{};

    void add(std::span<const BasketPlace> baskets);
    [[nodiscard]] std::int64_t mean_bytes() const;
    [[nodiscard]] bool are_small() const;
    [[nodiscard]] std::string text() const;
  };

  [[nodiscard]] std::string reason_to_join() const;
  [[nodiscard]] std::string reason_to_copy() const;

  BasketTreatment treatment_;
  Baskets joined_;
  Baskets copied_;
  bool could_not_join_{};
};

/// Adds a line that names the tree, if there is something to say.
void add_note(std::vector<std::string>& notes, const std::string& tree, const Reclustering& of);

}  // namespace forkrun::root_io
