#pragma once

#include <cstddef>

namespace forkrun {

/// Interface of libcurl 7.55 or newer, loaded at the first file of a web server: not needed for
/// building. Numbers are those of its stable interface.
struct Curl {
  using Handle = void*;
  using TakeBytes = std::size_t (*)(char*, std::size_t, std::size_t, void*);

  static constexpr int ok = 0;
  static constexpr int unsupported_protocol = 1;
  static constexpr int bad_url = 3;
  static constexpr int unknown_host = 6;
  static constexpr int write_error = 23;
  static constexpr int too_many_redirections = 47;
  static constexpr int untrusted_server = 60;

  static constexpr int write_data = 10001;
  static constexpr int url = 10002;
  static constexpr int range = 10007;
  static constexpr int error_buffer = 10010;
  static constexpr int low_speed_limit = 19;
  static constexpr int low_speed_time = 20;
  static constexpr int header_data = 10029;
  static constexpr int headers = 10023;
  static constexpr int follow = 52;
  static constexpr int most_redirections = 68;
  static constexpr int file_time = 69;
  static constexpr int connect_timeout = 78;
  static constexpr int no_signal = 99;
  static constexpr int ca_file = 10065;
  static constexpr int ca_folder = 10097;
  static constexpr int client_certificate = 10025;
  static constexpr int client_key = 10087;
  static constexpr int write_function = 20011;
  static constexpr int header_function = 20079;

  static constexpr int told_status = 0x200002;
  static constexpr int told_type = 0x100000 + 18;
  static constexpr int told_file_time = 0x600000 + 14;
  static constexpr int told_bytes = 0x600000 + 15;

  Handle (*easy_init)();
  void (*easy_cleanup)(Handle);
  int (*set)(Handle, int, ...);
  int (*perform)(Handle);
  int (*get)(Handle, int, ...);
  const char* (*explain)(int);
  void* (*append)(void*, const char*);
  void (*free_list)(void*);

  /// nullptr: not on this machine.
  [[nodiscard]] static const Curl* load();
};

}  // namespace forkrun
