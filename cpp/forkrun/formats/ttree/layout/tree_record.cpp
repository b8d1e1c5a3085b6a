#include <forkrun/formats/ttree/layout/tree_record.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <forkrun/bytes/big_endian.hpp>
#include <forkrun/bytes/content_digest.hpp>
#include <forkrun/core/data/is_text.hpp>
#include <forkrun/formats/root_file/object_stream.hpp>
#include <forkrun/formats/ttree/layout/basket_lists.hpp>
#include <forkrun/formats/ttree/layout/leaf_parser.hpp>
#include <forkrun/formats/ttree/layout/parsed_branches.hpp>

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

/// In any order.
std::uint32_t digest_of(std::vector<std::string> lines) {
  std::ranges::sort(lines);
  ContentDigest digest;
  for (const auto& line : lines) {
    digest.add(std::as_bytes(std::span{line}));
  }
  return static_cast<std::uint32_t>(digest.value()[1]);
}

/// Reads a tree and its branches; each method one kind of object.
class TreeParser {
 public:
  TreeParser(std::span<const std::byte> bytes, int key_length, PartsOfTree wanted)
      : from_{bytes, key_length}, wants_members_{wanted.members} {
    if (wanted.tops) {
      tops_.emplace();
    }
  }

  TreeRecord tree() {
    const auto object = versioned(tree_versions);
    const auto [name, title] = parse_named(from_, structure_);
    members_.tree().name = name;
    members_.tree().title = title;
    attributes();
    numbers();
    members_.tree().features = features(object, tree_versions);
    branches();
    from_.skip_object();  // the list of leaves
    rest_of_tree();
    require(from_.at() == object.end);
    if (tops_ && are_texts_) {
      record_.tops = tops_->finished(leaf_branches_);
    }
    if (wants_members_ && are_texts_) {
      record_.members = members_.finished();
    }
    record_.structure = structure_.take();
    return std::move(record_);
  }

 private:
  /// A branch while it is read: whether it has baskets is known last.
  struct Branch {
    NamedRecord named;
    bool has_branches{};
    bool has_offsets{};
    std::int64_t n_told_bytes{};
    std::int64_t n_stored_bytes{};
    BranchMembers members;  ///< without texts and leaves
    BranchRecord record;
    BranchBaskets list;
    std::map<int, BasketOfTree> of_tree;
    std::vector<std::size_t> leaves;  ///< their numbers
    MemberForm member{};              ///< of an object; without class: it has leaves
  };

  ObjectStream::Object versioned(Versions versions) {
    const auto object = from_.object();
    require(object.version >= versions.first && object.version <= versions.last);
    return object;
  }

  /// How it is drawn.
  void attributes() {
    const auto begin = from_.at();
    for (int objects = 0; objects < 3; ++objects) {
      from_.skip_object();
    }
    const auto bytes = from_.since(begin);
    members_.tree().attributes.assign(bytes.begin(), bytes.end());
  }

  void numbers() {
    auto& tree = members_.tree();
    record_.baskets.n_entries = from_.number<std::int64_t>();
    from_.skip<std::int64_t>(4);  // bytes
    tree.weight = std::bit_cast<double>(from_.number<std::uint64_t>());
    for (auto* number :
         {&tree.timer_interval, &tree.scan_field, &tree.update, &tree.offsets_length}) {
      *number = from_.number<std::int32_t>();
    }
    const auto n_ranges = from_.number<std::uint32_t>();
    for (auto* number : {&tree.most_entries, &tree.most_entries_in_loop, &tree.most_virtual_size,
                         &tree.auto_save, &tree.auto_flush, &tree.estimate}) {
      *number = from_.number<std::int64_t>();
    }
    static_cast<void>(from_.array<std::int64_t>(n_ranges));
    static_cast<void>(from_.array<std::int64_t>(n_ranges));
  }

  std::uint8_t features(const ObjectStream::Object& of, Versions versions) {
    if (of.version != versions.last) {
      return 0;
    }
    const auto object = from_.object();
    const auto bytes = from_.take(object.end - from_.at());
    require(!bytes.empty());
    structure_.add(bytes);
    return std::to_integer<std::uint8_t>(bytes.back());
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
      structure_.add(pointer.type);
      require(pointer.type == "TBranch" || pointer.type == "TBranchElement");
      pointer.type == "TBranch" ? plain_branch(pointer) : element(pointer);
      require(from_.at() == pointer.end);
    });
    structure_.add("end");
    --depth_;
    return n;
  }

  void plain_branch(const ObjectStream::Pointer& pointer) {
    const auto place = reserve();
    auto branch = this->branch(pointer);
    finish(place, std::move(branch), false);
  }

  void element(const ObjectStream::Pointer& pointer) {
    constexpr int clones = 3, collection = 4;
    const auto object = from_.object();
    require(object.version == element_version);
    const auto place = reserve();
    auto branch = this->branch(pointer);
    branch.member = parse_member_form(from_, structure_);
    branch.record.largest_count = from_.number<std::int32_t>();
    counting_branch();  // of objects, of values in them
    counting_branch();
    require(from_.at() == object.end);
    const auto kind = branch.member.kind;
    const bool is_collection = kind == clones || kind == collection;
    finish(place, std::move(branch), is_collection);
  }

  std::size_t reserve() {
    record_.filled.emplace_back();
    record_.baskets.branches.emplace_back();
    return record_.filled.size() - 1;
  }
  void finish(std::size_t place, Branch branch, bool is_collection) {
    record_.most_entries = std::max(record_.most_entries, branch.list.n_entries);
    sizes_ += {branch.n_told_bytes, branch.n_stored_bytes};
    if (depth_ > 1 && !branch.has_branches && branch.list.n_entries > 0) {
      least_within_ = std::min(least_within_, branch.list.n_entries);
    }
    if (tops_ && branch.list.n_entries > 0 && (!branch.has_branches || is_collection)) {
      lines_.push_back(std::string{branch.named.name} + ' ' + branch.member.class_name + ' ' +
                       std::to_string(branch.member.kind) + ' ' +
                       std::to_string(branch.member.type));
    }
    are_texts_ = are_texts_ && (!(tops_ || wants_members_) || is_text(branch.named.name));
    if (wants_members_) {
      add_members(branch);
    }
    const bool is_holder = branch.has_branches && !is_collection;
    if (is_holder) {
      std::ranges::for_each(within_, [&](auto& each) { each.place -= each.place > place ? 1 : 0; });
    }
    if (tops_ && depth_ == 1) {
      add_top(place, branch);
    } else if (tops_ && !branch.has_branches) {
      within_.push_back(tree_branch(place, branch));
    }
    auto& lists = record_.baskets.branches;
    if (is_holder) {
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

  Branch branch(const ObjectStream::Pointer& pointer) {
    Branch branch;
    const auto object = versioned(branch_versions);
    branch.named = parse_named(from_, structure_);
    names_[pointer.number] = branch.named.name;
    auto& members = branch.members;
    fill(members);
    members.compression = from_.number<std::int32_t>();
    members.basket_size = from_.number<std::int32_t>();
    members.offsets_length = from_.number<std::int32_t>();
    branch.has_offsets = members.offsets_length != 0;
    structure_.add(branch.has_offsets ? "with offsets" : "");
    const auto last_basket = from_.number<std::int32_t>();
    from_.skip<std::int64_t>();
    members.features = features(object, branch_versions);
    members.offset = from_.number<std::int32_t>();
    structure_.add_number(members.offset);
    const auto n_most = from_.number<std::uint32_t>();
    members.split_level = from_.number<std::int32_t>();
    structure_.add_number(members.split_level);
    branch.list.n_entries = from_.number<std::int64_t>();
    require(from_.number<std::int64_t>() == 0);  // first entry
    branch.n_told_bytes = from_.number<std::int64_t>();
    branch.n_stored_bytes = from_.number<std::int64_t>();
    branch.has_branches = branches() > 0;
    each([&] {
      branch.leaves.push_back(leaves_.next());
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

  void fill(BranchMembers& branch) {
    const auto object = from_.object();
    branch.fill_color = from_.number<std::int16_t>();
    branch.fill_style = from_.number<std::int16_t>();
    from_.seek(object.end);
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
      const auto n_bytes = big_endian<std::int32_t>(&bytes[i * sizeof(std::int32_t)]);
      const bool is_in_tree = branch.of_tree.contains(static_cast<int>(i));
      branch.list.baskets.push_back(listed_basket(first, seek, n_bytes, is_in_tree));
    }
  }

  /// To a branch that came before: by its name.
  void counting_branch() {
    const auto pointer = from_.pointer();
    const auto name = names_.find(pointer.number);
    require(pointer.type.empty() && (pointer.number == 0 || name != names_.end()));
    structure_.add(pointer.number == 0 ? std::string_view{} : name->second);
  }

  void rest_of_tree() {
    skip_extra();  // aliases
    from_.skip<double>(from_.number<std::uint32_t>());
    from_.skip<std::int32_t>(from_.number<std::uint32_t>());
    skip_extra();  // index
    record_.has_friends = skip_extra();
    record_.has_user_objects = skip_extra();
    require(from_.pointer().number == 0);  // references between objects
  }

  /// Skips members that plain trees lack; true if there are any.
  bool skip_extra() {
    const auto begin = from_.at();
    from_.skip_pointer();
    const bool is_there = from_.at() != begin + sizeof(std::uint32_t);
    if (is_there) {
      members_.give_up();
    }
    return is_there;
  }

  void add_members(const Branch& branch) {
    if (depth_ > 1 || branch.has_branches || !branch.member.class_name.empty()) {
      return members_.give_up();
    }
    std::vector<PlainMembers::Leaf> leaves;
    for (const auto number : branch.leaves) {
      leaves.push_back({number, &leaves_.at(number)});
    }
    members_.add(branch.members, branch.named.name, branch.named.title, leaves);
  }

  /// Takes the baskets that are within the record from the branch.
  static TopBranch tree_branch(std::size_t place, Branch& branch) {
    TopBranch made{{{},
                    branch.has_branches,
                    branch.list.n_entries,
                    branch.list.n_entries,
                    branch.n_told_bytes,
                    {branch.n_told_bytes, branch.n_stored_bytes},
                    branch.members.compression},
                   place};
    made.of_tree = std::move(branch.of_tree);
    made.layout.name = branch.named.name;
    made.layout.has_offsets = branch.has_offsets;
    made.member = std::move(branch.member);
    return made;
  }

  void add_top(std::size_t place, Branch& branch) {
    auto top = tree_branch(place, branch);
    if (branch.has_branches) {
      top.n_least_entries = std::exchange(least_within_, no_entries);
    }
    top.sizes = std::exchange(sizes_, {});
    top.form = digest_of(std::exchange(lines_, {}));
    top.within = std::exchange(within_, {});
    if (!top.member.class_name.empty()) {
      return tops_->add_object(std::move(top));
    }
    std::vector<LeafForm> forms;
    for (const auto number : branch.leaves) {
      const auto& leaf = leaves_.at(number);
      forms.push_back(leaf.form);
      const bool counts = leaf.counts_others || leaf.form.type == text_leaf;
      top.largest_counts.push_back(counts && leaf.range ? leaf.range->largest : 0);
    }
    const auto counter = forms.empty() ? 0 : leaves_.at(branch.leaves[0]).counter;
    tops_->add_leaves(std::move(top), branch.named.title, forms, counter);
  }

  ObjectStream from_;
  TreeRecord record_;
  StructureText structure_;
  PlainMembers members_;
  bool wants_members_;
  std::optional<TopBranches> tops_;                          ///< none: they are left out
  bool are_texts_ = true;                                    ///< names of branches
  std::unordered_map<std::size_t, std::string_view> names_;  ///< of branches
  LeafParser leaves_{from_, structure_};
  std::unordered_map<std::size_t, std::string_view> leaf_branches_;
  int depth_{};
  std::vector<std::string> lines_;  ///< of the top-level branch
  std::vector<TopBranch> within_;   ///< it
  BranchSizes sizes_;               ///< of the top-level branch
  static constexpr auto no_entries = std::numeric_limits<std::int64_t>::max();
  std::int64_t least_within_ = no_entries;  ///< entries of branches within the one of the tree
};

}  // namespace

std::optional<TreeRecord> parse_tree_record(std::span<const std::byte> bytes, int key_length,
                                            PartsOfTree wanted) {
  try {
    return TreeParser{bytes, key_length, wanted}.tree();
  } catch (const ObjectStream::Unexpected&) {
    return {};
  }
}

}  // namespace forkrun::root_io
