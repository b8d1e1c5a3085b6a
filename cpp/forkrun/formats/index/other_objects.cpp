#include <forkrun/formats/index/other_objects.hpp>

#include <array>
#include <cstdio>
#include <optional>
#include <span>
#include <string_view>

#include <TFile.h>
#include <TKey.h>

#include <forkrun/bytes/content_digest.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/index/ntuple_branches.hpp>
#include <forkrun/formats/rntuple/ntuple_table.hpp>
#include <forkrun/formats/root_file/directory_keys.hpp>
#include <forkrun/formats/root_file/key_path.hpp>
#include <forkrun/formats/root_file/object_stream.hpp>
#include <forkrun/formats/ttree/layout/tree_record.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

namespace {

/// For more objects, only sizes are compared: reading them all takes as long as merging them.
constexpr std::size_t most_read = 1000;

/// Number of classes before the axes in the record of a histogram, outermost first; none for other
/// objects.
std::optional<int> n_classes_before_axes(std::string_view type) {
  const auto begins = [&](std::string_view with) { return type.starts_with(with); };
  if (begins("TProfile2D") || begins("TProfile3D")) {
    return 4;
  }
  if (begins("TProfile") || begins("TH3") || (begins("TH2") && type != "TH2Poly")) {
    return 3;
  }
  return begins("TH1") ? std::optional{2} : std::nullopt;
}

/// Axes in the record of a histogram; none for other objects.
std::optional<std::span<const std::byte>> axes_of(std::string_view type,
                                                  std::span<const std::byte> object) {
  const auto n_classes = n_classes_before_axes(type);
  if (!n_classes) {
    return {};
  }
  try {
    ObjectStream from{object, 0};
    for (int i = 0; i < *n_classes; ++i) {
      static_cast<void>(from.object());
    }
    constexpr int n_before = 4, n_axes = 3;  // TNamed, three sets of attributes
    for (int i = 0; i < n_before; ++i) {
      from.skip_object();
    }
    from.skip<std::int32_t>();  // number of cells
    const auto begin = from.at();
    for (int i = 0; i < n_axes; ++i) {
      from.skip_object();
    }
    return from.since(begin);
  } catch (const ObjectStream::Unexpected&) {
    return {};
  }
}

bool is_tree_type(std::string_view type) {
  return type == "TTree" || type == "TNtuple" || type == "TNtupleD";
}

/// Classes whose objects ROOT merges with any contents.
bool merges_any(std::string_view type) {
  return type.starts_with("TGraph") || type == "TList" || type.starts_with("TParameter");
}

class OtherObjectsFinder {
 public:
  OtherObjectsFinder(TreeFile& file, const std::string& tree)
      : file_{file}, tree_{without_cycle(tree)} {}

  OtherObjects find() {
    const auto objects = file_.outline() ? file_.outline()->objects() : std::nullopt;
    if (objects) {
      reads_ = objects->size() <= most_read;
      for (const auto& [path, key] : *objects) {
        add(path, key);
      }
    } else {
      add_with_root();
    }
    found_.may_refer = found_.has_references && has_objects_;
    found_.forms = text_of(forms_);
    found_.contents = text_of(contents_);
    return std::move(found_);
  }

 private:
  static std::string text_of(const ContentDigest& digest) {
    std::array<char, 33> text{};
    const auto [high, low] = digest.value();
    std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(high),
                  static_cast<unsigned long long>(low));
    return text.data();
  }

  void note(std::string_view text) { note(std::as_bytes(std::span{text})); }
  void note(std::span<const std::byte> bytes) {
    forms_.add(bytes);
    contents_.add(bytes);
  }

  /// False if nothing remains to be checked.
  bool note_name(const std::string& path, const std::string& type, bool is_folder) {
    if (path == tree_ && is_folder) {
      found_.problems.push_back("folder \"" + path + "\" has the name of the tree of events");
    }
    found_.has_references = found_.has_references || type == "TProcessID";
    if ((path == tree_ && !is_folder) || type == "TProcessID" || path == "forkrun_origins") {
      return false;
    }
    if (rntuple::is_class_name(type)) {
      note_ntuple(path);
      return false;
    }
    has_objects_ = has_objects_ || (!is_folder && !is_tree_type(type));
    if (is_tree_type(type)) {
      found_.trees.push_back(path);
    }
    note(path);
    note(type);
    return !is_folder;
  }

  /// It will be carried as a tree.
  void note_ntuple(const std::string& path) {
    note(path);
    try {
      for (const auto& branch : ntuple_branches(*rntuple::ntuple_in(file_, path))) {
        note(branch.name);
        note(branch.type.name());
      }
    } catch (const InputError& error) {
      found_.problems.emplace_back(error.what());
    }
  }

  void add(const std::string& path, const FileKey& key) {
    if (!note_name(path, key.type, key.is_folder())) {
      return;
    }
    const auto object = reads_ ? file_.outline()->object(key) : std::nullopt;
    if (!object) {
      return note(std::to_string(key.n_object_bytes));
    }
    if (is_tree_type(key.type)) {
      const auto record = parse_tree_record(*object, key.key_length, {});
      return note(record ? record->structure : std::to_string(key.n_object_bytes));
    }
    if (const auto axes = axes_of(key.type, *object)) {
      return note(*axes);
    }
    if (!merges_any(key.type)) {
      contents_.add(*object);
    }
  }

  void add_with_root() {
    for_each_object(file_.file(), [&](const std::string& path, const TKey& key, const TClass*) {
      if (note_name(path, key.GetClassName(), false)) {
        note(std::to_string(key.GetObjlen()));
      }
    });
  }

  TreeFile& file_;
  std::string tree_;
  bool reads_ = true;
  bool has_objects_ = false;  ///< other than trees
  ContentDigest forms_;
  ContentDigest contents_;
  OtherObjects found_;
};

}  // namespace

OtherObjects other_objects(TreeFile& file, const std::string& tree) {
  return OtherObjectsFinder{file, tree}.find();
}

}  // namespace forkrun::root_io
