#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <forkrun/core/data/column.hpp>

namespace forkrun::lcio {

/// A quantity of objects of a type. Numbers of items are per object, or per item of its list.
struct Member {
  std::string name;
  ElementType element{};
  std::uint32_t n_in_item = 1;  ///< number of values
  std::int32_t list = -1;       ///< number of its list; -1: one item for each object
  bool is_pointer{};            ///< to an object of any collection of the event
  std::uint32_t if_absent{};    ///< bits of its value in files without it
};

/// Steps in the decoding of an object's bytes, in order.
enum class Step : std::uint8_t {
  room,         ///< `n` bytes: those of the next `n_steps`; `which`: its number;
                ///< `count`: index of the word that `if_bit` tests; -1: none
  words,        ///< fixed: `n` numbers of 4 bytes
  doubles,      ///< fixed: `n` numbers of 8 bytes
  flag,         ///< fixed: 4 bytes, 1 if one of them is not 0
  kept_word,    ///< fixed: one number of 4 bytes, tested by `if_bit`
  tag,          ///< fixed: the number of the object in pointers
  inner_tag,    ///< fixed: the same for an item of a list
  list,         ///< next `n_steps`, for each item of list `which`; `n`: their number, 0: stored
  inner_list,   ///< the same for a list in a list, whose lengths are member `which`
  if_bit,       ///< next `n_steps`, if the kept word has bit `n`
  shorts,       ///< numbers of 2 bytes, packed: list `which`
  texts,        ///< list `which`, of texts
  three_counts  ///< lengths of the next three lists without stored lengths
};

struct Action {
  Step step{};
  std::int16_t which = -1;  ///< member or list; -1: not wanted
  std::uint16_t n{};
  std::uint16_t n_steps{};
  std::int8_t count = -1;  ///< index among the three counts of the length of the list
};

/// Form of stored objects of a collection, set by type, version and flag.
struct Layout {
  std::vector<Action> actions;
  std::size_t n_fixed{};  ///< bytes of each object, if equal for all; else 0
  /// Lists in lists: the member in them, and their list.
  struct InnerList {
    std::int32_t member{};
    std::size_t list{};
  };
  std::vector<InnerList> inner_lists;
  std::size_t n_rooms{};   ///< number of rooms, in lists and outside
  bool has_head_counts{};  ///< the three counts precede the objects
};

/// Columns that objects of a type can have, in any version.
struct Members {
  std::vector<Member> members;
  std::size_t n_lists{};

  /// -1: no such member.
  [[nodiscard]] std::int32_t find(std::string_view name) const;
};

/// Numbers of types; `none`: an unknown type.
enum class ObjectType : std::uint8_t {
  mc_particle,
  sim_calorimeter_hit,
  sim_tracker_hit,
  raw_calorimeter_hit,
  calorimeter_hit,
  tracker_hit,
  tracker_hit_plane,
  tracker_hit_z_cylinder,
  tpc_hit,
  tracker_raw_data,
  tracker_data,
  tracker_pulse,
  track,
  cluster,
  reconstructed_particle,
  vertex,
  relation,
  generic_object,
  int_vector,
  float_vector,
  text_vector,
  reference,
  none
};

/// By LCIO's name for it, "MCParticle".
[[nodiscard]] ObjectType object_type(std::string_view name);
/// Valid as long as the process.
[[nodiscard]] const Members& members_of(ObjectType type);
/// `version`: major << 16 | minor of the LCIO that wrote the collection.
[[nodiscard]] Layout layout_of(ObjectType type, std::uint32_t version, std::uint32_t flag);

}  // namespace forkrun::lcio
