#include <forkrun/core/module/conditions.hpp>

#include <algorithm>
#include <functional>
#include <numeric>

#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/nearest_name.hpp>

namespace forkrun {

namespace {

template <typename Map>
std::vector<std::string> names_of(const Map& map) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) {
    names.push_back(name);
  }
  return names;
}

std::string list(const std::map<std::string, ConditionArray>& arrays) {
  std::string text;
  for (const auto& [name, array] : arrays) {
    text += (text.empty() ? "\"" : ", \"") + name + "\"";
  }
  return text;
}

}  // namespace

std::size_t ConditionArray::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>{});
}

const ConditionArray& ConditionPayload::array(const std::string& name) const {
  const auto found = arrays.find(name);
  if (found != arrays.end()) {
    return found->second;
  }
  if (name.empty()) {
    throw Error{arrays.empty() ? "it has no array" : "it has several arrays: " + list(arrays)};
  }
  throw Error{"it has no array \"" + name + "\"" + nearest_name_hint(name, names_of(arrays))};
}

void check_element_type(const ConditionArray& array, ElementType wanted) {
  if (array.type != wanted) {
    throw Error{"the array holds " + ColumnType{array.type, Shape::scalar}.name() + ", not " +
                ColumnType{wanted, Shape::scalar}.name()};
  }
}

void Conditions::add_label(const std::string& label, std::vector<std::uint32_t> payload_of) {
  if (payload_of.size() != n_iovs_) {
    throw Error{"condition \"" + label + "\" has payloads for " +
                std::to_string(payload_of.size()) + " of " + counted(n_iovs_, "IOV")};
  }
  labels_[label].payload_of = std::move(payload_of);
}

void Conditions::add_payload(const std::string& label, std::uint32_t number,
                             ConditionPayload payload) {
  find(label).payloads[number] = std::move(payload);
}

Conditions::Label& Conditions::find(const std::string& label) {
  const auto found = labels_.find(label);
  if (found == labels_.end()) {
    throw Error{"unknown condition \"" + label + "\"" +
                nearest_name_hint(label, names_of(labels_))};
  }
  return found->second;
}

std::uint32_t Conditions::consume(ConditionObject object) {
  const auto& label = find(object.label);
  const auto same = std::ranges::find_if(consumed_, [&](const Consumed& other) {
    return other.object.label == object.label && other.object.type == object.type &&
           other.object.key == object.key;
  });
  const auto number = static_cast<std::uint32_t>(same - consumed_.begin());
  if (same != consumed_.end()) {
    return number;
  }
  Consumed consumed{std::move(object), {}};
  for (const auto& [payload_number, payload] : label.payloads) {
    make(consumed, payload_number, payload);
  }
  rows_.resize(n_iovs_);
  for (std::uint32_t iov = 0; iov < n_iovs_; ++iov) {
    const auto made = consumed.made.find(label.payload_of[iov]);
    rows_[iov].push_back(made == consumed.made.end() ? nullptr : made->second.get());
  }
  consumed_.push_back(std::move(consumed));
  return number;
}

void Conditions::make(Consumed& consumed, std::uint32_t number, const ConditionPayload& payload) {
  try {
    consumed.made[number] = consumed.object.make(payload);
  } catch (...) {
    rethrow_with_context("condition \"" + consumed.object.label + "\"" +
                         (payload.file.empty() ? "" : " (" + payload.file + ")"));
  }
}

/// Changes only the rows of its IOVs: blocks of others may be in flight.
void Conditions::note(std::uint32_t object, std::uint32_t payload) {
  const auto& consumed = consumed_[object];
  const auto made = consumed.made.find(payload);
  const auto& payload_of = labels_.at(consumed.object.label).payload_of;
  for (std::uint32_t iov = 0; iov < n_iovs_; ++iov) {
    if (payload_of[iov] == payload) {
      rows_[iov][object] = made == consumed.made.end() ? nullptr : made->second.get();
    }
  }
}

void Conditions::prepare(std::uint32_t iov) {
  if (iov >= rows_.size()) {
    return;
  }
  for (std::uint32_t object = 0; object < consumed_.size(); ++object) {
    auto& consumed = consumed_[object];
    auto& label = labels_.at(consumed.object.label);
    const auto number = label.payload_of[iov];
    if (consumed.made.contains(number)) {
      continue;
    }
    if (!label.payloads.contains(number)) {
      load_(consumed.object.label, number);
    }
    try {
      make(consumed, number, label.payloads.at(number));
    } catch (...) {
      rethrow_with_context("module \"" + consumed.object.module + "\"");
    }
    note(object, number);
  }
}

void Conditions::drop(const std::string& name, std::uint32_t number) {
  auto& label = find(name);
  label.payloads.erase(number);
  for (std::uint32_t object = 0; object < consumed_.size(); ++object) {
    if (consumed_[object].object.label == name && consumed_[object].made.erase(number) != 0) {
      note(object, number);
    }
  }
}

}  // namespace forkrun
