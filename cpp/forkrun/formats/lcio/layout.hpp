#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <forkrun/core/data/column.hpp>

namespace forkrun::lcio {

/// A quantity that objects of a type have. Numbers of items are of the object, or of each item of
/// its list.
struct Member {
  std::string name;
  ElementType element{};
  std::uint32_t n_in_item = 1;  ///< values, one after the other
  std::int32_t list = -1;       ///< number of the list that it is in; -1: one item for each object
  bool is_pointer{};            ///< to an object of any collection of the event
  std::uint32_t if_absent{};    ///< bits of its value where a file does not have it
};

/// What is done with the bytes of an object, one step after the other.
enum class Step : std::uint8_t {
  room,        ///< `n` bytes are there: those of the `n_steps` that follow; `which`: its number;
               ///< `count`: which word of it `if_bit` looks at; -1: none
  words,       ///< fixed: `n` numbers of 4 bytes
  doubles,     ///< fixed: `n` numbers of 8 bytes
  flag,        ///< fixed: 4 bytes, 1 if one of them is not 0
  kept_word,   ///< fixed: one number of 4 bytes, which `if_bit` looks at
  tag,         ///< fixed: the number by which others point at the object
  inner_tag,   ///< fixed: the same of the item of a list
  list,        ///< the `n_steps` that follow, for each item of list `which`; `n`: how many, 0: told
  inner_list,  ///< the same of a list in a list, whose lengths are a member, `which`
  if_bit,      ///< the `n_steps` that follow, if the kept word has bit `n`
  shorts,      ///< numbers of 2 bytes, packed: list `which`
  texts,       ///< list `which`, of texts
  three_counts  ///< lengths of the next three lists that are not told
};

struct Action {
  Step step{};
  std::int16_t which = -1;  ///< member or list; -1: nobody wants it
  std::uint16_t n{};
  std::uint16_t n_steps{};
  std::int8_t count = -1;  ///< of the three counts that tells the length of the list
};

/// How objects of a collection are stored: type, version and flag decide.
struct Layout {
  std::vector<Action> actions;
  std::size_t n_fixed{};  ///< bytes of each object, if that is the same for all; else 0
  /// Lists in lists: the member that is in them, and their list.
  struct InnerList {
    std::int32_t member{};
    std::size_t list{};
  };
  std::vector<InnerList> inner_lists;
  std::size_t n_rooms{};   ///< so many rooms, in lists and outside
  bool has_head_counts{};  ///< the three counts are before the objects
};

/// The columns that objects of a type can have, whatever the version that wrote them.
struct Members {
  std::vector<Member> members;
  std::size_t n_lists{};

  /// -1: none has this name.
  [[nodiscard]] std::int32_t find(std::string_view name) const;
};

/// Numbers of types; `none`: of no type that is known.
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

/// By the name that LCIO has for it, "MCParticle".
[[nodiscard]] ObjectType object_type(std::string_view name);
/// Valid as long as the process.
[[nodiscard]] const Members& members_of(ObjectType type);
/// `version`: major << 16 | minor of LCIO that wrote the collection.
[[nodiscard]] Layout layout_of(ObjectType type, std::uint32_t version, std::uint32_t flag);

}  // namespace forkrun::lcio
