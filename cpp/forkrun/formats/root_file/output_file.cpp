#include <forkrun/formats/root_file/output_file.hpp>

#include <cerrno>
#include <filesystem>

#include <TFree.h>
#include <TKey.h>
#include <TObjArray.h>
#include <TProcessID.h>
#include <TTree.h>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/root_file/class_descriptions.hpp>
#include <forkrun/formats/root_file/input_file.hpp>
#include <forkrun/formats/root_file/output_descriptor.hpp>
#include <forkrun/formats/root_file/reproducible_file.hpp>

namespace forkrun::root_io {

OutputFile::OutputFile(const std::string& path, Compression compression, OutputMode mode)
    : path_{path} {
  const CapturedMessages messages;
  file_ = std::make_unique<ReproducibleFile>(path, mode, compression.settings());
  if (file_->IsZombie()) {
    throw OutputError(path + ": cannot be opened: " + messages.first());
  }
  seek_directory_ = file_->GetSeekDir();
  if (mode == OutputMode::create) {
    leave_hole();
  }
}

OutputFile::~OutputFile() {
  const CapturedMessages messages;
  file_.reset();
}

TFile& OutputFile::file() const { return *file_; }

TDirectory& OutputFile::folder_of(const std::string& object_path) {
  const auto slash = object_path.rfind('/');
  return folder(slash == std::string::npos ? "" : object_path.substr(0, slash));
}

TDirectory& OutputFile::folder(const std::string& folder, const std::string& title) {
  if (folder.empty()) {
    return *file_;
  }
  auto& known = folders_[folder];
  if (known == nullptr) {
    const auto slash = folder.rfind('/');
    known = &make_folder(folder_of(folder), folder.substr(slash + 1), title);
  }
  return *known;
}

/// By its name alone: ROOT would take a path with a colon for another file's.
TDirectory& OutputFile::make_folder(TDirectory& parent, const std::string& name,
                                    const std::string& title) {
  const CapturedMessages messages;
  auto* key = parent.GetKey(name.c_str());  // of an existing file
  auto* folder = key == nullptr ? parent.mkdir(name.c_str(), title.c_str())
                                : dynamic_cast<TDirectory*>(key->ReadObj());
  if (folder == nullptr) {
    throw OutputError(path_ + ": folder \"" + name + "\" cannot be made: " +
                      (key == nullptr ? messages.first() : "an object has its name"));
  }
  return *folder;
}

void OutputFile::describe_classes_of(const InputFile& file) {
  if (described_as_ != file.path()) {
    const CapturedMessages messages;
    take_descriptions(file.file(), *file_);
    described_as_ = file.path();
  }
}

std::uint16_t OutputFile::take_process_ids_of(const InputFile& file) {
  if (process_ids_.first == file.path()) {
    return process_ids_.second;
  }
  const CapturedMessages messages;
  const auto name_of = [](int number) { return "ProcessID" + std::to_string(number); };
  const auto n_before = file_->GetNProcessIDs();
  for (int i = 0; i < file.file().GetNProcessIDs(); ++i) {
    auto* key = file.file().GetKey(name_of(i).c_str());
    auto* id = key == nullptr ? nullptr : key->ReadObject<TProcessID>();
    if (id == nullptr) {
      fail_damaged(file.path(), "ids of processes, which its objects refer to, are missing");
    }
    id->IncrementCount();
    file_->GetListOfProcessIDs()->AddAtAndExpand(id, n_before + i);
    file_->WriteTObject(id, name_of(n_before + i).c_str());
    file_->IncrementProcessIDs();
    file_->SetBit(TFile::kHasReferences);
  }
  process_ids_ = {file.path(), static_cast<std::uint16_t>(n_before)};
  return process_ids_.second;
}

std::int64_t OutputFile::allocate(std::size_t n_bytes) {
  constexpr std::int64_t room = 1'000'000'000;  // by which ROOT, too, extends its last free segment
  const auto place = file_->GetEND();
  const auto end = place + static_cast<std::int64_t>(n_bytes);
  auto& free = static_cast<TFree&>(*file_->GetListOfFree()->Last());
  file_->SetEND(end);
  free.SetFirst(end);
  if (end > free.GetLast()) {
    free.SetLast(free.GetLast() + room);
  }
  return place;
}

void OutputFile::write_records(std::int64_t place, std::span<const std::byte> bytes,
                               std::span<const std::size_t> sizes) {
  const CapturedMessages messages;
  file_->Seek(place);
  if (!file_->append(bytes, sizes)) {
    check();
  }
}

void OutputFile::check() const {
  if (const auto error = file_->error(); error != 0 || file_->TestBit(TFile::kWriteError)) {
    fail_to_write(path_, error != 0 ? error : EIO);
  }
}

void OutputFile::write_and_release(TTree& tree, const std::string& name) {
  const CapturedMessages messages;
  tree.GetDirectory()->cd();
  tree.Write(name.c_str());
  tree.SetDirectory(nullptr);
  check();
}

std::int64_t OutputFile::close() {
  const CapturedMessages messages;
  file_->Write(nullptr, TObject::kOverwrite);
  check();
  file_->Close();
  check();
  const auto size = file_->finish();
  file_.reset();
  return size;
}

void OutputFile::abandon() noexcept {
  try {
    const CapturedMessages messages;
    file_.reset();
  } catch (...) {  // passed over: the file is removed anyway
  }
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace forkrun::root_io
