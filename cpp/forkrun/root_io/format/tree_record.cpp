#include <forkrun/root_io/format/tree_record.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <forkrun/root_io/big_endian.hpp>
#include <forkrun/root_io/format/basket_of_tree.hpp>
#include <forkrun/root_io/format/leaf_form.hpp>
#include <forkrun/root_io/format/object_stream.hpp>
#include <forkrun/root_io/read/is_text.hpp>

namespace forkrun::root_io {

namespace {

constexpr auto require = ObjectStream::require;

struct Versions {
  int first{};
  int last{};  ///< the first with features of its own
};
constexpr Versions tree_versions{19, 20};
constexpr Versions branch_versions{12, 13};
constexpr int element_version = 10;
constexpr int deepest = 100;

/// Reads a tree, its branches and their leaves; each method one kind of object.
class TreeParser {
 public:
  TreeParser(std::span<const std::byte> bytes, int key_length, Tops tops)
      : from_{bytes, key_length} {
    if (tops == Tops::wanted) {
      tops_.emplace();
    }
  }

  TreeRecord tree() {
    const auto object = versioned(tree_versions);
    record_.name = named().name;
    for (int attributes = 0; attributes < 3; ++attributes) {
      from_.skip_object();
    }
    record_.baskets.n_entries = from_.number<std::int64_t>();
    from_.skip<std::int64_t>(5);
    from_.skip<std::int32_t>(4);
    const auto n_ranges = from_.number<std::uint32_t>();
    from_.skip<std::int64_t>(6);
    static_cast<void>(from_.array<std::int64_t>(n_ranges));
    static_cast<void>(from_.array<std::int64_t>(n_ranges));
    features(object, tree_versions);
    branches();
    from_.skip_object();  // the list of leaves
    rest_of_tree();
    require(from_.at() == object.end);
    if (tops_ && are_texts_) {
      record_.tops = tops_->finished(leaf_branches_);
    }
    return std::move(record_);
  }

 private:
  struct Named {
    std::string_view name;
    std::string_view title;
  };

  struct Leaf {
    std::string_view name;
    std::optional<LeafRange> range;
    LeafForm form;
    std::size_t counter{};  ///< number of the leaf that counts; 0: none
  };

  /// A branch while it is read: whether it has baskets is known last.
  struct Branch {
    Named named;
    bool has_branches{};
    bool has_offsets{};
    std::int64_t n_told_bytes{};
    BranchRecord record;
    BranchBaskets list;
    std::map<int, BasketOfTree> of_tree;
    std::vector<std::size_t> leaves;  ///< their numbers
    std::string_view class_name{};    ///< of an object; "": it has leaves
    std::int32_t member = -1;         ///< of a class, if it is one
  };

  ObjectStream::Object versioned(Versions versions) {
    const auto object = from_.object();
    require(object.version >= versions.first && object.version <= versions.last);
    return object;
  }

  void add(std::string_view text) {
    record_.structure += text;
    record_.structure += '\0';
  }
  void add(std::span<const std::byte> bytes) {
    add(std::string_view{reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  template <typename T>
  void add_numbers(std::size_t n) {
    add(from_.take(n * sizeof(T)));
  }

  Named named() {
    const auto object = from_.object();
    from_.skip_base();
    Named named{from_.text(), from_.text()};
    add(named.name);
    add(named.title);
    from_.seek(object.end);
    return named;
  }
  void features(const ObjectStream::Object& of, Versions versions) {
    if (of.version == versions.last) {
      const auto object = from_.object();
      add(from_.take(object.end - from_.at()));
    }
  }

  /// Calls `one` for each object of a TObjArray; gives their number.
  template <typename One>
  int each(const One& one) {
    const auto object = from_.object();
    from_.skip_base();
    static_cast<void>(from_.text());
    const auto n = from_.number<std::int32_t>();
    from_.skip<std::int32_t>();  // number of the first
    for (int i = 0; i < n; ++i) {
      one();
    }
    require(from_.at() == object.end);
    return n;
  }

  int branches() {
    require(++depth_ < deepest);
    const auto n = each([this] {
      const auto pointer = from_.pointer();
      add(pointer.type);
      require(pointer.type == "TBranch" || pointer.type == "TBranchElement");
      pointer.type == "TBranch" ? plain_branch(pointer) : element(pointer);
      require(from_.at() == pointer.end);
    });
    add("end");
    --depth_;
    return n;
  }

  void plain_branch(const ObjectStream::Pointer& pointer) {
    const auto place = reserve();
    auto branch = members(pointer);
    finish(place, std::move(branch), false);
  }

  void element(const ObjectStream::Pointer& pointer) {
    constexpr int clones = 3, collection = 4;
    const auto object = from_.object();
    require(object.version == element_version);
    const auto place = reserve();
    auto branch = members(pointer);
    branch.class_name = from_.text();
    add(branch.class_name);
    add(from_.text());             // its parent's class
    add(from_.text());             // that within a TClonesArray
    add_numbers<std::int32_t>(1);  // checksum
    add_numbers<std::int16_t>(1);  // version
    branch.member = from_.number<std::int32_t>();
    add(std::to_string(branch.member));
    const auto type = from_.number<std::int32_t>();
    add(std::to_string(type));
    add_numbers<std::int32_t>(1);  // streamer type
    branch.record.largest_count = from_.number<std::int32_t>();
    counting_branch();  // of objects, of values in them
    counting_branch();
    require(from_.at() == object.end);
    finish(place, std::move(branch), type == clones || type == collection);
  }

  std::size_t reserve() {
    record_.filled.emplace_back();
    record_.baskets.branches.emplace_back();
    return record_.filled.size() - 1;
  }
  void finish(std::size_t place, Branch branch, bool is_collection) {
    record_.most_entries = std::max(record_.most_entries, branch.list.n_entries);
    are_texts_ = are_texts_ && (!tops_ || is_text(branch.named.name));
    if (tops_ && depth_ == 1) {
      add_top(place, branch);
    }
    auto& lists = record_.baskets.branches;
    if (branch.has_branches && !is_collection) {
      record_.filled.erase(record_.filled.begin() + static_cast<std::ptrdiff_t>(place));
      lists.erase(lists.begin() + static_cast<std::ptrdiff_t>(place));
    } else {
      require(std::ranges::all_of(branch.list.baskets, [&](const auto& basket) {
        return basket.seek != 0 || basket.is_in_tree || basket.first_entry >= branch.list.n_entries;
      }));
      record_.filled[place] = std::move(branch.record);
      lists[place] = std::move(branch.list);
    }
  }

  Branch members(const ObjectStream::Pointer& pointer) {
    Branch branch;
    const auto object = versioned(branch_versions);
    branch.named = named();
    names_[pointer.number] = branch.named.name;
    from_.skip_object();          // how it is drawn
    from_.skip<std::int32_t>(2);  // compression, size of baskets
    branch.has_offsets = from_.number<std::int32_t>() != 0;
    add(branch.has_offsets ? "with offsets" : "");
    const auto last_basket = from_.number<std::int32_t>();
    from_.skip<std::int64_t>();
    features(object, branch_versions);
    add_numbers<std::int32_t>(1);  // offset
    const auto n_most = from_.number<std::uint32_t>();
    add_numbers<std::int32_t>(1);  // split level
    branch.list.n_entries = from_.number<std::int64_t>();
    require(from_.number<std::int64_t>() == 0);  // first entry
    branch.n_told_bytes = from_.number<std::int64_t>();
    from_.skip<std::int64_t>();
    branch.has_branches = branches() > 0;
    each([&] {
      branch.leaves.push_back(leaf());
      branch.record.leaves.push_back(leaves_.at(branch.leaves.back()).range);
      leaf_branches_.try_emplace(branch.leaves.back(), branch.named.name);
    });
    int number = 0;
    each([&] { basket_of_tree(number++, branch); });
    baskets(n_most, last_basket, branch);
    require(from_.text().empty());  // another file
    require(from_.at() == object.end);
    return branch;
  }

  /// Where one is: most are records of their own.
  void basket_of_tree(int number, Branch& branch) {
    const auto pointer = from_.pointer();
    if (pointer.number == 0) {
      return;
    }
    require(pointer.type == "TBasket");
    if (auto basket = parse_basket_of_tree(from_, branch.has_offsets)) {
      branch.of_tree[number] = std::move(*basket);
      record_.has_baskets = true;
    }
    require(from_.at() == pointer.end);
  }

  void baskets(std::size_t n_most, int last, Branch& branch) {
    const auto bytes = from_.array<std::int32_t>(n_most);
    const auto starts = from_.array<std::int64_t>(n_most);
    const auto seeks = from_.array<std::int64_t>(n_most);
    const auto n = last < 0 ? 0 : static_cast<std::size_t>(last) + 1;
    require(n <= n_most);
    for (std::size_t i = 0; i < n; ++i) {
      const auto first = big_endian<std::int64_t>(&starts[i * sizeof(std::int64_t)]);
      const auto seek = big_endian<std::int64_t>(&seeks[i * sizeof(std::int64_t)]);
      branch.list.baskets.push_back({first, seek,
                                     big_endian<std::int32_t>(&bytes[i * sizeof(std::int32_t)]),
                                     branch.of_tree.contains(static_cast<int>(i))});
    }
  }

  /// Its number. One of a branch within another may have been read already, as the counter of
  /// others.
  std::size_t leaf() {
    const auto pointer = from_.pointer();
    if (pointer.type.empty()) {
      add_known_leaf(pointer.number);
    } else {
      read_leaf(pointer);
    }
    return pointer.number;
  }
  void add_known_leaf(std::size_t number) {
    const auto leaf = leaves_.find(number);
    require(leaf != leaves_.end());
    add(leaf->second.name);
  }
  void read_leaf(const ObjectStream::Pointer& pointer) {
    add(pointer.type);
    const auto object = from_.object();
    const auto base = from_.object();
    const auto [name, title] = named();
    Leaf leaf{name, {}, {pointer.type, title}};
    leaf.form.n_values = from_.number<std::int32_t>();
    add(std::to_string(leaf.form.n_values));
    add_numbers<std::int32_t>(2);  // size of a value, offset
    add_numbers<std::uint8_t>(1);  // whether it counts others
    leaf.form.is_unsigned = from_.number<std::uint8_t>() != 0;
    add(leaf.form.is_unsigned ? "unsigned" : "");
    leaf.counter = counter();
    leaf.form.is_counted = leaf.counter != 0;
    require(from_.at() == base.end);
    leaf.range = range_of(pointer.type, object.end - from_.at());
    require(from_.at() == object.end && from_.at() == pointer.end);
    leaves_[pointer.number] = leaf;
  }
  /// Number of the leaf that counts; 0: none.
  std::size_t counter() {
    const auto pointer = from_.pointer();
    if (!pointer.type.empty()) {
      require(++depth_of_counters_ < deepest);
      read_leaf(pointer);
      --depth_of_counters_;
    } else if (pointer.number == 0) {
      add("");
    } else {
      add_known_leaf(pointer.number);
    }
    return pointer.number;
  }

  std::optional<LeafRange> range_of(std::string_view type, std::size_t n_bytes) {
    if (type == "TLeafI") {
      return range<std::int32_t>();
    }
    if (type == "TLeafS") {
      return range<std::int16_t>();
    }
    if (type == "TLeafB") {
      return range<std::int8_t>();
    }
    if (type == "TLeafL") {
      return range<std::int64_t>();
    }
    add(from_.take(n_bytes));
    return {};
  }
  template <typename T>
  LeafRange range() {
    const auto least = from_.number<T>();
    return {least, from_.number<T>()};
  }

  /// To a branch that came before: by its name.
  void counting_branch() {
    const auto pointer = from_.pointer();
    const auto name = names_.find(pointer.number);
    require(pointer.type.empty() && (pointer.number == 0 || name != names_.end()));
    add(pointer.number == 0 ? std::string_view{} : name->second);
  }

  void rest_of_tree() {
    from_.skip_pointer();  // aliases
    from_.skip<double>(from_.number<std::uint32_t>());
    from_.skip<std::int32_t>(from_.number<std::uint32_t>());
    for (int others = 0; others < 3; ++others) {  // index, friends, what the user added
      from_.skip_pointer();
    }
    require(from_.pointer().number == 0);  // references between objects
  }

  /// Takes the baskets that are within the record from the branch.
  void add_top(std::size_t place, Branch& branch) {
    TopBranch top{{}, place, branch.has_branches, branch.list.n_entries, branch.n_told_bytes};
    top.of_tree = std::move(branch.of_tree);
    top.layout.name = branch.named.name;
    top.layout.has_offsets = branch.has_offsets;
    if (!branch.class_name.empty()) {
      return tops_->add_object(std::move(top), branch.class_name, branch.member >= 0);
    }
    std::vector<LeafForm> forms;
    for (const auto number : branch.leaves) {
      forms.push_back(leaves_.at(number).form);
    }
    const auto counter = forms.empty() ? 0 : leaves_.at(branch.leaves[0]).counter;
    tops_->add_leaves(std::move(top), branch.named.title, forms, counter);
  }

  ObjectStream from_;
  TreeRecord record_;
  std::optional<TopBranches> tops_;                          ///< none: they are left out
  bool are_texts_ = true;                                    ///< names of branches
  std::unordered_map<std::size_t, std::string_view> names_;  ///< of branches
  std::unordered_map<std::size_t, Leaf> leaves_;
  std::unordered_map<std::size_t, std::string_view> leaf_branches_;
  int depth_{};
  int depth_of_counters_{};
};

}  // namespace

std::optional<TreeRecord> parse_tree_record(std::span<const std::byte> bytes, int key_length,
                                            Tops tops) {
  try {
    return TreeParser{bytes, key_length, tops}.tree();
  } catch (const ObjectStream::Unexpected&) {
    return {};
  }
}

}  // namespace forkrun::root_io
