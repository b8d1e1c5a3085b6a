#include <algorithm>
#include <ranges>
#include <string>
#include <string_view>

#include <forkrun/formats/root_file/class_layouts.hpp>
#include <forkrun/formats/root_file/object_writer.hpp>

namespace forkrun::root_io {

namespace {

constexpr std::uint32_t is_compiled = 1U << 16U;  // TVirtualStreamerInfo::kIsCompiled

using Layouts = std::set<const ClassLayout*>;  // all in one table, by name

/// ROOT describes the classes with general streamers among those of written objects, and all
/// classes that a null pointer can have.
enum class Reason { object, null_pointer };

bool has_general_streamer(std::string_view name) {
  return name != "TArrayD" && name != "TList" && name != "THashList" && name != "TObjArray";
}

bool is_part(const ElementLayout& element) {
  return element.kind == "TStreamerBase" || element.kind == "TStreamerObject" ||
         element.kind == "TStreamerObjectAny";
}

/// Class of a base, a member, or a pointer's target.
std::string_view type_of(const ElementLayout& element) {
  const std::string_view type = element.kind == "TStreamerBase" ? element.name : element.type_name;
  return type.ends_with('*') ? type.substr(0, type.size() - 1) : type;
}

void collect(std::string_view name, Reason reason, Layouts& found) {
  const auto* layout = class_layout(name);
  const bool is_for_object = reason == Reason::object;
  if (layout == nullptr || (is_for_object && !has_general_streamer(name)) ||
      !found.insert(layout).second) {
    return;
  }
  for (const auto& element : layout->elements) {
    if (!is_for_object || is_part(element)) {
      collect(type_of(element), reason, found);
    }
  }
}

void write_element(ObjectWriter& to, const ElementLayout& element) {
  to.pointer(std::string{element.kind}, [&] {
    to.object(element.version_of_kind, [&] {
      to.object(4, [&] {  // TStreamerElement
        to.named(element.name, element.title);
        to.numbers(element.type, element.size, element.array_length, element.array_dim);
        std::ranges::for_each(element.max_index, [&](auto index) { to.number(index); });
        to.text(element.type_name);
      });
      if (element.kind == "TStreamerBase") {
        to.number(element.version);
      } else if (element.kind == "TStreamerBasicPointer") {
        to.number(element.version);
        to.text(element.count_name);
        to.text(element.count_class);
      } else if (element.kind == "TStreamerSTL") {
        to.numbers(element.version, element.value_type);
      }
    });
  });
}

void write_layout(ObjectWriter& to, const ClassLayout& layout) {
  to.pointer("TStreamerInfo", [&] {
    to.object(10, [&] {
      to.named(layout.name, "", is_compiled);
      to.numbers(layout.checksum, layout.version);
      to.pointer("TObjArray", [&] {
        to.object(3, [&] {
          to.base();
          to.text("");
          to.numbers(static_cast<std::int32_t>(layout.elements.size()), std::int32_t{0});
          std::ranges::for_each(layout.elements, [&](const auto& e) { write_element(to, e); });
        });
      });
    });
  });
}

/// A TList of so many objects. `objects` writes each, then an empty text: its option.
template <typename Body>
void write_list(ObjectWriter& to, std::string_view name, std::size_t n_objects, std::uint32_t bits,
                Body objects) {
  to.object(5, [&] {
    to.base(bits);
    to.text(name);
    to.number(static_cast<std::int32_t>(n_objects));
    objects();
  });
}

void write_rules(ObjectWriter& to, const std::set<std::string_view>& rules) {
  to.pointer("TList", [&] {
    write_list(to, "listOfRules", rules.size(), ObjectWriter::is_owner, [&] {
      for (const auto rule : rules) {
        to.pointer("TObjString", [&] {
          to.object(1, [&] {
            to.base();
            to.text(rule);
          });
        });
        to.text("");
      }
    });
  });
  to.text("");
}

}  // namespace

const ClassLayout* class_layout(std::string_view name) {
  const auto layouts = class_layouts();
  const auto found = std::ranges::lower_bound(
      layouts, name, {}, [](const ClassLayout& layout) { return std::string_view{layout.name}; });
  return found != layouts.end() && name == found->name ? &*found : nullptr;
}

std::vector<const ClassLayout*> layouts_of(const ClassesInFile& classes) {
  Layouts of_objects;
  for (const auto& name : classes.objects) {
    collect(name, Reason::object, of_objects);
  }
  Layouts all;
  for (const auto& name : classes.null_pointers) {
    collect(name, Reason::null_pointer, all);
  }
  all.merge(of_objects);
  return {all.begin(), all.end()};
}

void write_layouts(ObjectWriter& to, std::span<const ClassLayout* const> layouts) {
  std::set<std::string_view> rules;
  for (const auto* layout : layouts) {
    rules.insert(layout->rules.begin(), layout->rules.end());
  }
  write_list(to, "", layouts.size() + (rules.empty() ? 0 : 1), 0, [&] {
    for (const auto* layout : layouts) {
      write_layout(to, *layout);
      to.text("");
    }
    if (!rules.empty()) {
      write_rules(to, rules);
    }
  });
}

}  // namespace forkrun::root_io
