#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <forkrun/formats/lcio/event_source.hpp>
#include <forkrun/formats/lcio/new_columns.hpp>
#include <forkrun/formats/lcio/record_writer.hpp>
#include <forkrun/formats/table/output_table.hpp>

namespace forkrun::lcio {

/// Input of LCIO outputs: LCIO files.
class EventInput final : public OutputInput {
 public:
  /// `verifies`: unpacks copied records; `on_open` gets the number of each file just before it is
  /// opened.
  EventInput(EventSource& source, bool verifies, std::function<void(std::size_t)> on_open);

  [[nodiscard]] bool verifies() const { return verifies_; }
  /// \throws InputError
  [[nodiscard]] std::shared_ptr<const InputRecords> open(std::uint32_t file);
  /// Approximate uncompressed and compressed bytes of an event.
  [[nodiscard]] double bytes_per_event(std::uint32_t file) const;
  [[nodiscard]] std::span<const std::int64_t> clusters(std::uint32_t file) override;
  [[nodiscard]] MakeTable tables(const OutputContent& content, std::size_t n_threads) override;
  void forget() override {}

 private:
  EventSource& source_;
  bool verifies_;
  std::function<void(std::size_t)> on_open_;
  std::map<std::uint32_t, std::shared_ptr<const InputRecords>> files_;
};

/// Writes an output's events as LCIO: records of the input unchanged, or changed for dropped
/// collections or new columns.
class EventOutput final : public OutputTable {
 public:
  EventOutput(const std::string& path, EventInput& input, const OutputContent& content,
              std::size_t n_threads);

  [[nodiscard]] double bytes_per_event() override { return bytes_per_event(0); }
  [[nodiscard]] double bytes_per_event(std::uint32_t file) override {
    return input_.bytes_per_event(file);
  }
  [[nodiscard]] double wanted_cluster_bytes() const override { return at_a_time; }
  /// A file has no clusters: events written together are in memory at the same time.
  [[nodiscard]] bool keeps_whole() const override { return false; }
  void add(std::span<const EntryRange> entries, std::span<const NewValues> values) override;
  void add_whole(const EntryRange& entries, std::span<const NewValues> values) override {
    add({&entries, 1}, values);
  }
  [[nodiscard]] double n_pending_bytes() override { return n_pending_bytes_; }
  void end_cluster() override;
  void finish() override;
  void check() const override {}
  void abandon() noexcept override;

 private:
  static constexpr double at_a_time = 16 << 20;

  /// A file of the input, and its dropped contents.
  struct From {
    std::shared_ptr<const InputRecords> records;
    Dropped dropped;
    bool is_changed{};
  };
  struct Pending {
    std::shared_ptr<const From> from;
    std::int64_t entry{};
  };

  void open(std::uint32_t file);
  [[nodiscard]] std::vector<std::byte> made(std::size_t i) const;
  [[nodiscard]] std::size_t copy_from(std::size_t i);

  std::string path_;
  EventInput& input_;
  const OutputContent& content_;
  std::size_t n_threads_;
  RecordWriter writer_;
  NewColumns new_;
  std::shared_ptr<const From> from_;
  std::uint32_t file_{};
  std::vector<Pending> pending_;
  double n_pending_bytes_{};
  bool is_empty_ = true;
};

}  // namespace forkrun::lcio
