#include <forkrun/formats/rntuple/output/ntuple_input.hpp>

#include <utility>

#include <forkrun/bytes/local_file.hpp>
#include <forkrun/formats/rntuple/ntuple_table.hpp>
#include <forkrun/formats/rntuple/output/ntuple_output.hpp>
#include <forkrun/formats/source/event_table.hpp>
#include <forkrun/fragments/cluster_cutter.hpp>

namespace forkrun::rntuple {

NtupleInput::NtupleInput(const root_io::TreeSourceConfig& source,
                         std::function<void(std::size_t)> on_open)
    : source_{source}, on_open_{std::move(on_open)} {}

std::uint32_t NtupleInput::first_with_events() const {
  return static_cast<std::uint32_t>(first_file(source_.clusters));
}

std::shared_ptr<const OpenTable> NtupleInput::open(std::uint32_t number) {
  if (const auto known = files_.find(number); known != files_.end()) {
    return known->second;
  }
  if (files_.size() >= source_.most_open()) {
    files_.clear();
  }
  if (on_open_) {
    on_open_(number);
  }
  return files_[number] =
             root_io::opening_again(source_.files.at(number), [&] { return opened(number); });
}

std::shared_ptr<const OpenTable> NtupleInput::opened(std::uint32_t number) const {
  auto opened = std::make_shared<OpenTable>();
  opened->file = std::make_unique<root_io::TreeFile>(source_.files.at(number));
  if (!source_.identities.empty()) {
    opened->file->check_identity(source_.identities.at(number));
  }
  opened->file->keep_unpacked(source_.unpacked_room);
  root_io::naming_file(opened->file->path(), [&] {
    opened->table = root_io::event_table(*opened->file, source_.tree_of(number));
  });
  return opened;
}

bool NtupleInput::is_remote(std::uint32_t file) const {
  return !LocalFile::is_path(source_.files.at(file));
}

std::span<const std::int64_t> NtupleInput::clusters(std::uint32_t file) {
  auto known = clusters_.find(file);
  if (known == clusters_.end()) {
    const auto opened = open(file);
    const auto* ntuple = dynamic_cast<const NtupleTable*>(opened->table.get());
    known = clusters_.emplace(file, ntuple ? ntuple->cluster_begins() : source_.clusters.at(file))
                .first;
  }
  return known->second;
}

MakeTable NtupleInput::tables(const OutputContent& content, std::size_t n_threads) {
  return [this, &content, n_threads](const std::string& path) {
    return std::make_unique<NtupleOutput>(path, *this, content, n_threads);
  };
}

}  // namespace forkrun::rntuple
