#include <forkrun/formats/merge/origins.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

namespace {

/// Path of the rows that say from which files the objects come.
const std::string of_objects;

std::int64_t n_rows_of(const std::vector<OriginRows>& origins) {
  return std::accumulate(origins.begin(), origins.end(), std::int64_t{},
                         [](auto sum, const auto& part) { return sum + part.n_rows; });
}

}  // namespace

void Origins::begin_file(TreeFile& file) {
  file_ = file.path();
  own_ = Origin::of(file.identity().uuid, file.identity().n_bytes);
  record_ = read_origins(file);
  if (record_) {
    for (const auto& [path, origins] : *record_) {
      recorded_.insert(path);
    }
  }
}

const std::vector<OriginRows>* Origins::carried(const std::string& path) const {
  if (!record_) {
    return nullptr;
  }
  const auto known = record_->find(path);
  return known == record_->end() ? nullptr : &known->second;
}

TakenRows Origins::take(RowOrigins& origins, const std::string& path) {
  const auto* known = carried(path);
  return known != nullptr ? origins.take_carried(file_, *known)
                          : origins.take_own(file_, {own_, 0});
}

TakenRows Origins::take_rows(const std::string& path) { return take(rows_[path], path); }

void Origins::check_rows(const std::string& path, std::int64_t n_rows) const {
  const auto* known = carried(path);
  if (known == nullptr || n_rows_of(*known) == n_rows) {
    return;
  }
  throw InputError(file_ + ": tree \"" + path + "\" has " + std::to_string(n_rows) +
                   " rows, but \"" + origin_record + "\" says where " +
                   std::to_string(n_rows_of(*known)) +
                   " came from: another program joined it with files that do not say it; merge the "
                   "files that it was made of");
}

void Origins::add_rows(const std::string& path, const TakenRows& taken, std::int64_t n_rows,
                       std::int64_t n_taken) {
  auto& rows = output_[path];
  if (carried(path) != nullptr) {
    rows.insert(rows.end(), taken.origins.begin(), taken.origins.end());
  } else if (taken.is_all()) {
    rows.push_back({own_, n_rows});
  }
  if (n_taken < n_rows) {
    left_out_[path] += n_rows - n_taken;
  }
}

bool Origins::takes_object(const std::string& path) {
  const auto taken = take(objects_[path], of_objects);
  if (!taken.is_all() && !taken.origins.empty()) {
    throw InputError(
        file_ + ": object \"" + path +
        "\" is a sum over input files, and some of them, not all, were in it of " +
        taken.other_file +
        " already; make these outputs over files that are the same or others, or merge "
        "only trees (--trees)");
  }
  for (const auto& part : taken.origins) {
    if (in_objects_.insert(part.origin).second) {
      output_[of_objects].push_back({part.origin, 0});
    }
  }
  return taken.is_all();
}

OriginsByPath Origins::of_output() const {
  OriginsByPath wanted;
  std::ranges::copy_if(output_, std::inserter(wanted, wanted.end()), [&](const auto& path_rows) {
    return records_all_ || recorded_.contains(path_rows.first);
  });
  return wanted;
}

std::vector<std::string> Origins::notes() const {
  std::vector<std::string> lines;
  for (const auto& [path, n_rows] : left_out_) {
    lines.push_back("tree \"" + path + "\": " + std::to_string(n_rows) +
                    " rows of input files that were carried more than once are taken once");
  }
  return lines;
}

}  // namespace forkrun::root_io
