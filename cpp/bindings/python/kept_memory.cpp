#include "kept_memory.hpp"

#include <pybind11/pybind11.h>

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <atomic>

#include <forkrun/core/data/column.hpp>

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

constexpr std::uint64_t n_first_calls = 3;  // they load libraries and fill caches
constexpr std::uint64_t n_trusted = 3;
constexpr std::int64_t share_of_time = 250;         // readings take at most 1/250 of the time
constexpr std::int64_t share_of_others = 10;        // and at most 1/10 for other threads' work
constexpr std::int64_t bytes_of_small_object = 48;  // on average, roughly

/// With the GIL held.
struct Watch {
  bool is_on{};
  bool is_alone{};
  std::int64_t start_ns{};
  std::int64_t spent_ns{};
  std::shared_ptr<KeptMemory> most;
};

Watch& watch() {
  static Watch the_only;
  return the_only;
}

std::atomic<std::int64_t> held_bytes{};

std::int64_t now_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::int64_t others_ns() {
  return now_ns(CLOCK_PROCESS_CPUTIME_ID) - now_ns(CLOCK_THREAD_CPUTIME_ID);
}

/// Small objects are Python's own; only their number is known.
std::int64_t bytes_of_small_objects() {
  const auto* count = PySys_GetObject("getallocatedblocks");
  auto* n = count != nullptr ? PyObject_CallNoArgs(const_cast<PyObject*>(count)) : nullptr;
  const auto n_blocks = n != nullptr ? PyLong_AsLongLong(n) : 0;
  Py_XDECREF(n);
  PyErr_Clear();
  return bytes_of_small_object * n_blocks;
}

/// Memory in use, without freed memory that the process keeps. Columns of the core come and go with
/// blocks: only columns that arrays hold count.
std::int64_t bytes_in_use() {
  const auto info = ::mallinfo2();
  const auto all = static_cast<std::int64_t>(info.uordblks + info.hblkhd);
  return all - bytes_of_all_columns() + held_bytes.load() + bytes_of_small_objects();
}

/// Takes a reading and notes its time: the processor's, as others may have it meanwhile.
std::int64_t read() {
  const auto begin_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
  const auto n_bytes = bytes_in_use();
  watch().spent_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
  return n_bytes;
}

bool is_due(const KeptMemory& kept) {
  const auto& the = watch();
  return the.is_on && kept.n_calls > n_first_calls &&
         the.spent_ns * share_of_time <= now_ns(CLOCK_MONOTONIC) - the.start_ns;
}

}  // namespace

std::int64_t KeptMemory::estimate() const {
  if (n_read < n_trusted || n_events_read == 0) {
    return 0;
  }
  const auto per_event = static_cast<double>(n_bytes) / static_cast<double>(n_events_read);
  return static_cast<std::int64_t>(per_event * static_cast<double>(n_events));
}

void watch_kept_memory(bool is_alone) {
  watch() = {true, is_alone, now_ns(CLOCK_MONOTONIC), 0, nullptr};
}

std::optional<std::pair<std::string, std::int64_t>> most_kept() {
  const auto& most = watch().most;
  if (!most || most->n_read < n_trusted) {
    return std::nullopt;
  }
  return std::pair{most->label, most->estimate()};
}

void add_held_bytes(std::int64_t n_bytes) { held_bytes += n_bytes; }

KeptReading::KeptReading(std::shared_ptr<KeptMemory> kept, std::uint64_t n_events)
    : n_events_{n_events} {
  ++kept->n_calls;
  kept->n_events += n_events;
  if (is_due(*kept)) {
    kept_ = std::move(kept);
    others_ns_ = watch().is_alone ? 0 : others_ns();
    begin_ns_ = now_ns(CLOCK_MONOTONIC);
    before_ = read();
  }
}

KeptReading::~KeptReading() {
  if (!kept_) {
    return;
  }
  const auto n_bytes = read() - before_;
  const auto most_ns = (now_ns(CLOCK_MONOTONIC) - begin_ns_) / share_of_others;
  if (!watch().is_alone && others_ns() - others_ns_ > most_ns) {
    return;
  }
  ++kept_->n_read;
  kept_->n_events_read += n_events_;
  kept_->n_bytes += n_bytes;
  auto& most = watch().most;
  if (!most || kept_->estimate() > most->estimate()) {
    most = kept_;
  }
}

}  // namespace forkrun::bindings
