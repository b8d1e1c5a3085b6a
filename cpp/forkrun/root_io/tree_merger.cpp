#include <forkrun/root_io/tree_merger.hpp>

#include <algorithm>
#include <set>

#include <TBranch.h>
#include <TLeaf.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/branch_reader.hpp>
#include <forkrun/root_io/output_schema.hpp>

namespace forkrun::root_io {

namespace {

constexpr std::int64_t chunk_bytes = 4 << 20;
constexpr std::int64_t recompressed_entries = 1 << 14;

std::vector<std::string> described_branches(TTree& tree) {
  std::vector<std::string> names;
  for (const auto& layout : layouts_of(tree)) {
    names.push_back(layout.name + " (" + layout.described_type() + ")");
  }
  return names;
}

TBranch& branch_at(TTree& tree, std::size_t i) {
  return static_cast<TBranch&>(*tree.GetListOfBranches()->At(static_cast<int>(i)));
}

std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t n_shown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), n_shown); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() > n_shown ? text + " and " + std::to_string(names.size() - n_shown) + " more"
                                : text;
}

std::vector<std::string> missing_from(const std::vector<std::string>& these,
                                      const std::vector<std::string>& those) {
  const std::set<std::string> known{those.begin(), those.end()};
  std::vector<std::string> missing;
  std::ranges::copy_if(these, std::back_inserter(missing),
                       [&](const auto& name) { return !known.contains(name); });
  return missing;
}

}  // namespace

TreeMerger::TreeMerger(OutputFile& output, std::string path, std::optional<Compression> recompress)
    : output_{output}, path_{std::move(path)}, recompress_{recompress} {}

void TreeMerger::start(TTree& tree) {
  for (const auto& layout : layouts_of(tree)) {
    is_relocatable_ = is_relocatable_ && layout.relocatable;
  }
  std::vector<std::string> all;
  for (TObject* branch : *tree.GetListOfBranches()) {
    all.emplace_back(branch->GetName());
  }
  tree_ = &copy_structure(tree, all, output_.folder_of(path_));
  for (std::size_t i = 0; i < all.size(); ++i) {
    TBranch& branch = branch_at(*tree_, i);
    const auto old = Compression{branch.GetCompressionAlgorithm(), branch.GetCompressionLevel()};
    writers_.emplace_back(branch, recompress_.value_or(old));
  }
}

void TreeMerger::add(TTree& tree, InputFile& file) {
  if (tree_ == nullptr) {
    first_path_ = file.path();
    names_ = described_branches(tree);
    start(tree);
  }
  check_structure(tree, file);
  if (!is_relocatable_) {
    if (recompress_) {
      tree.CopyAddresses(tree_);
    }
    if (tree_->CopyEntries(&tree, -1, recompress_ ? "" : "fast") < 0) {
      throw InputError(file.path() + ": tree \"" + tree.GetName() + "\" cannot be copied");
    }
  } else if (recompress_) {
    rewrite_all(tree, file);
  } else {
    copy_baskets(tree, file);
  }
  include_ranges(tree);
  n_entries_ += tree.GetEntries();
}

void TreeMerger::check_structure(TTree& tree, const InputFile& file) const {
  const auto names = described_branches(tree);
  if (names == names_) {
    return;
  }
  const auto lacking = missing_from(names_, names);
  const auto extra = missing_from(names, names_);
  throw InputError(file.path() + ": tree \"" + tree.GetName() + "\" differs from that of " +
                   first_path_ + (lacking.empty() ? "" : "; it lacks " + some_of(lacking)) +
                   (extra.empty() ? "" : "; it has also " + some_of(extra)) +
                   (lacking.empty() && extra.empty() ? "; its branches have another order" : ""));
}

/// Largest counts: readers make room for as many values.
void TreeMerger::include_ranges(TTree& tree) {
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    const auto& from = *branch_at(tree, i).GetListOfLeaves();
    const auto& to = *branch_at(*tree_, i).GetListOfLeaves();
    for (int leaf = 0; leaf < to.GetEntriesFast(); ++leaf) {
      static_cast<TLeaf*>(to.At(leaf))->IncludeRange(static_cast<TLeaf*>(from.At(leaf)));
    }
  }
}

std::vector<TreeMerger::BasketPlace> TreeMerger::places_of(TTree& tree) const {
  std::vector<BasketPlace> places;
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    const TBranch& branch = branch_at(tree, i);
    for (int basket = 0; basket <= branch.GetWriteBasket(); ++basket) {
      const auto first = branch.GetBasketEntry()[basket];
      if (first < branch.GetEntries()) {
        places.push_back(
            {i, branch.GetBasketSeek(basket), branch.GetBasketBytes()[basket], first, {}, 0});
      }
    }
  }
  std::ranges::stable_sort(places, {}, &BasketPlace::seek);
  return places;
}

void TreeMerger::copy_baskets(TTree& tree, InputFile& file) {
  auto places = places_of(tree);
  const auto on_file =
      std::ranges::find_if(places, [](const auto& place) { return place.seek != 0; });
  for (auto begin = on_file; begin != places.end();) {
    auto end = begin + 1;
    while (end != places.end() && end->seek == (end - 1)->seek + (end - 1)->n_bytes &&
           end->seek + end->n_bytes - begin->seek <= chunk_bytes) {
      ++end;
    }
    copy_chunk(file, {begin, end});
    begin = end;
  }
  std::ranges::stable_sort(
      places, {}, [](const auto& place) { return std::pair{place.branch, place.first_entry}; });
  for (const auto& place : places) {
    if (place.seek == 0) {  // kept within the tree's own record
      rewrite(tree, file, place.branch, place.first_entry);
    } else {
      writers_[place.branch].enter(place.header, place.new_place);
    }
  }
}

/// Baskets that follow each other on file.
void TreeMerger::copy_chunk(InputFile& file, std::span<BasketPlace> chunk) {
  const auto n_bytes =
      static_cast<std::size_t>(chunk.back().seek + chunk.back().n_bytes - chunk.front().seek);
  const auto bytes = chunk_.resize(n_bytes);
  file.read(chunk.front().seek, bytes);
  const auto place = output_.allocate(n_bytes);
  for (auto& basket : chunk) {
    const auto offset = basket.seek - chunk.front().seek;
    const auto record =
        bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(basket.n_bytes));
    basket.header = parse_basket_header(record);
    basket.new_place = place + offset;
    place_basket(record, basket.new_place, output_.seek_directory());
  }
  output_.write(place, bytes);
}

void TreeMerger::rewrite(TTree& tree, InputFile& file, std::size_t branch, std::int64_t first) {
  BranchReader reader{branch_at(tree, branch), file};
  const EntryRun run{first, reader.basket_end(first)};
  writers_[branch].copy(reader, {&run, 1});
  writers_[branch].encode();
  writers_[branch].write(output_);
}

void TreeMerger::rewrite_all(TTree& tree, InputFile& file) {
  std::vector<std::unique_ptr<BranchReader>> readers;
  for (std::size_t i = 0; i < writers_.size(); ++i) {
    readers.push_back(std::make_unique<BranchReader>(branch_at(tree, i), file));
  }
  for (std::int64_t first = 0; first < tree.GetEntries(); first += recompressed_entries) {
    const EntryRun run{first,
                       std::min<std::int64_t>(first + recompressed_entries, tree.GetEntries())};
    for (std::size_t i = 0; i < writers_.size(); ++i) {
      writers_[i].copy(*readers[i], {&run, 1});
      writers_[i].encode();
      writers_[i].write(output_);
    }
  }
}

std::int64_t TreeMerger::finish() {
  if (is_relocatable_) {
    for (auto& writer : writers_) {
      writer.finish();
    }
    tree_->SetEntries(n_entries_);
  }
  return n_entries_;
}

}  // namespace forkrun::root_io
