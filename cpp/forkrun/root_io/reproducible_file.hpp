#pragma once

#include <cstddef>
#include <span>
#include <string>

#include <TFile.h>

#include <forkrun/root_io/content_digest.hpp>
#include <forkrun/root_io/file_record.hpp>
#include <forkrun/root_io/output_mode.hpp>

namespace forkrun::root_io {

/// A file whose bytes depend on what is written to it alone: not on its name, the time, the time
/// zone, or on what the process did before. ROOT's `?reproducible` gives fixed dates and UUIDs; but
/// it takes its fixed date for local time, and writes the descriptions of classes in the order in
/// which the process met them. And each of its files has the same UUID: here it comes from the
/// content.
///
/// And it is opened and written here, not by TFile, which has the whole process ignore SIGINT while
/// it writes: an interrupt would be lost. TFile also syncs each time it writes the header; this
/// class leaves that to whoever closes the file.
class ReproducibleFile final : public TFile {
 public:
  /// `compression` is ROOT's number. IsZombie() if what is there is no ROOT file.
  /// \throws OutputError if the file cannot be opened
  ReproducibleFile(const std::string& path, OutputMode mode, int compression);
  ~ReproducibleFile() override;

  /// Writes bytes that have their final form at the current place.
  [[nodiscard]] bool append(std::span<const std::byte> bytes);
  /// Every byte written so far; and, in a file that existed, its UUID before.
  [[nodiscard]] Uuid uuid() const;

  Bool_t WriteBuffer(const char* buffer, Int_t n_bytes) override;
  void WriteStreamerInfo() override;

 protected:
  Int_t SysSync(Int_t descriptor) override;

 private:
  [[nodiscard]] bool describes(const TList& classes);
  void add_to_digest(std::span<const std::byte> bytes);

  ContentDigest digest_;
};

/// Puts the UUID into a closed file. \throws OutputError
void set_uuid(const std::string& path, const Uuid& uuid);

}  // namespace forkrun::root_io
