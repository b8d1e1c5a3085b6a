#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <forkrun/bytes/compression.hpp>
#include <forkrun/bytes/remote/remote_connection.hpp>
#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/output/make_outputs.hpp>
#include <forkrun/formats/root_histograms/histogram_content.hpp>
#include <forkrun/formats/source/tree_source.hpp>

// Records are C++ structs, and described there alone. Large ones are classes in Python, whose
// fields are keywords of the constructor; small ones are tuples.
namespace forkrun::bindings {

/// Field of a record that is a class in Python.
template <typename Record, typename Value>
struct Field {
  const char* name;
  Value Record::* member;
  const char* doc = "";

  [[nodiscard]] auto argument() const { return pybind11::arg(name) = Record{}.*member; }
};

/// The same, without a default.
template <typename Record, typename Value>
struct Required : Field<Record, Value> {
  [[nodiscard]] auto argument() const { return pybind11::arg(this->name); }
};
template <typename Record, typename Value>
Required(const char*, Value Record::*, const char*) -> Required<Record, Value>;

/// Class in Python for a record with these fields.
template <typename Record, template <typename, typename> typename... Fields, typename... Values>
pybind11::class_<Record> bind_record(pybind11::module_& module, const char* name, const char* doc,
                                     const Fields<Record, Values>&... fields) {
  pybind11::class_<Record> type{module, name, doc};
  type.def(pybind11::init([members = std::tuple{fields.member...}](Values... values) {
             Record record{};
             std::apply([&](auto... member) { ((record.*member = std::move(values)), ...); },
                        members);
             return record;
           }),
           pybind11::kw_only(), fields.argument()...);
  (type.def_readwrite(fields.name, fields.member, fields.doc), ...);
  return type.def("__copy__", [](const Record& record) { return Record{record}; });
}

/// Anything that a field may be made of.
struct AnyValue {
  template <typename Value>
  operator Value() const;
};

template <typename Record>
auto fields_of(const Record& record) {
  constexpr AnyValue any;
  if constexpr (requires { Record{any, any, any, any}; }) {
    const auto& [first, second, third, fourth] = record;
    return std::tie(first, second, third, fourth);
  } else if constexpr (requires { Record{any, any, any}; }) {
    const auto& [first, second, third] = record;
    return std::tie(first, second, third);
  } else {
    const auto& [first, second] = record;
    return std::tie(first, second);
  }
}

template <typename>
struct ValuesOf;
template <typename... Values>
struct ValuesOf<std::tuple<const Values&...>> {
  using Tuple = std::tuple<Values...>;
};

/// Converts a record of two to four fields from and to a tuple of them.
template <typename Record>
class TupleCaster {
  using Tuple = typename ValuesOf<decltype(fields_of(std::declval<Record>()))>::Tuple;
  using Caster = pybind11::detail::make_caster<Tuple>;

 public:
  PYBIND11_TYPE_CASTER(Record, Caster::name);

  bool load(pybind11::handle from, bool convert) {
    Caster tuple;
    if (!tuple.load(from, convert)) {
      return false;
    }
    value = std::make_from_tuple<Record>(pybind11::detail::cast_op<Tuple>(std::move(tuple)));
    return true;
  }
  static pybind11::handle cast(const Record& record, pybind11::return_value_policy policy,
                               pybind11::handle parent) {
    return Caster::cast(Tuple{fields_of(record)}, policy, parent);
  }
};

/// Converts a value from and to its text.
template <typename Value, auto parse, auto text>
class TextCaster {
 public:
  PYBIND11_TYPE_CASTER(Value, pybind11::detail::const_name("str"));

  bool load(pybind11::handle from, bool convert) {
    pybind11::detail::make_caster<std::string> given;
    if (!given.load(from, convert)) {
      return false;
    }
    value = parse(pybind11::detail::cast_op<const std::string&>(given));
    return true;
  }
  static pybind11::handle cast(const Value& value, pybind11::return_value_policy policy,
                               pybind11::handle parent) {
    return pybind11::detail::make_caster<std::string>::cast((value.*text)(), policy, parent);
  }
};

template <typename Type, typename... Types>
concept one_of = (std::is_same_v<Type, Types> || ...);

/// Records that are tuples of their fields in Python.
template <typename Record>
concept is_tuple =
    one_of<Record, ColumnDescription, EntryRange, FragmentGroup, RemoteEntry, root_io::AxisContent,
           root_io::ClusterBegin, root_io::FileIdentity, root_io::FileToMake, root_io::Fill,
           root_io::FriendColumn, root_io::FriendTree, root_io::FriendTree::File,
           root_io::FriendTree::Part, root_io::IdBranches>;

}  // namespace forkrun::bindings

namespace pybind11::detail {

template <forkrun::bindings::is_tuple Record>
struct type_caster<Record> : forkrun::bindings::TupleCaster<Record> {};

template <>
struct type_caster<forkrun::ColumnType>
    : forkrun::bindings::TextCaster<forkrun::ColumnType, &forkrun::ColumnType::parse,
                                    &forkrun::ColumnType::name> {};

template <>
struct type_caster<forkrun::Compression>
    : forkrun::bindings::TextCaster<forkrun::Compression, &forkrun::Compression::parse,
                                    &forkrun::Compression::text> {};

/// Four arrays.
template <>
class type_caster<forkrun::root_io::FriendEntries> {
  template <typename T>
  using Array = array_t<T, array::c_style | array::forcecast>;
  using Arrays = std::tuple<Array<std::int64_t>, Array<std::int32_t>, Array<std::int64_t>,
                            Array<std::uint8_t>>;
  template <typename T>
  static std::vector<T> copy_of(const Array<T>& values) {
    return {values.data(), values.data() + values.size()};
  }
  template <typename T>
  static Array<T> array_of(const std::vector<T>& values) {
    return Array<T>(static_cast<ssize_t>(values.size()), values.data());
  }

 public:
  PYBIND11_TYPE_CASTER(forkrun::root_io::FriendEntries, make_caster<Arrays>::name);

  bool load(handle from, bool convert) {
    make_caster<Arrays> arrays;
    if (!arrays.load(from, convert)) {
      return false;
    }
    const auto [first, file, entry, repeats] = cast_op<Arrays>(std::move(arrays));
    value = {copy_of(first), copy_of(file), copy_of(entry), copy_of(repeats)};
    return true;
  }
  static handle cast(const forkrun::root_io::FriendEntries& from, return_value_policy policy,
                     handle parent) {
    return make_caster<Arrays>::cast(Arrays{array_of(from.first), array_of(from.file),
                                            array_of(from.entry), array_of(from.repeats)},
                                     policy, parent);
  }
};

}  // namespace pybind11::detail
