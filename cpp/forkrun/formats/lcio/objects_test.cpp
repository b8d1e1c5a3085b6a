#include <forkrun/formats/lcio/objects.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include <forkrun/formats/lcio/cursor.hpp>
#include <forkrun/formats/lcio/test_stream.hpp>

namespace forkrun::lcio {

namespace {

constexpr auto newest = version_of(2, 23);

std::vector<std::uint32_t> values_of(const Objects& objects, const char* member) {
  const auto bytes =
      objects.values(static_cast<std::size_t>(objects.members().find(member))).view();
  std::vector<std::uint32_t> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

Objects all_of(ObjectType type) {
  return {type, std::vector<bool>(members_of(type).members.size(), true)};
}

void add(Objects& to, const Stream& stream, std::uint32_t version = newest,
         std::uint32_t flag = 0) {
  Cursor from{stream.bytes()};
  to.add_event(from, version, flag);
  EXPECT_TRUE(from.is_at_end());
}

TEST(LcioObjects, every_type_has_members_whose_names_are_found) {
  for (std::uint8_t i = 0; i < static_cast<std::uint8_t>(ObjectType::none); ++i) {
    const auto& members = members_of(ObjectType{i});
    ASSERT_FALSE(members.members.empty());
    for (std::size_t k = 0; k < members.members.size(); ++k) {
      EXPECT_EQ(members.find(members.members[k].name), static_cast<std::int32_t>(k));
      EXPECT_LT(members.members[k].list, static_cast<std::int32_t>(members.n_lists));
    }
  }
  EXPECT_EQ(object_type("MCParticle"), ObjectType::mc_particle);
  EXPECT_EQ(object_type("LCStrVec"), ObjectType::text_vector);
  EXPECT_EQ(object_type("Unknown"), ObjectType::none);
}

TEST(LcioObjects, events_add_their_objects_and_what_a_version_lacks_is_zero) {
  auto hits = all_of(ObjectType::calorimeter_hit);
  add(hits, Stream{}.words(2, 1, 5, 7, 0, no_tag, 2, 6, 8, 0, 3));
  hits.add_nothing();
  add(hits, Stream{}.words(1, 3, 9), version_of(1, 2));
  EXPECT_EQ(hits.events(), (std::vector<std::int64_t>{0, 2, 2, 3}));
  EXPECT_EQ(values_of(hits, "energy"), (std::vector<std::uint32_t>{5, 6, 9}));
  EXPECT_EQ(values_of(hits, "type"), (std::vector<std::uint32_t>{7, 8, 0}));
  EXPECT_EQ(hits.tags(), (std::vector<std::uint32_t>{no_tag, 3, no_tag}));
}

TEST(LcioObjects, only_members_that_are_wanted_have_values) {
  const auto& members = members_of(ObjectType::int_vector);
  Objects none{ObjectType::int_vector, std::vector<bool>(members.members.size(), false)};
  add(none, Stream{}.words(1, 2, 8, 9, 4));
  EXPECT_EQ(none.tags(), (std::vector<std::uint32_t>{4}));
  EXPECT_EQ(values_of(none, "values"), std::vector<std::uint32_t>{});
}

TEST(LcioObjects, counts_that_cannot_be_are_refused) {
  for (const auto count : {0x7fffffffU, 0x80000000U, 100U}) {
    auto vectors = all_of(ObjectType::int_vector);
    const auto objects = Stream{}.words(count, 1, 8, no_tag);
    const auto values = Stream{}.words(1, count, 8, no_tag);
    for (const auto* stream : {&objects, &values}) {
      Cursor from{stream->bytes()};
      EXPECT_THROW(vectors.add_event(from, newest, 0), InputError);
    }
    auto generic = all_of(ObjectType::generic_object);
    const auto ints = Stream{}.words(1, count, 0, 0, 8);
    Cursor from{ints.bytes()};
    EXPECT_THROW(generic.add_event(from, newest, 0), InputError);
  }
}

}  // namespace

}  // namespace forkrun::lcio
