#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <TFile.h>

#include <forkrun/bytes/content_digest.hpp>
#include <forkrun/bytes/local_file.hpp>
#include <forkrun/formats/root_file/file_record.hpp>
#include <forkrun/formats/root_file/output_descriptor.hpp>

namespace forkrun::root_io {

/// A file whose bytes depend only on the data written to it: not on its name, the time, the time
/// zone, or on earlier actions of the process. ROOT's `?reproducible` gives fixed dates and UUIDs;
/// but it takes its fixed date for local time, and writes the descriptions of classes in the order
/// in which the process met them. And each of its files has the same UUID: here it is computed from
/// the content.
///
/// It is opened, read and written here, not by TFile, which has the whole process ignore SIGINT
/// while it writes: an interrupt would be lost. TFile also syncs each time it writes the header:
/// here `finish` does, once. And TFile continues after a failed seek or close: here each failure is
/// kept in `error`.
class ReproducibleFile final : public TFile {
 public:
  /// `compression` is ROOT's number. IsZombie() if an existing file is no ROOT file. \throws
  /// OutputError if the file cannot be opened
  ReproducibleFile(const std::string& path, OutputMode mode, int compression);
  ~ReproducibleFile() override;

  /// Writes bytes in their final form at the current place. `sizes`: of the records in them, if
  /// there are several: the UUID does not depend on how records were put together.
  [[nodiscard]] bool append(std::span<const std::byte> bytes,
                            std::span<const std::size_t> sizes = {});
  /// The errno of the first read or write that failed; 0 if none has.
  [[nodiscard]] int error() const { return error_; }
  /// Every byte written so far; and, in a file that existed, its UUID before.
  [[nodiscard]] Uuid uuid() const;

  Bool_t WriteBuffer(const char* buffer, Int_t n_bytes) override;
  void WriteStreamerInfo() override;

  /// After Close(): puts the UUID into the file, reads it as its readers will, syncs and closes it.
  /// Returns its size. \throws OutputError
  std::int64_t finish();

 protected:
  Int_t SysClose(Int_t descriptor) override;  ///< does nothing: `finish` closes
  Int_t SysRead(Int_t descriptor, void* into, Int_t n_bytes) override;
  Long64_t SysSeek(Int_t descriptor, Long64_t offset, Int_t whence) override;
  Int_t SysSync(Int_t descriptor) override;

 private:
  void open(const std::string& path, OutputMode mode);
  [[nodiscard]] bool describes(const TList& classes);
  void add_to_digest(std::int64_t place, std::span<const std::byte> bytes);
  void set_uuid();
  [[noreturn]] void fail(const std::string& what, int error) const;

  int descriptor_ = -1;
  FilePosition position_;
  int error_{};
  ContentDigest digest_;
};

}  // namespace forkrun::root_io
