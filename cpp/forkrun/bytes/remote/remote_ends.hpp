#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/remote/remote_version.hpp>

namespace forkrun {

/// What was read of a remote file where it says what it holds.
struct RemoteEnds {
  RemoteVersion version{};          ///< of the file
  std::vector<ByteRange> ranges{};  ///< in the order of the file
  std::vector<std::byte> bytes{};   ///< of the ranges, one after the other
  bool is_cached = false;           ///< its server did not answer
};

/// Ends of remote files, which one process of a job reads for all: in a file that the job's first
/// process has made, and that ends with it. FORKRUN_ENDS names it; else nothing is known. Any
/// process, any thread.
class SharedEnds {
 public:
  /// Of a file, by its name: what each process has read.
  [[nodiscard]] static std::vector<RemoteEnds> of(const std::string& name);
  /// Adds some. Where that cannot be, others read them as well.
  static void add(const std::string& name, const RemoteEnds& ends);

  /// Keeps other processes from reading the same ends meanwhile, for some seconds at most: what is
  /// read in it, they will find.
  class Turn {
   public:
    explicit Turn(const std::string& name);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::int64_t place_ = -1;
  };
};

}  // namespace forkrun
