#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <forkrun/root_io/basket.hpp>
#include <forkrun/root_io/write/output_mode.hpp>

class TBranch;
class TDirectory;
class TFile;
class TTree;

namespace forkrun::root_io {

class InputFile;
class ReproducibleFile;

/// A ROOT file being written, whose bytes depend on its contents alone.
class OutputFile {
 public:
  /// \throws OutputError
  OutputFile(const std::string& path, Compression compression,
             OutputMode mode = OutputMode::create);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] TFile& file() const;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The folder of an object's path such as "dimuon/mass", made if need be. \throws OutputError
  [[nodiscard]] TDirectory& folder_of(const std::string& object_path);
  /// A folder by its path, "" for the file itself; made if need be, with this title.
  TDirectory& folder(const std::string& folder, const std::string& title = "");

  /// Objects of that file are copied as bytes: this one will describe their classes as that one.
  void describe_classes_of(const InputFile& file);

  /// Writes the record of a basket and enters it into its branch. The record gets its place.
  void append(TBranch& branch, std::span<std::byte> record, const BasketHeader& header,
              std::int64_t first_entry);
  /// Takes room for so many bytes at the end of the file; gives the place.
  [[nodiscard]] std::int64_t allocate(std::size_t n_bytes);
  /// Writes bytes at their allocated place. `sizes`: of the records that they consist of, if there
  /// are several. \throws OutputError
  void write(std::int64_t place, std::span<const std::byte> bytes,
             std::span<const std::size_t> sizes = {});
  /// Place of the file's top directory, as keys note it.
  [[nodiscard]] std::int64_t seek_directory() const { return seek_directory_; }

  /// Writes the tree's own record and lets go of the tree: the file does not delete it.
  void write_and_release(TTree& tree);

  /// Writes the trees' own records and a UUID that comes from all that was written; closes and
  /// syncs; gives the size. \throws OutputError
  std::int64_t close();
  /// Closes and removes the file.
  void abandon() noexcept;

  /// \throws OutputError if ROOT failed to write, e.g. because the disk is full.
  void check() const;

 private:
  std::string path_;
  std::unique_ptr<ReproducibleFile> file_;
  std::int64_t seek_directory_{};
  std::string described_as_;  ///< path of the file whose classes are described
};

/// Enters a basket that is on file at `place` into its branch.
void enter_basket(TBranch& branch, const BasketHeader& header, std::int64_t place,
                  std::int64_t first_entry);

}  // namespace forkrun::root_io
