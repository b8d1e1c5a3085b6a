#include <forkrun/formats/ttree/merge/reclustering.hpp>

#include <algorithm>

#include <Compression.h>

#include <forkrun/fragments/least_copied.hpp>

namespace forkrun::root_io {

namespace {

/// LZMA takes a hundred times as long as copying, also for small baskets.
bool is_slow(const Compression& compression) {
  return compression.algorithm == ROOT::RCompressionSetting::EAlgorithm::kLZMA;
}

/// 1234567 as "1,234,567".
std::string grouped(std::size_t n) {
  constexpr std::size_t group = 3;
  const auto digits = std::to_string(n);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    text += i > 0 && (digits.size() - i) % group == 0 ? "," : "";
    text += digits[i];
  }
  return text;
}

std::string counted(std::size_t n, const std::string& what) {
  return grouped(n) + " " + what + (n == 1 ? "" : "s");
}

}  // namespace

void Reclustering::Baskets::add(std::span<const BasketPlace> baskets) {
  ++n_files;
  n += baskets.size();
  for (const auto& basket : baskets) {
    n_bytes += basket.seek == 0 ? 0 : basket.n_bytes;  // else it is within the tree's own record
  }
}

std::int64_t Reclustering::Baskets::mean_bytes() const {
  return n_bytes / static_cast<std::int64_t>(std::max<std::size_t>(n, 1));
}

bool Reclustering::Baskets::are_small() const {
  const auto n_baskets = static_cast<double>(std::max<std::size_t>(n, 1));
  return !is_worth_copying(static_cast<double>(n_bytes), n_baskets, least_copied::basket);
}

std::string Reclustering::Baskets::text() const {
  return counted(n, "basket") + " of " + counted(n_files, "file") + ", " +
         grouped(static_cast<std::size_t>(mean_bytes())) +
         (n == 1 ? " bytes, was " : " bytes each on average, were ");
}

bool Reclustering::joins(std::span<const BasketPlace> baskets) const {
  if (treatment_.recluster != Recluster::where_small) {
    return treatment_.recluster == Recluster::always;
  }
  Baskets these;
  these.add(baskets);
  return treatment_.recompresses || (these.are_small() && !is_slow(treatment_.compression));
}

void Reclustering::note(std::span<const BasketPlace> baskets, bool are_joined) {
  if (!baskets.empty()) {
    (are_joined ? joined_ : copied_).add(baskets);
    could_not_join_ = could_not_join_ || (!are_joined && joins(baskets));
  }
}

std::string Reclustering::reason_to_join() const {
  if (treatment_.recluster == Recluster::always) {
    return "as was asked for";
  }
  return treatment_.recompresses ? "as they were recompressed"
                                 : "as a third or more of such baskets is their headers";
}

std::string Reclustering::reason_to_copy() const {
  if (treatment_.recluster == Recluster::never) {
    return "as was asked for";
  }
  if (could_not_join_) {
    return "as their entries cannot be moved";
  }
  return is_slow(treatment_.compression) && copied_.are_small()
             ? "as LZMA takes long; --recluster always joins them"
             : "as they are large enough";
}

std::string Reclustering::text() const {
  const auto joined = joined_.n == 0 ? "" : joined_.text() + "joined, " + reason_to_join();
  const auto copied =
      copied_.n == 0 ? "" : copied_.text() + "copied one by one, " + reason_to_copy();
  return joined + (joined.empty() || copied.empty() ? "" : "; ") + copied;
}

void add_note(std::vector<std::string>& notes, const std::string& tree, const Reclustering& of) {
  if (const auto text = of.text(); !text.empty()) {
    notes.push_back(tree + ": " + text);
  }
}

}  // namespace forkrun::root_io
