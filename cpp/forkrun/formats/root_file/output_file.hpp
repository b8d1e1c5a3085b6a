#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include <forkrun/bytes/compression.hpp>
#include <forkrun/formats/root_file/output_descriptor.hpp>
#include <forkrun/formats/root_file/record_file.hpp>

class TDirectory;
class TFile;
class TTree;

namespace forkrun::root_io {

class InputFile;
class ReproducibleFile;

/// A ROOT file being written, whose bytes depend only on its contents.
class OutputFile final : public RecordFile {
 public:
  /// \throws OutputError
  OutputFile(const std::string& path, Compression compression,
             OutputMode mode = OutputMode::create);
  ~OutputFile() override;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] TFile& file() const;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The folder of an object's path such as "dimuon/mass", made if need be. \throws OutputError
  [[nodiscard]] TDirectory& folder_of(const std::string& object_path);
  /// A folder by its path, "" for the file itself; made if need be, with this title.
  TDirectory& folder(const std::string& folder, const std::string& title = "");

  /// Objects of that file are copied as bytes: this file will describe their classes the same way.
  void describe_classes_of(const InputFile& file);
  /// Gives this file the ids of the processes by whose numbers objects of that file refer to
  /// others; returns what is added to these numbers here.
  [[nodiscard]] std::uint16_t take_process_ids_of(const InputFile& file);

  [[nodiscard]] std::int64_t allocate(std::size_t n_bytes) override;
  void write_records(std::int64_t place, std::span<const std::byte> bytes,
                     std::span<const std::size_t> sizes) override;
  [[nodiscard]] std::int64_t seek_directory() const override { return seek_directory_; }

  /// Writes the tree's own record, with a key of this name, which need not be the tree's own, and
  /// releases the tree: the file does not delete it.
  void write_and_release(TTree& tree, const std::string& name);

  std::int64_t close() override;
  void abandon() noexcept override;

  /// \throws OutputError if ROOT failed to write, e.g. because the disk is full.
  void check() const;

 private:
  [[nodiscard]] TDirectory& make_folder(TDirectory& parent, const std::string& name,
                                        const std::string& title);

  std::string path_;
  std::unique_ptr<ReproducibleFile> file_;
  std::map<std::string, TDirectory*> folders_;  ///< by path; the file owns them
  std::int64_t seek_directory_{};
  std::string described_as_;  ///< path of the file whose classes are described
  std::pair<std::string, std::uint16_t> process_ids_;  ///< such a path; what is added
};

}  // namespace forkrun::root_io
