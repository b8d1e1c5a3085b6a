#include <forkrun/formats/rntuple/output/ntuple_output.hpp>

#include <algorithm>
#include <numeric>

#include <forkrun/bytes/in_parallel.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/rntuple/output/written_check.hpp>
#include <forkrun/formats/rntuple/write/add_events.hpp>
#include <forkrun/formats/table/cluster_size.hpp>
#include <forkrun/fragments/counter_name.hpp>
#include <forkrun/fragments/entry_ranges.hpp>

namespace forkrun::rntuple {

namespace {

std::vector<NewField> new_fields(const OutputContent& content) {
  std::vector<NewField> fields;
  for (const auto& column : content.products) {
    fields.push_back({column.name, column.type,
                      column.type.is_counted() ? counter_name(column.name) : std::string{}});
  }
  return fields;
}

}  // namespace

NtupleOutput::NtupleOutput(const std::string& path, NtupleInput& input,
                           const OutputContent& content, std::size_t n_threads)
    : input_{input},
      content_{content},
      n_threads_{n_threads},
      path_{path},
      kept_{input, content.branches},
      file_{std::make_unique<root_io::PlainFile>(path, content.compression)} {
  Schema schema;
  NewFields fields{schema};
  kept_.add_to(fields);
  new_ = fields.add(new_fields(content));
  for (const auto& column : schema.columns) {
    columns_.emplace_back(column, content.compression);
  }
  ntuple_.emplace(*file_, content.tree, std::move(schema), content.compression);
}

double NtupleOutput::bytes_per_event() { return bytes_per_event(input_.first_with_events()); }

double NtupleOutput::bytes_per_event(std::uint32_t file) {
  auto n_bytes = kept_.bytes_per_event(file);
  for (const auto& column : content_.products) {
    constexpr double values_guessed = 4;
    const auto n_in_item = size_of(column.type.element) * column.type.n_in_item();
    n_bytes +=
        static_cast<double>(n_in_item) * (column.type.shape == Shape::scalar ? 1 : values_guessed);
  }
  return std::max(n_bytes, 1.0);
}

double NtupleOutput::wanted_cluster_bytes() const {
  return forkrun::wanted_cluster_bytes(columns_.size());
}

void NtupleOutput::add(std::span<const EntryRange> entries, std::span<const NewValues> values) {
  kept_.add(entries, columns_, n_threads_);
  add_columns(values);
  n_in_cluster_ += static_cast<std::uint64_t>(n_events_of(entries));
}

void NtupleOutput::add_whole(const EntryRange& entries, std::span<const NewValues> values) {
  add({&entries, 1}, values);
}

void NtupleOutput::add_columns(std::span<const NewValues> values) {
  for (const auto& [columns, events] : values) {
    for (std::size_t i = 0; i < new_.size(); ++i) {
      add_events((*columns)[i], events, new_[i], columns_);
    }
  }
}

double NtupleOutput::n_pending_bytes() {
  return std::accumulate(columns_.begin(), columns_.end(), 0.0, [](double sum, const auto& column) {
    return sum + static_cast<double>(column.n_bytes());
  });
}

void NtupleOutput::end_cluster() {
  in_parallel(columns_.size(), n_threads_, [&](std::size_t i) { columns_[i].seal(); });
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    for (const auto& page : columns_[i].pages()) {
      ntuple_->add_page(i, page, columns_[i].compression().settings());
    }
  }
  n_entries_ += static_cast<std::int64_t>(n_in_cluster_);
  ntuple_->end_cluster(std::exchange(n_in_cluster_, 0));
}

void NtupleOutput::finish() {
  ntuple_->finish();
  file_->close();
}

void NtupleOutput::check() const {
  check_written(path_, content_.tree, n_entries_, ntuple_->samples(), n_threads_);
}

}  // namespace forkrun::rntuple
