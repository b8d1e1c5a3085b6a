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
#include <forkrun/formats/ttree/write/branch_of_root.hpp>
#include <forkrun/formats/ttree/write/branch_samples.hpp>
#include <forkrun/formats/ttree/write/output_schema.hpp>
#include <forkrun/formats/ttree/write/plain_target.hpp>
#include <forkrun/formats/ttree/write/rebuilt_index.hpp>
#include <forkrun/formats/ttree/write/root_target.hpp>

namespace forkrun::root_io {

namespace {

/// Samples of a top-level branch that ROOT fills: the bytes of some entries as ROOT has put them
/// into its baskets, before it compresses and writes these.
class FilledSamples {
 public:
  FilledSamples(BranchPlace place, TBranch& branch);

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
    int begin{};  ///< of the entry in the basket; 0: behind its header
    std::size_t number{};
  };

  BranchPlace place_;
  TBranch& branch_;
  std::vector<Filled> filled_;
  std::size_t turn_ = 0;
};

FilledSamples::FilledSamples(BranchPlace place, TBranch& branch)
    : place_{std::move(place)}, branch_{branch} {
  for (auto* filled : all_branches(branch).filled) {
    if (filled->IsA() == TBranch::Class() || filled->IsA() == TBranchElement::Class()) {
      filled_.push_back({filled, BranchSamples{filled->GetName()}});
    }
  }
}

bool FilledSamples::fill(std::int64_t number) {
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

void FilledSamples::finish() {
  const auto written = all_branches(branch_).filled;
  std::erase_if(filled_, [&](auto& filled) {
    const auto at = std::ranges::find(written, filled.branch);
    filled.number = static_cast<std::size_t>(at - written.begin());
    return at == written.end();
  });
}

std::vector<SampledBranch> FilledSamples::sampled() const {
  std::vector<SampledBranch> branches;
  for (const auto& filled : filled_) {
    branches.push_back({{place_, filled.number}, &filled.samples});
  }
  return branches;
}

std::vector<int> compressions_of(const TreeMembers& tree) {
  std::vector<int> compressions;
  std::ranges::transform(tree.branches, std::back_inserter(compressions),
                         &BranchMembers::compression);
  return compressions;
}

class PlainOutput final : public OutputTarget {
 public:
  PlainOutput(std::unique_ptr<PlainFile> file, const std::string& tree, TreeMembers members,
              Compression compression)
      : compressions_{compressions_of(members)},
        target_{std::move(file), tree, with_compression(std::move(members), compression),
                compression} {}

  [[nodiscard]] TreeTarget& tree() override { return target_; }
  [[nodiscard]] std::vector<KeptTarget> take_kept() override {
    std::vector<KeptTarget> kept;
    const auto& branches = target_.tree().members().branches;
    BranchPlaces places;
    for (std::size_t i = 0; i < branches.size(); ++i) {
      kept.push_back({{places.next(branches[i].name)}, compressions_[i], target_.tree().branch(i)});
    }
    return kept;
  }

 private:
  std::vector<int> compressions_;  ///< in the input
  PlainTarget target_;
};

class RootOutput final : public OutputTarget {
 public:
  RootOutput(const std::string& path, KeptInput& input, const OutputContent& content)
      : input_{input},
        target_{path,
                content.tree,
                input.first_file().tree(),
                content.branches,
                content.compression,
                content.goes_with_events ? OutputMode::update : OutputMode::create} {
    index_.begin(input.first_file().tree());
  }

  [[nodiscard]] TreeTarget& tree() override { return target_; }
  [[nodiscard]] bool keeps_objects() const override { return keeps_objects_; }
  [[nodiscard]] std::vector<KeptTarget> take_kept() override;
  void open() override;
  void fill(std::span<const EntryRange> entries) override;
  void finish(std::int64_t n_entries) override;
  [[nodiscard]] std::vector<SampledBranch> sampled() const override;

 private:
  struct RootCopy {
    BranchPlace from;
    TBranch* to;
    FilledSamples samples;
  };

  KeptInput& input_;
  RootTarget target_;
  RebuiltIndex index_;
  bool keeps_objects_ = false;     ///< as bytes
  std::vector<RootCopy> objects_;  ///< branches that ROOT copies
};

std::vector<KeptTarget> RootOutput::take_kept() {
  std::vector<KeptTarget> kept;
  std::vector<TBranch*> holders;
  auto& first = input_.first_file();
  BranchPlaces places;
  for (TObject* object : *target_.tree().GetListOfBranches()) {
    auto& branch = static_cast<TBranch&>(*object);
    const auto place = places.next(branch.GetName());
    TBranch& from = *branch_at(first.tree(), place);
    if (is_rewritten(from, first.file())) {
      objects_.push_back({place, &branch, {place, branch}});
      continue;
    }
    keeps_objects_ = keeps_objects_ || from.IsA() != TBranch::Class();
    const auto all = all_branches(branch);
    for (std::size_t i = 0; i < all.filled.size(); ++i) {
      kept.push_back({{place, i, described(*all.filled[i])},
                      from.GetCompressionSettings(),
                      branch_of_root(*all.filled[i])});
    }
    holders.insert(holders.end(), all.holders.begin(), all.holders.end());
  }
  target_.set_holders(std::move(holders));
  return kept;
}

void RootOutput::open() {
  if (index_.is_wanted()) {
    index_.open(input_.tree());
  }
  if (keeps_objects_) {
    target_.output().describe_classes_of(input_.file());
  }
  const TDirectory::TContext nowhere{nullptr};  // else histograms in branches belong to the file
  for (const auto& [from, to, samples] : objects_) {
    to->ResetAddress();  // it was that of a branch of the file before
    share_address(*branch_at(input_.tree(), from), *to);
  }
}

void RootOutput::fill(std::span<const EntryRange> entries) {
  const TDirectory::TContext nowhere{nullptr};
  for (const auto& range : entries) {
    index_.add({range.first, range.last});
  }
  const CapturedMessages messages;
  for (auto& [place, to, samples] : objects_) {
    TBranch& from = *branch_at(input_.tree(), place);
    const auto first = to->GetEntries();
    const auto last = first + n_events_of(entries) - 1;
    const bool is_sampled = samples.takes_part();
    bool is_read = true;
    bool is_written = true;
    for (const auto& range : entries) {
      for (auto entry = range.first; is_read && is_written && entry < range.last; ++entry) {
        const auto number = to->GetEntries();
        is_read = from.GetEntry(entry, 1) >= 0 && messages.first_error().empty();
        if (is_read && is_sampled && (number == first || number == last)) {
          is_written = samples.fill(number);
        } else if (is_read) {
          is_written = to->Fill() >= 0;
        }
      }
    }
    const auto why = messages.first_error();  // ROOT goes on
    const auto what = ": branch \"" + place.name + "\" cannot be copied";
    const auto text = what + (why.empty() ? "" : ": " + why);
    if (!is_read) {
      throw InputError(input_.file().path() + text);
    }
    if (!is_written || !why.empty()) {
      throw OutputError(target_.output().path() + text);
    }
  }
}

/// Friends are stored with a tree for just its entries, in their order.
void RootOutput::finish(std::int64_t n_entries) {
  auto& tree = target_.tree();
  tree.SetEntries(n_entries);
  index_.finish(tree);
  for (auto& copy : objects_) {
    copy.samples.finish();
  }
  if (input_.config().files.size() > 1 || n_entries != input_.first_file().tree().GetEntries()) {
    drop_friends(tree);
  }
}

std::vector<SampledBranch> RootOutput::sampled() const {
  std::vector<SampledBranch> branches;
  for (const auto& copy : objects_) {
    std::ranges::copy(copy.samples.sampled(), std::back_inserter(branches));
  }
  return branches;
}

/// Of the tree of an output that has nothing but numbers; none otherwise.
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

std::unique_ptr<OutputTarget> OutputTarget::make(const std::string& path, KeptInput& input,
                                                 const OutputContent& content) {
  if (auto members = plain_members(input, content)) {
    auto file = content.goes_with_events ? reopen_with_trees(path)
                                         : std::make_unique<PlainFile>(path, content.compression);
    if (file) {
      return std::make_unique<PlainOutput>(std::move(file), content.tree, std::move(*members),
                                           content.compression);
    }
  }
  return std::make_unique<RootOutput>(path, input, content);
}

}  // namespace forkrun::root_io
