#include <forkrun/core/module/module.hpp>

#include <dlfcn.h>

#include <map>
#include <mutex>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

namespace {

/// Filled while libraries are loaded, before forkrun starts threads; locked all the same, since a
/// Python program may load a library on any thread.
struct Registry {
  std::mutex mutex;
  std::map<std::string, ModuleFactory> factories;
};

Registry& registry() {
  static Registry the_registry;
  return the_registry;
}

}  // namespace

ProductType Construction::column_product(ColumnType type) {
  return {typeid(Column),
          type,
          sizeof(Column),
          alignof(Column),
          [](void* memory, ColumnType column) { new (memory) Column{column}; },
          [](void* product) { static_cast<Column*>(product)->~Column(); }};
}

ConditionInput<BinnedTable> Construction::condition_table(const std::string& label,
                                                          std::size_t n_coordinates) {
  return condition<BinnedTable>(
      label,
      [n_coordinates](const ConditionPayload& payload) {
        return std::make_shared<BinnedTable>(payload, n_coordinates);
      },
      std::to_string(n_coordinates));
}

void register_module_class(const std::string& class_name, ModuleFactory factory) {
  auto& known = registry();
  const std::scoped_lock lock{known.mutex};
  known.factories[class_name] = factory;
}

std::vector<std::string> registered_module_classes() {
  auto& known = registry();
  const std::scoped_lock lock{known.mutex};
  std::vector<std::string> names;
  names.reserve(known.factories.size());
  for (const auto& [name, factory] : known.factories) {
    names.push_back(name);
  }
  return names;
}

ModuleFactory find_module_class(const std::string& class_name) {
  auto& known = registry();
  const std::scoped_lock lock{known.mutex};
  const auto found = known.factories.find(class_name);
  return found == known.factories.end() ? nullptr : found->second;
}

void load_plugin(const std::string& path) {
  // Never closed: its modules live as long as the process.
  if (::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    const char* reason = ::dlerror();
    throw Error{"cannot load the plugin library " + path + ": " +
                (reason == nullptr ? "unknown reason" : reason)};
  }
}

}  // namespace forkrun
