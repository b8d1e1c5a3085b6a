#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <forkrun/formats/rntuple/page_reader.hpp>

namespace forkrun::rntuple {

/// Lists one after the other: where each ends, and where the items of all of them are.
struct Lists {
  std::vector<std::int64_t> offsets;  ///< (n + 1,), the first is 0
  std::vector<Stretch> items;         ///< by cluster
};

/// Reads which items lists have. All columns within one list share it: what was asked for last
/// is kept, as each of them asks for the same. Any thread.
class ListReader {
 public:
  explicit ListReader(const PageReader::Of& of) : pages_{of, ElementType::int64} {}

  /// The same lists of another file. \throws Error
  void open(const PageReader::Of& of) {
    forget();
    pages_.open(of);
  }
  /// \throws Error
  [[nodiscard]] std::shared_ptr<const Lists> read(const std::vector<Stretch>& lists);
  /// Adds what will be read of the file for these entries. Any thread.
  void add_parts(Stretch entries, std::vector<StoredPart>& to) const {
    entries.first -= entries.first > 0 ? 1 : 0;  // where the list before ends
    pages_.add_parts(entries, to);
  }
  /// Gives back the memory of what is kept.
  void forget();

 private:
  void add(const Stretch& lists, Lists& into);

  std::mutex mutex_;
  PageReader pages_;
  std::vector<std::int64_t> ends_;
  std::vector<Stretch> asked_;  ///< for `kept_`
  std::shared_ptr<const Lists> kept_;
};

}  // namespace forkrun::rntuple
