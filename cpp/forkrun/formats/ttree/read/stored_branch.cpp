#include <forkrun/formats/ttree/read/stored_branch.hpp>

#include <algorithm>
#include <limits>

#include <TBasket.h>
#include <TBranch.h>
#include <TBufferFile.h>
#include <TTree.h>
#include <ROOT/TIOFeatures.hxx>

#include <forkrun/bytes/zip.hpp>
#include <forkrun/core/data/counted.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/read/input_tree.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

namespace {

/// An entry that takes no byte does not exist: of a jagged branch it has its offset.
std::int64_t most_entries(std::int32_t n_bytes) {
  return static_cast<std::int64_t>(n_bytes) * static_cast<std::int64_t>(largest_ratio);
}

std::string wrong_with(const StoredBasket& basket, std::int64_t n_file_bytes) {
  if (basket.seek == 0) {
    return "";
  }
  if (basket.seek < 0 || basket.n_bytes <= 0 || basket.seek > n_file_bytes - basket.n_bytes) {
    return "the tree says that the basket is at byte " + std::to_string(basket.seek) + " with " +
           counted(basket.n_bytes, "byte") + ", the file has " + std::to_string(n_file_bytes);
  }
  if (basket.n_entries > most_entries(basket.n_bytes)) {
    return "the tree says that the basket has " + counted(basket.n_entries, "entry", "entries") +
           " in " + counted(basket.n_bytes, "byte");
  }
  return "";
}

/// Whether a basket of the first branch of this name is there.
bool is_listed(std::int64_t seek, const std::string& name, const InputTree& tree) {
  return tree.has(name) &&
         std::ranges::count(tree.branch(name).baskets, seek, &StoredBasket::seek) > 0;
}

}  // namespace

std::string at_basket(const TreeFile& file, const std::string& branch, std::int64_t first_entry,
                      const std::string& what) {
  return file.path() + ": branch " + branch + ", basket at entry " + std::to_string(first_entry) +
         ": " + what;
}

void throw_damaged(const TreeFile& file, const std::string& branch, std::int64_t first_entry,
                   const std::string& what) {
  throw InputError(at_basket(file, branch, first_entry, what));
}

std::vector<StoredBasket> checked_baskets(const BranchBaskets& listed, const std::string& branch,
                                          const TreeFile& file) {
  const auto& [n_entries, list] = listed;
  if (n_entries < 0 || (n_entries > 0 && list.empty())) {
    throw_damaged(file, branch, 0,
                  "the tree says that it has " + counted(n_entries, "entry", "entries") + " in " +
                      counted(list.size(), "basket"));
  }
  std::vector<StoredBasket> baskets;
  for (int i = 0; const auto& basket : list) {
    if (basket.first_entry >= n_entries) {
      break;
    }
    const std::int64_t before = baskets.empty() ? 0 : baskets.back().first_entry;
    if (basket.first_entry < before || (i == 0 && basket.first_entry != 0)) {
      throw_damaged(file, branch, before, "the baskets of the tree are not in order");
    }
    if (!baskets.empty() && basket.first_entry == before) {
      baskets.pop_back();  // it is empty
    }
    baskets.push_back({i++, basket.first_entry, 0, basket.seek, basket.n_bytes});
  }
  for (std::size_t i = 0; i < baskets.size(); ++i) {
    const auto end = i + 1 < baskets.size() ? baskets[i + 1].first_entry : n_entries;
    baskets[i].n_entries = end - baskets[i].first_entry;
    if (const auto wrong = wrong_with(baskets[i], file.size()); !wrong.empty()) {
      throw_damaged(file, branch, baskets[i].first_entry, wrong);
    }
  }
  return baskets;
}

BasketHeader checked_header(std::span<const std::byte> record, const StoredBasket& basket,
                            const StoredBranch& branch) {
  const auto header = parse_basket_header(record);
  if (header.n_bytes != basket.n_bytes || header.seek_key != basket.seek) {
    throw Error("the record at byte " + std::to_string(basket.seek) +
                " is not that of the basket, which has " + counted(basket.n_bytes, "byte") +
                ": it says that it has " + std::to_string(header.n_bytes) + " at byte " +
                std::to_string(header.seek_key));
  }
  const std::string name{basket_name(record)};  // of a branch that was renamed: its earlier name
  const auto& own = branch.stored_name.empty() ? branch.layout.name : branch.stored_name;
  if (name != own && is_listed(basket.seek, name, *branch.tree)) {
    throw Error("the record at byte " + std::to_string(basket.seek) + " belongs to branch " + name);
  }
  if (header.n_entries != basket.n_entries) {
    throw Error("it has " + counted(header.n_entries, "entry", "entries") +
                " where the tree says " + std::to_string(basket.n_entries));
  }
  return header;
}

namespace {

BranchBaskets listed_baskets(TBranch& branch) {
  BranchBaskets list{branch.GetEntries(), {}};
  const auto* starts = branch.GetBasketEntry();
  const auto* bytes = branch.GetBasketBytes();
  const int n_baskets = branch.GetWriteBasket() + 1;
  if (starts == nullptr || bytes == nullptr || n_baskets > branch.GetMaxBaskets()) {
    return list;
  }
  for (int i = 0; i < n_baskets; ++i) {
    const bool is_in_tree = branch.GetListOfBaskets()->At(i) != nullptr;
    list.baskets.push_back(listed_basket(starts[i], branch.GetBasketSeek(i), bytes[i], is_in_tree));
  }
  return list;
}

/// A small last basket may be kept within the tree's own record instead of a record of its own.
BasketOfTree basket_of_tree(TBranch& branch, const StoredBasket& stored, bool has_offsets) {
  auto* basket = dynamic_cast<TBasket*>(branch.GetListOfBaskets()->At(stored.number));
  if (basket == nullptr || basket->GetBufferRef() == nullptr) {
    throw Error("the basket is missing");
  }
  const auto key_length = basket->GetKeylen();
  const auto last = basket->GetLast();
  const auto* buffer = basket->GetBufferRef();
  if (key_length < 0 || last < key_length || last > buffer->BufferSize() ||
      basket->GetNevBuf() != stored.n_entries) {
    throw Error("a basket is damaged: its sizes do not agree");
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer->Buffer());
  BasketOfTree copy{stored.n_entries, {bytes + key_length, bytes + last}};
  if (!has_offsets ||
      branch.GetIOFeatures().Test(ROOT::Experimental::EIOFeatures::kGenerateOffsetMap)) {
    return copy;  // ROOT makes them of counts that it takes from where it reads
  }
  const auto* offsets = basket->GetEntryOffset();
  if (offsets == nullptr || basket->GetNevBuf() > basket->GetNevBufSize()) {
    throw Error("a basket has no offsets of its entries");
  }
  copy.offsets.assign(offsets, offsets + basket->GetNevBuf());
  copy.offsets.push_back(last);
  move_offsets(copy.offsets, key_length);
  return copy;
}

std::int64_t least_entries_within(TBranch& top) {
  auto least = std::numeric_limits<std::int64_t>::max();
  for (auto* branch : all_branches(top).filled) {
    if (branch->GetListOfBranches()->GetEntriesFast() == 0) {
      least = std::min(least, static_cast<std::int64_t>(branch->GetEntries()));
    }
  }
  return least;
}

}  // namespace

TreeBaskets baskets_of(TTree& tree, const std::vector<TBranch*>& branches) {
  TreeBaskets lists{tree.GetEntries(), {}};
  for (auto* branch : branches) {
    lists.branches.push_back(listed_baskets(*branch));
  }
  return lists;
}

StoredBranch stored_branch(TBranch& branch, const InputTree& tree, const TreeFile& file) {
  StoredBranch stored{{layout_of(branch)}, &tree};
  stored.is_split = branch.GetListOfBranches()->GetEntriesFast() > 0;
  stored.n_entries = branch.GetEntries();
  stored.n_least_entries = stored.is_split ? least_entries_within(branch) : stored.n_entries;
  stored.n_told_bytes = branch.GetTotBytes();
  stored.sizes = {branch.GetTotBytes("*"), branch.GetZipBytes("*")};
  stored.compression = branch.GetCompressionSettings();
  stored.largest_counts = largest_told_counts(branch);
  if (has_baskets(branch)) {
    stored.baskets = checked_baskets(listed_baskets(branch), stored.layout.name, file);
  }
  for (const auto& basket : stored.baskets) {
    if (basket.seek == 0) {
      try {
        stored.of_tree[basket.number] = basket_of_tree(branch, basket, stored.layout.has_offsets);
      } catch (const Error& error) {
        throw_damaged(file, stored.layout.name, basket.first_entry, error.what());
      }
    }
  }
  return stored;
}

}  // namespace forkrun::root_io
