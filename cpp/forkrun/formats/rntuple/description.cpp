#include <forkrun/formats/rntuple/description.hpp>

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/errors.hpp>

namespace forkrun::rntuple {

namespace {

void read_header(const DescriptionRecord& record, Description& into) {
  const auto bytes = unpacked_envelope(record.header, record.n_unpacked);
  auto from = envelope_content(bytes, EnvelopeType::header);
  into.header_checksum = checksum_of(bytes);
  require_known_features(from);
  into.name = from.text();
  static_cast<void>(from.text());  // a description
  static_cast<void>(from.text());  // the library that wrote it
  into.schema.add(from);
}

std::shared_ptr<const Description> read_description(const DescriptionRecord& record) {
  auto read = std::make_shared<Description>();
  naming_part("header", [&] { read_header(record, *read); });
  naming_part("footer", [&] { read->schema.add(RecordCursor{record.extension}); });
  read->columns = field_columns(read->schema);
  for (std::size_t i = 0; i < read->columns.size(); ++i) {
    read->by_name.emplace(read->columns[i].name, i);
  }
  return read;
}

/// Those that were asked for last: files of some kinds may take turns.
class KnownDescriptions {
 public:
  std::shared_ptr<const Description> find(const DescriptionRecord& record) {
    const std::lock_guard lock{mutex_};
    const auto known = std::ranges::find(known_, record, &Known::first);
    if (known == known_.end()) {
      return nullptr;
    }
    known_.splice(known_.begin(), known_, known);
    return known->second;
  }
  void add(DescriptionRecord record, std::shared_ptr<const Description> description) {
    constexpr std::size_t n_most = 4;
    const std::lock_guard lock{mutex_};
    known_.emplace_front(std::move(record), std::move(description));
    if (known_.size() > n_most) {
      known_.pop_back();
    }
  }

 private:
  using Known = std::pair<DescriptionRecord, std::shared_ptr<const Description>>;
  std::mutex mutex_;
  std::list<Known> known_;
};

}  // namespace

std::shared_ptr<const Description> description_of(DescriptionRecord record) {
  static KnownDescriptions known;
  auto found = known.find(record);
  if (!found) {
    found = read_description(record);
    known.add(std::move(record), found);
  }
  return found;
}

void require_known_features(RecordCursor& from) {
  for (std::int64_t features = -1; features < 0;) {
    features = from.number<std::int64_t>();
    if (features != 0) {
      throw Error("it uses a feature that this version of forkrun does not know; update forkrun");
    }
  }
}

}  // namespace forkrun::rntuple
