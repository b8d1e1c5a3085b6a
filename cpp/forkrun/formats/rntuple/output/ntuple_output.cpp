#include <forkrun/formats/rntuple/output/ntuple_output.hpp>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <forkrun/bytes/in_parallel.hpp>
#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/formats/rntuple/output/written_check.hpp>
#include <forkrun/formats/rntuple/write/new_fields.hpp>
#include <forkrun/formats/table/output_table.hpp>

namespace forkrun::rntuple {

namespace {

std::vector<NewField> new_fields(const OutputContent& content) {
  std::vector<NewField> fields;
  for (const auto& column : content.products) {
    fields.push_back({column.name, column.type,
                      column.type.is_counted() ? content.counter_of(column) : std::string{}});
  }
  return fields;
}

std::set<std::string> names_of_products(const OutputContent& content) {
  std::set<std::string> names;
  for (const auto& column : content.products) {
    names.insert(column.name);
  }
  return names;
}

/// Fields of an RNTuple that are kept as they are, and those kept by their values.
struct Chosen {
  std::vector<const FieldColumn*> fields;
  std::vector<std::string> by_values;
};

bool has_variants(const Schema& schema, std::uint32_t number) {
  const auto& field = schema.fields[number];
  return field.role == FieldRole::variant || std::ranges::any_of(field.children, [&](auto child) {
           return has_variants(schema, child);
         });
}

/// Counts of lists of which nothing else is kept have no list to be in.
Chosen choose_fields(const NtupleTable& ntuple, const std::vector<std::string>& names) {
  Chosen chosen;
  std::set<Representations> lists;
  for (const auto& name : names) {
    const auto& column = ntuple.column(name);
    if (!column.is_count &&
        (column.type || !has_variants(ntuple.ntuple().schema(), column.field))) {
      chosen.fields.push_back(&column);
      lists.insert(column.lists.begin(), column.lists.end());
    }
  }
  for (const auto& name : names) {
    const auto& column = ntuple.column(name);
    if (column.is_count && lists.contains(column.values)) {
      chosen.fields.push_back(&column);
    } else if (column.is_count) {
      chosen.by_values.push_back(name);
    }
  }
  return chosen;
}

/// Whether lists of the input have names such as "Muon_eta" that one of `products` belongs to.
bool names_lists_as(const Schema& schema, const std::set<std::string>& products) {
  for (std::uint32_t number = 0; number < schema.fields.size(); ++number) {
    const auto& field = schema.fields[number];
    const auto begin = field.name.substr(0, field.name.find('_') + 1);
    if (field.parent == number && field.role == FieldRole::collection && !field.source &&
        !begin.empty() && std::ranges::any_of(products, [&](const auto& product) {
          return product.starts_with(begin);
        })) {
      return true;
    }
  }
  return false;
}

}  // namespace

NtupleOutput::NtupleOutput(const std::string& path, NtupleInput& input,
                           const OutputContent& content, std::size_t n_threads)
    : NtupleOutput{path,    std::make_unique<root_io::PlainFile>(path, content.compression),
                   nullptr, input,
                   content, n_threads} {}

NtupleOutput::NtupleOutput(root_io::PlainFile& file, NtupleInput& input,
                           const OutputContent& content, std::size_t n_threads)
    : NtupleOutput{{}, nullptr, &file, input, content, n_threads} {}

NtupleOutput::NtupleOutput(const std::string& path, std::unique_ptr<root_io::PlainFile> own_file,
                           root_io::PlainFile* file, NtupleInput& input,
                           const OutputContent& content, std::size_t n_threads)
    : input_{input},
      content_{content},
      n_threads_{n_threads},
      path_{path},
      own_file_{std::move(own_file)},
      file_{own_file_ ? *own_file_ : *file} {
  Schema schema;
  const auto taken = names_of_products(content);
  keep(schema, taken);
  const bool has_flat_names = content_.has_flat_names || names_lists_as(schema, taken);
  NewFields fields{schema};
  for (const auto& [counter, list] : open_lists(schema)) {
    fields.know_list(counter, list);
    if (has_flat_names) {
      fields.show_members(counter, taken);
    }
  }
  kept_->add_to(fields);
  new_ = fields.add(new_fields(content));
  if (!content_.has_all_fields && !has_flat_names) {
    schema = kept_schema(schema, second_names(schema));
  }
  for (const auto& column : schema.columns) {
    columns_.emplace_back(column, content.compression);
  }
  ntuple_.emplace(file_, content.tree, schema, content.compression);
}

/// Keeps fields of an RNTuple, without counts of lists that are not kept.
void NtupleOutput::keep(Schema& schema, const std::set<std::string>& taken) {
  const auto first = input_.open(input_.first_with_events());
  const auto* ntuple = dynamic_cast<const NtupleTable*>(first->table.get());
  PageTreatment treatment{.joins_pages = content_.joins_pages,
                          .unpacks_copied = content_.reads_copied};
  if (content_.recompresses) {
    treatment.compression = content_.compression;
  }
  if (content_.has_all_fields) {
    schema = kept_schema(ntuple->ntuple().schema());
    treatment.has_all_fields = true;
    fields_.emplace(schema, treatment);
    kept_.emplace(input_, std::vector<std::string>{});
    return;
  }
  if (ntuple == nullptr || content_.is_by_values) {
    kept_.emplace(input_, content_.branches_and_members());
    return;
  }
  const auto chosen = root_io::naming_file(
      first->file->path(), [&] { return choose_fields(*ntuple, content_.branches_and_members()); });
  schema = kept_schema(ntuple->ntuple().schema(), chosen.fields, taken);
  fields_.emplace(schema, treatment);
  kept_.emplace(input_, chosen.by_values);
}

bool NtupleOutput::has_variants() const {
  return fields_ && std::ranges::count(fields_->schema().columns, Encoding::switched,
                                       &StoredColumn::encoding) > 0;
}

void NtupleOutput::open(std::uint32_t file) {
  const auto opened = input_.open(file);
  if (fields_ && !fields_->is_open(opened.get())) {
    take_fields();
    fields_->open(opened);
  }
}

double NtupleOutput::bytes_per_event() { return bytes_per_event(input_.first_with_events()); }

/// Opens no file a second time: the cutter asks ahead of events.
double NtupleOutput::bytes_per_event(std::uint32_t file) {
  auto n_bytes = kept_->bytes_per_event(file);
  if (fields_) {
    n_bytes += fields_->bytes_per_event(*input_.open(file));
  }
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

void NtupleOutput::expect(std::span<const EntryRange> clusters) {
  const auto file = clusters.front().file;
  open(file);
  std::vector<StoredPart> all;
  for (const auto& cluster : clusters) {
    std::vector<StoredPart> parts;
    if (fields_) {
      fields_->add_parts(cluster, parts);
    }
    kept_->add_parts(cluster, parts);
    for (const auto& part : parts) {  // taken column by column, as they lie in the file
      all.push_back({cluster.first, part.bytes});
    }
  }
  input_.open(file)->file->expect(in_order(std::move(all)));
}

void NtupleOutput::add(std::span<const EntryRange> entries, std::span<const NewValues> values) {
  if (fields_) {
    open(entries.front().file);
    root_io::naming_file(fields_->path(), [&] { fields_->add(entries, columns_); });
    if (fields_->is_full()) {
      take_fields();
    }
  }
  kept_->add(entries, columns_, n_threads_);
  add_columns(values);
  n_in_cluster_ += static_cast<std::uint64_t>(n_events_of(entries));
}

void NtupleOutput::add_whole(const EntryRange& entries, std::span<const NewValues> values) {
  open(entries.file);
  fields_->add_whole(entries);
  kept_->add({&entries, 1}, columns_, n_threads_);
  add_columns(values);
  n_in_cluster_ += static_cast<std::uint64_t>(entries.last - entries.first);
}

/// So that another file can be opened.
void NtupleOutput::take_fields() {
  if (!fields_->has_noted()) {
    return;
  }
  n_taken_bytes_ += fields_->n_bytes();
  const auto n_threads = n_threads_worth(fields_->n_bytes(), n_threads_);
  root_io::naming_file(fields_->path(), [&] {
    in_parallel(fields_->schema().columns.size(), n_threads,
                [&](std::size_t i) { fields_->take(i, columns_[i]); });
  });
  fields_->forget();
}

void NtupleOutput::add_columns(std::span<const NewValues> values) {
  for (const auto& [columns, events] : values) {
    for (std::size_t i = 0; i < new_.size(); ++i) {
      add_events((*columns)[i], events, new_[i], columns_);
    }
  }
}

double NtupleOutput::n_pending_bytes() {
  const auto of_values = std::accumulate(
      columns_.begin() + static_cast<std::ptrdiff_t>(n_fields()), columns_.end(), 0.0,
      [](double sum, const auto& column) { return sum + static_cast<double>(column.n_bytes()); });
  return of_values + (fields_ ? fields_->n_bytes() : 0) + n_taken_bytes_;
}

std::size_t NtupleOutput::n_fields() const {
  return fields_ ? fields_->schema().columns.size() : 0;
}

/// Columns that are packed at the same time: what they hold has to be in memory.
std::size_t NtupleOutput::end_of_batch(std::size_t first) const {
  constexpr double most_bytes = 8 << 20;
  double n_bytes = 0;
  auto end = first;
  while (end < columns_.size() && (n_bytes < most_bytes || end == first)) {
    n_bytes += static_cast<double>(columns_[end].n_bytes());
    n_bytes += end < n_fields() ? fields_->n_bytes(end) : 0;
    ++end;
  }
  return end;
}

void NtupleOutput::end_cluster() {
  for (std::size_t first = 0, end = 0; first < columns_.size(); first = end) {
    end = end_of_batch(first);
    root_io::naming_file(fields_ ? fields_->path() : path_, [&] {
      in_parallel(end - first, n_threads_, [&](std::size_t i) { fill(first + i); });
      for (auto i = first; i < end; ++i) {
        write(i);
      }
    });
  }
  if (fields_) {
    fields_->forget();
  }
  n_taken_bytes_ = 0;
  n_entries_ += static_cast<std::int64_t>(n_in_cluster_);
  ntuple_->end_cluster(std::exchange(n_in_cluster_, 0));
}

void NtupleOutput::fill(std::size_t column) {
  if (column < n_fields()) {
    if (fields_->is_copied(column)) {
      return;
    }
    fields_->take(column, columns_[column]);
  }
  columns_[column].seal();
}

void NtupleOutput::write(std::size_t number) {
  if (number < n_fields() && fields_->is_copied(number)) {
    fields_->copy(number, [&](const SealedPage& page, int compression) {
      ntuple_->add_page(number, page, compression);
    });
    return;
  }
  auto& column = columns_[number];
  for (const auto& page : column.pages()) {
    ntuple_->add_page(number, page, column.compression().settings());
  }
  column.forget_pages();
}

void NtupleOutput::finish() {
  ntuple_->finish();
  if (own_file_) {
    own_file_->close();
  }
}

void NtupleOutput::check() const {
  check_written(path_, content_.tree, n_entries_, ntuple_->samples(), n_threads_);
}

}  // namespace forkrun::rntuple
