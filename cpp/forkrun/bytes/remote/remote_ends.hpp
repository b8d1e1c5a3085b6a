#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <forkrun/bytes/byte_source.hpp>
#include <forkrun/bytes/remote/remote_connection.hpp>

namespace forkrun {

/// Begin and end of a remote file, which describe its content.
struct RemoteEnds {
  RemoteVersion version{};          ///< of the file
  std::vector<ByteRange> ranges{};  ///< in the order of the file
  std::vector<std::byte> bytes{};   ///< of the ranges, in order
  bool is_cached = false;           ///< its server did not answer
};

/// Ends of remote files, read by one process of a job for all: in a file that the job's first
/// process has made, and that ends with it. FORKRUN_ENDS names it; without it nothing is shared.
/// Any process, any thread.
class SharedEnds {
 public:
  /// Ends of a file, by its name, from every process.
  [[nodiscard]] static std::vector<RemoteEnds> of(const std::string& name);
  /// Adds ends. If that fails, others read them as well.
  static void add(const std::string& name, const RemoteEnds& ends);

  /// Keeps other processes from reading the same ends meanwhile, for some seconds at most: they
  /// find the ends afterwards.
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
