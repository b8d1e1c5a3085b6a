#include <forkrun/root_io/read/input_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <new>
#include <set>

#include <TBranch.h>
#include <TChain.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/root_io/content_digest.hpp>
#include <forkrun/root_io/format/key_check.hpp>
#include <forkrun/root_io/format/leaf_form.hpp>
#include <forkrun/root_io/format/output_descriptor.hpp>
#include <forkrun/root_io/format/tree_record.hpp>
#include <forkrun/root_io/local_io.hpp>
#include <forkrun/root_io/read/directory_keys.hpp>
#include <forkrun/root_io/read/input_tree.hpp>
#include <forkrun/root_io/read/is_text.hpp>
#include <forkrun/root_io/start_root.hpp>
#include <forkrun/root_io/write/file_record.hpp>

namespace forkrun::root_io {

namespace {

std::string because(const std::string& reason) { return reason.empty() ? "" : ": " + reason; }

/// Without its UUID. \throws InputError if it is a pipe or the like: those have no size.
FileIdentity identity_of(int descriptor, const std::string& path) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) {
    throw InputError(path + ": cannot be read: " + std::strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    throw InputError(path + ": is not a regular file");
  }
  constexpr std::int64_t ns = 1'000'000'000;
  return {"", status.st_size, status.st_mtim.tv_sec * ns + status.st_mtim.tv_nsec};
}

std::string cannot_read(const std::string& path, std::int64_t offset, const std::string& why) {
  return path + ": cannot be read at byte " + std::to_string(offset) + ": " + why;
}

[[noreturn]] void throw_cannot_open(const std::string& path) {
  throw InputError(path + ": cannot be opened: " + std::strerror(errno));
}

/// A file of this machine. TFile takes every path for a URL and would cut it at `#` and `?`. And it
/// goes on with what it could not read: here that is an exception.
class LocalFile final : public TFile {
 public:
  /// "NET": it is open already. \throws InputError
  LocalFile(const std::string& path, int descriptor) : TFile{"local", "NET"} {
    SetName(path.c_str());
    fRealName = path;
    fOption = "READ";
    fD = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);  // TFile closes its own
    if (fD < 0) {
      throw_cannot_open(path);
    }
    TFile::Init(false);
  }

 protected:
  Long64_t SysSeek(Int_t /*descriptor*/, Long64_t offset, Int_t whence) override {
    return position_.seek(offset, whence);
  }

  /// \throws InputError
  Int_t SysRead(Int_t descriptor, void* into, Int_t n_bytes) override {
    const std::span bytes{static_cast<std::byte*>(into), static_cast<std::size_t>(n_bytes)};
    const auto n = read_at(descriptor, position_.value(), bytes);
    if (n < 0) {
      throw InputError(cannot_read(fRealName.Data(), position_.value(), std::strerror(errno)));
    }
    position_.advance(n);
    return static_cast<Int_t>(n);
  }

 private:
  FilePosition position_;
};

bool is_local(const std::string& path) { return path.find("://") == std::string::npos; }

/// The largest number of entries of branches and their branches. \throws InputError
std::int64_t most_entries(TObjArray& branches, const std::string& where, int depth = 0) {
  constexpr int deepest = 100;
  std::int64_t n_most = 0;
  for (TObject* object : branches) {
    auto* branch = dynamic_cast<TBranch*>(object);
    if (branch == nullptr || depth == deepest) {
      throw InputError(where + " is damaged: what should be a branch is none");
    }
    if (!is_text(branch->GetName())) {
      throw InputError(where + " is damaged: the name of branch " +
                       std::to_string(branches.IndexOf(branch)) + " is no text");
    }
    if (*branch->GetFileName() != '\0') {
      throw InputError(where + ": the baskets of branch \"" + branch->GetName() +
                       "\" are in another file, " + branch->GetFileName() +
                       ", which is not read; write one file of both with ROOT "
                       "(TTree::CloneTree), or leave the branch out there");
    }
    n_most = std::max({n_most, static_cast<std::int64_t>(branch->GetEntries()),
                       most_entries(*branch->GetListOfBranches(), where, depth + 1)});
  }
  return n_most;
}

/// ROOT looks for branches by way of the leaves, and trusts them. \throws InputError
void check_leaves(TTree& tree, const std::string& where) {
  for (int i = 0; i < tree.GetListOfLeaves()->GetEntriesFast(); ++i) {
    const auto* leaf = dynamic_cast<TLeaf*>(tree.GetListOfLeaves()->UncheckedAt(i));
    if (leaf == nullptr || leaf->GetBranch() == nullptr) {
      throw InputError(where + " is damaged: leaf " + std::to_string(i) + " is of no branch");
    }
    if (!is_possible(leaf->ClassName(), leaf->GetLenType(), leaf->GetOffset())) {
      throw InputError(where + " is damaged: leaf \"" + leaf->GetName() + "\" (" +
                       leaf->ClassName() + ") has values of " + std::to_string(leaf->GetLenType()) +
                       " bytes");
    }
  }
}

/// \throws InputError if branches or leaves are something else or have impossible names, or none
/// has as many entries as the tree says.
void check_tree(TTree& tree, const std::string& where) {
  check_leaves(tree, where);
  const auto n_most = most_entries(*tree.GetListOfBranches(), where);
  const std::int64_t n_entries = tree.GetEntries();
  if (n_entries < 0 || (n_entries > n_most && tree.GetListOfBranches()->GetEntriesFast() > 0)) {
    throw InputError(where + " is damaged: it says that it has " + std::to_string(n_entries) +
                     " entries, its branches have " + std::to_string(n_most));
  }
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

std::string files_of(TChain& chain) {
  constexpr int n_shown = 5;
  const auto& elements = *chain.GetListOfFiles();
  std::string text;
  for (int i = 0; i < std::min(elements.GetEntries(), n_shown); ++i) {
    text += (i == 0 ? "" : ", ") + std::string{elements.At(i)->GetTitle()};
  }
  const auto n_more = elements.GetEntries() - n_shown;
  return n_more > 0 ? text + " and " + std::to_string(n_more) + " more" : text;
}

std::string tree_names(TFile& file) {
  std::map<std::string, std::set<std::string>> names;  // by class
  for_each_object(file, [&](const std::string& path, const TKey& key, const TClass* type) {
    const bool is_tree = type != nullptr && type->InheritsFrom(TTree::Class());
    names[is_tree ? "TTree" : key.GetClassName()].insert(path);
  });
  if (names.contains("TTree")) {
    return "its trees are: " + joined(names["TTree"]);
  }
  if (names.contains("ROOT::RNTuple")) {
    return "it holds RNTuples (" + joined(names["ROOT::RNTuple"]) + "), which cannot be read yet";
  }
  return "there is no tree in it";
}

}  // namespace

void rethrow_with_file(const std::string& path) {
  try {
    throw;
  } catch (const InputError& error) {
    const std::string what = error.what();
    if (what.find(path) != std::string::npos) {
      throw;
    }
    throw InputError(path + ": " + what);
  } catch (const OutputError&) {
    throw;
  } catch (const Stopped&) {
    throw;
  } catch (const Error& error) {
    throw InputError(path + ": " + error.what());
  } catch (const std::bad_alloc&) {
    throw InputError(path + ": more memory is needed than there is; is the file damaged?");
  } catch (const std::exception& error) {
    throw InputError(path + ": cannot be read: " + error.what() + "; is the file damaged?");
  }
}

InputFile::InputFile(const std::string& path) : InputFile{path, WithoutRoot{}} {
  if (outline_) {
    identity_.uuid = outline_->uuid();
    return;
  }
  check_keys();  // before ROOT looks at it
  if (descriptor_ < 0) {
    identity_.n_bytes = file().GetSize();
  }
  identity_.uuid = uuid();
}

/// Files of Geant4's analysis and of old ROOT have none, for which ROOT makes up another each time:
/// a digest of the header, the directory and the list of its keys, with their dates and places.
std::string InputFile::uuid() {
  static_cast<void>(file());
  std::vector<std::byte> header(n_header_bytes);
  std::vector<std::byte> directory(n_directory_bytes);
  read(0, header);
  read(top_directory(header).directory, directory);
  if (has_uuid(directory)) {
    return file().GetUUID().AsString();
  }
  const auto list = key_list_of(directory);
  std::vector<std::byte> keys(static_cast<std::size_t>(std::max(list.n_bytes, 0)));
  read(list.place, keys);
  ContentDigest digest;
  digest.add(header);
  digest.add(directory);
  digest.add(keys);
  return uuid_text(uuid_of(digest));
}

/// O_NONBLOCK: opening a pipe does not wait for a writer.
InputFile::InputFile(const std::string& path, WithoutRoot /*tag*/) : path_{path} {
  if (!is_local(path)) {
    return;
  }
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    throw_cannot_open(path_);
  }
  identity_ = identity_of(descriptor_, path_);
  outline_ = FileOutline::of(identity_.n_bytes, reading());
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

TFile& InputFile::file() const {
  if (!file_) {
    open_with_root();
  }
  return *file_;
}

void InputFile::open_with_root() const {
  start_root();
  const CapturedMessages messages;
  std::unique_ptr<TFile> file{naming_file(path_, [&]() -> TFile* {
    return descriptor_ >= 0 ? new LocalFile{path_, descriptor_}
                            : TFile::Open(path_.c_str(), "READ");
  })};
  if (!file || file->IsZombie()) {
    throw InputError(path_ + ": is not a readable ROOT file" + because(messages.first()));
  }
  if (file->TestBit(TFile::kRecovered)) {
    throw InputError(path_ + ": is truncated or was not closed properly" +
                     because(messages.first()) + "; make it again, or copy it again");
  }
  messages.require_undamaged(path_);
  file_ = std::move(file);
}

void InputFile::check_keys() const {
  if (descriptor_ < 0) {
    return;  // ROOT says what it sees
  }
  const auto problem = disagreeing_key(identity_.n_bytes, reading());
  if (!problem.empty()) {
    fail_damaged(path_, problem);
  }
}

FileOutline::Read InputFile::reading() const {
  return [this](std::int64_t place, std::span<std::byte> into) {
    const auto n = read_at(descriptor_, place, into);
    if (n < 0) {
      throw InputError(cannot_read(path_, place, std::strerror(errno)));
    }
    return n == static_cast<std::int64_t>(into.size());
  };
}

const InputTree& InputFile::input_tree(const std::string& name) {
  auto& opened = trees_[name];
  if (!opened) {
    opened = tree_without_root(name);
  }
  if (!opened) {
    opened = tree_of_root(tree(name), name, *this);
  }
  return *opened;
}

bool is_plain_tree(const std::string& path, const std::string& tree) {
  const InputFile file{path, InputFile::WithoutRoot{}};
  return file.tree_without_root(tree) != nullptr;
}

bool has_plain_trees_alone(const std::string& path) {
  const InputFile file{path, InputFile::WithoutRoot{}};
  const auto trees = file.names_of_trees();
  return trees && std::ranges::all_of(*trees, [&](const auto& tree) {
           return file.plain_members(tree).has_value();
         });
}

/// None if ROOT has to look at it, were it only to say what is wrong.
std::optional<TreeRecord> InputFile::record_of(const std::string& tree, PartsOfTree wanted) const {
  const auto key = outline_ ? outline_->find(tree) : std::nullopt;
  if (!key || key->type != "TTree") {
    return {};
  }
  const auto object = outline_->object(*key);
  return object ? parse_tree_record(*object, key->key_length, wanted) : std::nullopt;
}

std::unique_ptr<InputTree> InputFile::tree_without_root(const std::string& name) const {
  auto record = record_of(name, {.tops = true});
  return record && record->tops ? tree_of_record(std::move(*record), name, *this) : nullptr;
}

std::optional<TreeMembers> InputFile::plain_members(const std::string& tree) const {
  auto record = record_of(tree, {.members = true});
  return record ? std::move(record->members) : std::nullopt;
}

std::optional<std::vector<std::string>> InputFile::names_of_trees() const {
  std::vector<std::string> names;
  if (outline_) {
    for (const auto& key : outline_->keys()) {
      if (key.type != "TTree" || std::ranges::count(names, key.name) > 0 ||
          key.name.find('/') != std::string::npos) {
        return {};
      }
      names.push_back(key.name);
    }
  }
  return outline_ ? std::optional{names} : std::nullopt;
}

Compression InputFile::compression() const {
  return outline_ ? Compression::of_settings(outline_->header().compression)
                  : Compression{file().GetCompressionAlgorithm(), file().GetCompressionLevel()};
}

bool InputFile::has(const std::string& name) const {
  return outline_ ? outline_->find(name).has_value() : file().GetKey(name.c_str()) != nullptr;
}

bool InputFile::lacks(const std::string& tree) const {
  if (outline_ && tree.find_first_of("/;") == std::string::npos) {
    return std::ranges::find(outline_->keys(), tree, &FileKey::name) == outline_->keys().end();
  }
  return find_object(file(), tree) == nullptr;
}

TTree& InputFile::tree(const std::string& name) const {
  return naming_file(path_, [&]() -> TTree& {
    auto& known = trees_of_root_[name];
    if (known == nullptr) {
      const CapturedMessages messages;
      auto* key = find_object(file(), name);  // TFile::Get takes a tree's own name for the key's
      auto* tree = key == nullptr ? nullptr : key->ReadObject<TTree>();
      messages.require_undamaged(path_);
      if (tree == nullptr) {
        throw InputError(path_ + ": no tree \"" + name + "\"; " + tree_names(file()));
      }
      if (auto* chain = dynamic_cast<TChain*>(tree)) {
        throw InputError(path_ + ": \"" + name + "\" is a TChain, which only names files: " +
                         files_of(*chain) + "; read these");
      }
      check_tree(*tree, path_ + ": tree \"" + name + '"');
      known = tree;
    }
    return *known;
  });
}

void InputFile::check_identity(const FileIdentity& indexed) const {
  const bool is_same_time =
      indexed.modified_ns == 0 || identity_.modified_ns == indexed.modified_ns;
  if (identity_.uuid != indexed.uuid || identity_.n_bytes != indexed.n_bytes || !is_same_time) {
    const auto what = identity_.n_bytes != indexed.n_bytes ? "its size is another"
                      : identity_.uuid != indexed.uuid     ? "its UUID is another"
                                                           : "it was written again";
    throw InputError(path_ + ": changed since it was indexed: " + what +
                     "; start the job again with files that stay as they are");
  }
}

void InputFile::read(std::int64_t offset, std::span<std::byte> into) {
  ++read_calls_;
  read_bytes_ += static_cast<std::int64_t>(into.size());
  if (descriptor_ < 0) {
    return read_remote(offset, into);
  }
  const auto n = read_at(descriptor_, offset, into);
  if (n != static_cast<std::int64_t>(into.size())) {
    const auto at = offset + std::max<std::int64_t>(n, 0);
    throw InputError(cannot_read(path_, at, n < 0 ? std::strerror(errno) : "the file ends before"));
  }
}

void InputFile::read_remote(std::int64_t offset, std::span<std::byte> into) {
  const std::lock_guard lock{remote_};
  const CapturedMessages messages;
  if (file().ReadBuffer(reinterpret_cast<char*>(into.data()), offset,
                        static_cast<int>(into.size()))) {
    throw InputError(path_ + ": cannot be read at byte " + std::to_string(offset) +
                     because(messages.first()));
  }
}

}  // namespace forkrun::root_io
