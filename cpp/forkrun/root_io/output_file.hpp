#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <forkrun/root_io/basket.hpp>

class TBranch;
class TFile;
class TTree;

namespace forkrun::root_io {

/// A new ROOT file whose bytes depend on its contents alone: no time, no random UUID.
class OutputFile {
 public:
  /// \throws OutputError
  OutputFile(const std::string& path, Compression compression);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] TFile& file() const { return *file_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Writes the record of a basket and enters it into its branch. The record gets its place.
  void append(TBranch& branch, std::span<std::byte> record, const BasketHeader& header, std::int64_t first_entry);

  /// Writes the trees' own records, closes and syncs; gives the size. \throws OutputError
  std::int64_t close();
  /// Closes and removes the file.
  void abandon() noexcept;

  /// \throws OutputError if ROOT failed to write, e.g. because the disk is full.
  void check() const;

 private:
  std::string path_;
  std::unique_ptr<TFile> file_;
  std::int64_t seek_directory_{};
};


}  // namespace forkrun::root_io
