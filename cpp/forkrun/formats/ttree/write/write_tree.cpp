#include <forkrun/formats/ttree/write/plain_tree.hpp>

#include <algorithm>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/class_layouts.hpp>
#include <forkrun/formats/root_file/object_writer.hpp>

namespace forkrun::root_io {

namespace {

// Bits of TObject, as trees, branches and leaves have them that were read.
constexpr std::uint32_t must_clean_up = 1U << 3U, no_buffer_map = 1U << 22U,
                        owns_values = 1U << 12U;
constexpr std::size_t least_room = 10;  // for the baskets of a branch, in its lists

class TreeRecordWriter {
 public:
  TreeRecordWriter(ObjectWriter& to, const TreeMembers& tree,
                   const std::vector<BranchContent>& contents)
      : to_{to}, tree_{tree}, contents_{contents} {
    for (const auto& branch : tree.branches) {
      for (const auto& leaf : branch.leaves) {
        leaves_.push_back(&leaf);
      }
    }
    places_.resize(leaves_.size());
  }

  void write(std::int64_t n_entries) {
    to_.object(20, [&] {
      to_.named(tree_.name, tree_.title, must_clean_up);
      attributes();
      numbers(n_entries);
      features(tree_.features);
      branches();
      leaves();
      to_.null("TList");  // aliases
      to_.numbers(std::int32_t{0}, std::int32_t{0});
      to_.null("TVirtualIndex");
      to_.null("TList");  // friends
      to_.null("TList");  // what users add
      to_.null("TBranchRef");
    });
  }

 private:
  void attributes() {
    if (!tree_.attributes.empty()) {
      return to_.raw(tree_.attributes);
    }
    constexpr std::int16_t tree_color = 602, full_style = 1001, one = 1;
    to_.object(2, [&] { to_.numbers(tree_color, one, one); });
    to_.object(2, [&] { to_.numbers(std::int16_t{0}, full_style); });
    to_.object(3, [&] { to_.numbers(one, one, 1.0F); });
  }

  void numbers(std::int64_t n_entries) {
    std::int64_t n_bytes = 0, n_stored_bytes = 0;
    for (const auto& content : contents_) {
      n_bytes += content.n_bytes;
      n_stored_bytes += content.n_stored_bytes;
    }
    constexpr std::int64_t not_counted = 0;  // saved, flushed
    to_.numbers(n_entries, n_bytes, n_stored_bytes, not_counted, not_counted, tree_.weight,
                tree_.timer_interval, tree_.scan_field, tree_.update, tree_.offsets_length);
    to_.number(std::int32_t{0});  // stretches of clusters
    to_.numbers(tree_.most_entries, tree_.most_entries_in_loop, tree_.most_virtual_size,
                tree_.auto_save, tree_.auto_flush, tree_.estimate);
    to_.numbers(std::uint8_t{0}, std::uint8_t{0});
  }

  void features(std::uint8_t bits) {
    constexpr std::int16_t no_version = 0;
    to_.object(no_version, [&] { to_.numbers(class_layout("ROOT::TIOFeatures")->checksum, bits); });
  }

  template <typename Body>
  void array(std::size_t n_objects, Body objects) {
    constexpr std::uint32_t no_owner = 0;
    to_.array_of_objects(n_objects, no_owner, objects);
  }

  void branches() {
    std::size_t first_leaf = 0;
    to_.array_of_objects(tree_.branches.size(), ObjectWriter::is_owner, [&] {
      for (std::size_t i = 0; i < tree_.branches.size(); ++i) {
        const auto& members = tree_.branches[i];
        to_.pointer("TBranch", [&] { branch(members, contents_[i], first_leaf); });
        first_leaf += members.leaves.size();
      }
    });
  }

  void branch(const BranchMembers& members, const BranchContent& content, std::size_t first_leaf) {
    const auto n_baskets = content.list.baskets.size();
    const auto n_room = std::max(n_baskets + 1, least_room);
    to_.object(13, [&] {
      to_.named(members.name, members.title, no_buffer_map);
      to_.object(2, [&] { to_.numbers(members.fill_color, members.fill_style); });
      to_.numbers(members.compression, members.basket_size, members.offsets_length,
                  static_cast<std::int32_t>(n_baskets), content.list.n_entries);
      features(members.features);
      to_.numbers(members.offset, static_cast<std::int32_t>(n_room), members.split_level,
                  content.list.n_entries, std::int64_t{0}, content.n_bytes, content.n_stored_bytes);
      array(0, [] {});
      array(members.leaves.size(), [&] {
        for (std::size_t i = 0; i < members.leaves.size(); ++i) {
          leaf(first_leaf + i);
        }
      });
      no_baskets(n_baskets);
      lists(content.list, n_room);
      to_.text("");  // they are in this file
    });
  }

  /// None is kept within the tree's own record.
  void no_baskets(std::size_t n_baskets) {
    const auto n = n_baskets == 0 ? 0 : n_baskets + 1;
    array(n, [&] {
      for (std::size_t i = 0; i < n; ++i) {
        to_.number(std::int32_t{0});
      }
    });
  }

  void lists(const BranchBaskets& list, std::size_t n_room) {
    const auto write = [&](auto of_basket, auto after_last) {
      to_.number(std::uint8_t{1});
      for (const auto& basket : list.baskets) {
        to_.number(of_basket(basket));
      }
      to_.number(after_last);
      for (auto i = list.baskets.size() + 1; i < n_room; ++i) {
        to_.number(decltype(after_last){0});
      }
    };
    write([](const auto& basket) { return basket.n_bytes; }, std::int32_t{0});
    write([](const auto& basket) { return basket.first_entry; }, list.n_entries);
    write([](const auto& basket) { return basket.seek; }, std::int64_t{0});
  }

  /// The leaf, or where it is if it was written already: as the one that counts another.
  void leaf(std::size_t number) {
    if (places_[number] != 0) {
      return to_.reference(places_[number]);
    }
    const auto& leaf = *leaves_[number];
    places_[number] = to_.next_number();
    to_.pointer(leaf.type, [&] {
      to_.object(static_cast<std::int16_t>(class_layout(leaf.type)->version), [&] {
        to_.object(2, [&] { members(leaf); });
        limits(leaf);
      });
    });
  }

  void members(const LeafMembers& leaf) {
    to_.named(leaf.name, leaf.title, owns_values);
    to_.numbers(leaf.n_values, leaf.value_size, leaf.offset,
                static_cast<std::uint8_t>(leaf.counts_others),
                static_cast<std::uint8_t>(leaf.is_unsigned));
    leaf.counter ? this->leaf(*leaf.counter) : to_.null("TLeaf");
  }

  void limits(const LeafMembers& leaf) {
    if (!leaf.range || !leaf.limits.empty()) {
      return to_.raw(leaf.limits);
    }
    const auto [least, largest] = *leaf.range;
    switch (leaf.value_size) {
      case 1:
        return to_.numbers(static_cast<std::int8_t>(least), static_cast<std::int8_t>(largest));
      case 2:
        return to_.numbers(static_cast<std::int16_t>(least), static_cast<std::int16_t>(largest));
      case 4:
        return to_.numbers(static_cast<std::int32_t>(least), static_cast<std::int32_t>(largest));
      default: return to_.numbers(least, largest);
    }
  }

  void leaves() {
    array(places_.size(), [this] {
      for (const auto place : places_) {
        to_.reference(place);
      }
    });
  }

  ObjectWriter& to_;
  const TreeMembers& tree_;
  const std::vector<BranchContent>& contents_;
  std::vector<const LeafMembers*> leaves_;
  std::vector<std::uint32_t> places_;  ///< by leaf; 0: it is not written yet
};

}  // namespace

void write_tree(ObjectWriter& to, const TreeMembers& tree, std::int64_t n_entries,
                const std::vector<BranchContent>& contents) {
  if (contents.size() != tree.branches.size()) {
    throw Error("tree \"" + tree.name + "\" has other branches than are written");
  }
  TreeRecordWriter{to, tree, contents}.write(n_entries);
}

}  // namespace forkrun::root_io
