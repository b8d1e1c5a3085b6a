#include <forkrun/formats/ttree/output/output_target.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <TBranch.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/verify/samples.hpp>
#include <forkrun/formats/ttree/write/plain_tree.hpp>
#include <forkrun/formats/ttree/write/root_tree.hpp>

namespace forkrun::root_io {

namespace {

/// None if the tree of the output has something else than numbers.
std::optional<TreeMembers> plain_members(KeptInput* input, const OutputContent& content) {
  if (std::ranges::any_of(content.products,
                          [](const auto& column) { return column.type.is_nested(); })) {
    return {};
  }
  if (input == nullptr) {
    return TreeMembers{};
  }
  auto members = input->first_file().file().plain_members(input->first_file().input_tree().name());
  return members ? std::optional{with_branches(std::move(*members), content.branches)}
                 : std::nullopt;
}

}  // namespace

OutputTarget::OutputTarget(const std::string& path, KeptInput& input, const OutputContent& content)
    : input_{&input},
      own_file_{open_to_write(path, content.compression,
                              content.goes_with_events ? OutputMode::update : OutputMode::create,
                              !needs_root(&input, content))},
      file_{own_file_.get()},
      root_file_{dynamic_cast<OutputFile*>(file_)} {
  add_tree(content);
}

OutputTarget::OutputTarget(RecordFile& file, KeptInput* input, const OutputContent& content)
    : input_{input}, file_{&file}, root_file_{dynamic_cast<OutputFile*>(&file)} {
  add_tree(content);
}

void OutputTarget::add_tree(const OutputContent& content) {
  if (input_ == nullptr) {
    tree_ = new_tree(*file_, content.tree, content.title, content.compression);
  } else if (root_file_ == nullptr) {
    add_plain_tree(content);
  } else {
    add_root_tree(content);
  }
}

bool OutputTarget::needs_root(KeptInput* input, const OutputContent& content) {
  return !plain_members(input, content);
}

OutputTarget::~OutputTarget() = default;

void OutputTarget::add_plain_tree(const OutputContent& content) {
  auto members = plain_members(input_, content).value();
  std::vector<int> compressions;
  std::ranges::transform(members.branches, std::back_inserter(compressions),
                         &BranchMembers::compression);
  auto tree = std::make_unique<PlainTree>(dynamic_cast<PlainFile&>(*file_), content.tree,
                                          with_compression(std::move(members), content.compression),
                                          content.compression);
  const auto& first = input_->first_file().input_tree();
  BranchPlaces places;
  for (std::size_t i = 0; i < compressions.size(); ++i) {
    const auto place = places.next(tree->members().branches[i].name);
    kept_.push_back(
        {{place, 0, described(first.branch(place).layout)}, compressions[i], tree->branch(i)});
  }
  tree_ = std::move(tree);
}

void OutputTarget::add_root_tree(const OutputContent& content) {
  auto& first = input_->first_file();
  auto tree = std::make_unique<RootTree>(*root_file_, root_file_->folder_of(content.tree),
                                         content.tree.substr(content.tree.rfind('/') + 1),
                                         first.tree(), content.branches);
  root_tree_ = &tree->tree();
  tree_ = std::move(tree);
  index_.begin(first.tree());
  BranchPlaces places;
  for (TObject* object : *root_tree_->GetListOfBranches()) {
    auto& branch = static_cast<TBranch&>(*object);
    const auto place = places.next(branch.GetName());
    TBranch& from = *branch_at(first.tree(), place);
    if (is_rewritten(from, [this] { return input_->has_references(); })) {
      add_filled(place, branch, content.compression);
      continue;
    }
    keeps_objects_ = keeps_objects_ || from.IsA() != TBranch::Class();
    const auto all = all_branches(branch);
    for (std::size_t i = 0; i < all.filled.size(); ++i) {
      kept_.push_back({{place, i, described(*all.filled[i])},
                       from.GetCompressionSettings(),
                       RootTree::branch(*all.filled[i])});
    }
    holders_.insert(holders_.end(), all.holders.begin(), all.holders.end());
  }
}

void OutputTarget::add_filled(const BranchPlace& place, TBranch& branch, Compression compression) {
  auto within = all_branches(branch).filled;
  std::vector<BranchWriter> writers;
  for (auto* filled : within) {
    writers.emplace_back(RootTree::branch(*filled), compression);
  }
  const FilledBranch filled{branch, within, writers, *root_file_};  // lists stay where they are
  filled_.push_back({place, std::move(within), std::move(writers), filled});
}

void OutputTarget::open() {
  if (index_.is_wanted()) {
    index_.open(input_->tree());
  }
  if (keeps_objects_) {
    root_file_->describe_classes_of(input_->file());
  }
  for (auto& [place, within, writers, branch] : filled_) {
    branch.open(*branch_at(input_->tree(), place), input_->file().path());
  }
}

void OutputTarget::fill(std::span<const EntryRange> entries) {
  for (const auto& range : entries) {
    index_.add({range.first, range.last});
  }
  for (auto& filled : filled_) {
    filled.branch.add(entries);
  }
}

void OutputTarget::finish(std::int64_t n_entries) {
  if (root_tree_ != nullptr) {
    finish_root_tree(n_entries);
  }
  tree_->write(n_entries);
  if (own_file_) {
    own_file_->close();
  }
}

void OutputTarget::abandon() noexcept {
  tree_.reset();  // else ROOT would delete it with its file
  file_->abandon();
}

/// Friends are stored with a tree for exactly its entries, in their order.
void OutputTarget::finish_root_tree(std::int64_t n_entries) {
  root_tree_->SetEntries(n_entries);
  index_.finish(*root_tree_);
  for (auto& [place, within, writers, branch] : filled_) {
    branch.flush();
    const auto written = branch.written();
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (written[i] != nullptr) {
        sampled_.push_back({{place, i}, &written[i]->samples()});
      }
    }
  }
  if (input_->config().files.size() > 1 || n_entries != input_->first_file().tree().GetEntries()) {
    drop_friends(*root_tree_);
  }
  for (auto* holder : holders_) {
    holder->SetEntries(n_entries);
  }
}

void try_copy(const std::string& path, const std::string& tree,
              const std::vector<std::string>& branches, const std::string& scratch) {
  constexpr std::int64_t n_most = 16;
  const auto n_entries = TreeFile{path}.tree(tree).GetEntries();
  TreeSourceConfig source;
  source.tree = tree;
  source.files = {path};
  source.clusters = {{0, n_entries}};
  SharedInput shared{source, BasketCheck::Depth::headers, {}};
  KeptInput input{shared};
  OutputContent content;
  content.branches = branches;
  content.tree = "trial";
  OutputTarget target{scratch, input, content};
  try {
    input.open(0);
    target.open();
    const EntryRange first{0, 0, std::min<std::int64_t>(n_most, n_entries)};
    target.fill({&first, 1});
  } catch (const OutputError& error) {  // of the objects, which ROOT cannot write
    target.abandon();
    throw InputError(error.what());
  } catch (...) {
    target.abandon();
    throw;
  }
  target.abandon();
}

}  // namespace forkrun::root_io
