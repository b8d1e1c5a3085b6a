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

#include <TBasket.h>
#include <TBranch.h>
#include <TBranchElement.h>
#include <TBuffer.h>
#include <TDirectory.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/unit_of_work.hpp>
#include <forkrun/formats/ttree/layout/branch_layout.hpp>
#include <forkrun/formats/ttree/verify/samples.hpp>
#include <forkrun/formats/ttree/write/branch_samples.hpp>
#include <forkrun/formats/ttree/write/plain_tree.hpp>
#include <forkrun/formats/ttree/write/root_tree.hpp>

namespace forkrun::root_io {

namespace {

/// None if the tree of the output has something else than numbers.
std::optional<TreeMembers> plain_members(KeptInput& input, const OutputContent& content) {
  if (std::ranges::any_of(content.products,
                          [](const auto& column) { return column.type.is_nested(); })) {
    return {};
  }
  auto members = input.first_file().file().plain_members(input.first_file().input_tree().name());
  return members ? std::optional{with_branches(std::move(*members), content.branches)}
                 : std::nullopt;
}

}  // namespace

/// A top-level branch that ROOT reads and fills, with samples: the bytes of some entries as ROOT
/// has put them into its baskets, before it compresses and writes these.
class OutputTarget::RootCopy {
 public:
  RootCopy(BranchPlace place, TBranch& branch);

  [[nodiscard]] const BranchPlace& place() const { return place_; }
  [[nodiscard]] TBranch& branch() const { return branch_; }

  /// Whether the ends of what is filled next are sampled: for the first time, and one in
  /// `BranchSamples::period` times.
  [[nodiscard]] bool takes_part() { return turn_++ % BranchSamples::period == 0; }
  /// Fills entry `number` and notes it, but where it has filled a basket; false: ROOT refuses.
  [[nodiscard]] bool fill(std::int64_t number);
  /// Everything was filled: finds the places of the branches in the tree that is written.
  void finish();
  /// What the file has to hold.
  [[nodiscard]] std::vector<SampledBranch> sampled() const;

 private:
  struct Filled {
    TBranch* branch;
    BranchSamples samples;
    int basket{};
    int begin{};  ///< of the entry in the basket; 0: after its header
    std::size_t number{};
  };

  BranchPlace place_;
  TBranch& branch_;
  std::vector<Filled> filled_;
  std::size_t turn_ = 0;
};

OutputTarget::RootCopy::RootCopy(BranchPlace place, TBranch& branch)
    : place_{std::move(place)}, branch_{branch} {
  for (auto* filled : all_branches(branch).filled) {
    if (filled->IsA() == TBranch::Class() || filled->IsA() == TBranchElement::Class()) {
      filled_.push_back({filled, BranchSamples{filled->GetName()}});
    }
  }
}

bool OutputTarget::RootCopy::fill(std::int64_t number) {
  for (auto& filled : filled_) {
    filled.basket = filled.branch->GetWriteBasket();
    const auto* basket = filled.branch->GetBasket(filled.basket);
    filled.begin = basket == nullptr ? 0 : basket->GetBufferRef()->Length();
  }
  if (branch_.Fill() < 0) {
    return false;
  }
  for (auto& filled : filled_) {
    if (filled.branch->GetWriteBasket() != filled.basket) {
      continue;  // it is on file
    }
    const auto* basket = filled.branch->GetBasket(filled.basket);
    if (basket == nullptr) {
      continue;  // it has no entries: ROOT leaves the branch out
    }
    const auto* buffer = basket->GetBufferRef();
    const auto begin = filled.begin == 0 ? basket->GetKeylen() : filled.begin;
    const std::span bytes{buffer->Buffer(), static_cast<std::size_t>(buffer->Length())};
    filled.samples.note_passed(number,
                               std::as_bytes(bytes.subspan(static_cast<std::size_t>(begin))));
  }
  return true;
}

void OutputTarget::RootCopy::finish() {
  const auto written = all_branches(branch_).filled;
  std::erase_if(filled_, [&](auto& filled) {
    const auto at = std::ranges::find(written, filled.branch);
    filled.number = static_cast<std::size_t>(at - written.begin());
    return at == written.end();
  });
}

std::vector<SampledBranch> OutputTarget::RootCopy::sampled() const {
  std::vector<SampledBranch> branches;
  for (const auto& filled : filled_) {
    branches.push_back({{place_, filled.number}, &filled.samples});
  }
  return branches;
}

OutputTarget::OutputTarget(const std::string& path, KeptInput& input, const OutputContent& content)
    : input_{input} {
  if (auto members = plain_members(input, content)) {
    auto file = content.goes_with_events ? reopen_with_trees(path)
                                         : std::make_unique<PlainFile>(path, content.compression);
    if (file) {
      add_plain_tree(*file, content, std::move(*members));
      file_ = std::move(file);
      return;
    }
  }
  const auto mode = content.goes_with_events ? OutputMode::update : OutputMode::create;
  auto file = std::make_unique<OutputFile>(path, content.compression, mode);
  root_file_ = file.get();
  file_ = std::move(file);
  add_root_tree(content);
}

OutputTarget::~OutputTarget() = default;

void OutputTarget::add_plain_tree(PlainFile& file, const OutputContent& content,
                                  TreeMembers members) {
  std::vector<int> compressions;
  std::ranges::transform(members.branches, std::back_inserter(compressions),
                         &BranchMembers::compression);
  auto tree = std::make_unique<PlainTree>(file, content.tree,
                                          with_compression(std::move(members), content.compression),
                                          content.compression);
  BranchPlaces places;
  for (std::size_t i = 0; i < compressions.size(); ++i) {
    const auto& name = tree->members().branches[i].name;
    kept_.push_back({{places.next(name)}, compressions[i], tree->branch(i)});
  }
  tree_ = std::move(tree);
}

void OutputTarget::add_root_tree(const OutputContent& content) {
  auto& first = input_.first_file();
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
    if (is_rewritten(from, first.file())) {
      copies_.emplace_back(place, branch);
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

void OutputTarget::open() {
  if (index_.is_wanted()) {
    index_.open(input_.tree());
  }
  if (keeps_objects_) {
    root_file_->describe_classes_of(input_.file());
  }
  if (copies_.empty()) {
    return;
  }
  const TDirectory::TContext nowhere{nullptr};  // else histograms in branches belong to the file
  for (const auto& copy : copies_) {
    copy.branch().ResetAddress();  // it was that of a branch of the file before
    share_address(*branch_at(input_.tree(), copy.place()), copy.branch());
  }
}

void OutputTarget::fill(std::span<const EntryRange> entries) {
  if (root_tree_ == nullptr) {
    return;
  }
  const TDirectory::TContext nowhere{nullptr};
  for (const auto& range : entries) {
    index_.add({range.first, range.last});
  }
  const CapturedMessages messages;
  for (auto& copy : copies_) {
    TBranch& from = *branch_at(input_.tree(), copy.place());
    TBranch& to = copy.branch();
    const auto first = to.GetEntries();
    const auto last = first + n_events_of(entries) - 1;
    const bool is_sampled = copy.takes_part();
    bool is_read = true;
    bool is_written = true;
    for (const auto& range : entries) {
      for (auto entry = range.first; is_read && is_written && entry < range.last; ++entry) {
        const auto number = to.GetEntries();
        is_read = from.GetEntry(entry, 1) >= 0 && messages.first_error().empty();
        if (is_read && is_sampled && (number == first || number == last)) {
          is_written = copy.fill(number);
        } else if (is_read) {
          is_written = to.Fill() >= 0;
        }
      }
    }
    const auto why = messages.first_error();  // ROOT continues
    const auto what = ": branch \"" + copy.place().name + "\" cannot be copied";
    const auto text = what + (why.empty() ? "" : ": " + why);
    if (!is_read) {
      throw InputError(input_.file().path() + text);
    }
    if (!is_written || !why.empty()) {
      throw OutputError(root_file_->path() + text);
    }
  }
}

void OutputTarget::finish(std::int64_t n_entries) {
  if (root_tree_ != nullptr) {
    finish_root_tree(n_entries);
  }
  tree_->write(n_entries);
  file_->close();
}

void OutputTarget::abandon() noexcept {
  tree_.reset();  // else ROOT would delete it with its file
  file_->abandon();
}

/// Friends are stored with a tree for exactly its entries, in their order.
void OutputTarget::finish_root_tree(std::int64_t n_entries) {
  root_tree_->SetEntries(n_entries);
  index_.finish(*root_tree_);
  for (auto& copy : copies_) {
    copy.finish();
  }
  if (input_.config().files.size() > 1 || n_entries != input_.first_file().tree().GetEntries()) {
    drop_friends(*root_tree_);
  }
  for (auto* holder : holders_) {
    holder->SetEntries(n_entries);
  }
}

std::vector<SampledBranch> OutputTarget::sampled() const {
  std::vector<SampledBranch> branches;
  for (const auto& copy : copies_) {
    std::ranges::copy(copy.sampled(), std::back_inserter(branches));
  }
  return branches;
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
