#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/formats/lcio/record.hpp>

namespace forkrun::lcio {

/// Values under a name, of a run, an event or a collection. Numbers are in stored form; texts, and
/// the name, are in the record.
struct Parameter {
  std::string_view name;
  ElementType type{};  ///< int32, float32, float64 or character
  std::span<const std::byte> numbers;
  std::vector<std::string_view> texts;
};
using Parameters = std::vector<Parameter>;

/// Reads them, and steps over them. \throws InputError
[[nodiscard]] Parameters read_parameters(Cursor& from, std::uint32_t version);
/// The one of this name and type, if there is one.
[[nodiscard]] const Parameter* find_parameter(const Parameters& among, std::string_view name,
                                              ElementType type);

/// Suffix of the type of a collection of references.
constexpr std::string_view subset_postfix = "_References";

struct CollectionName {
  std::string_view name;
  std::string_view type;
  bool is_subset{};  ///< it has references to objects of the type
};

/// Content of the record before an event.
struct EventHeader {
  std::int32_t run{};
  std::int32_t event{};
  std::int64_t time_stamp{};  ///< ns since 1970
  std::string_view detector;
  std::vector<CollectionName> collections;
  Parameters parameters;

  /// 1 unless the event has another weight.
  [[nodiscard]] double weight() const;
};

/// From the data of the record, which must not move. \throws InputError
[[nodiscard]] EventHeader event_header(std::span<const std::byte> data);

struct RunHeader {
  std::int32_t run{};
  std::string_view detector;
  std::string_view description;
  std::vector<std::string_view> subdetectors;
  Parameters parameters;
};
/// From the data of the record, which must not move. \throws InputError
[[nodiscard]] RunHeader run_header(std::span<const std::byte> data);

}  // namespace forkrun::lcio
