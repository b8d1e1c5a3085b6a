#include <forkrun/core/module/module.hpp>

#include <gtest/gtest.h>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {
namespace {

class RegisteredFilter final : public Filter {
 public:
  explicit RegisteredFilter(Construction&) {}
  void filter(const EventBlock&, std::span<std::uint8_t>) override {}
};
FORKRUN_REGISTER_MODULE(RegisteredFilter);

TEST(ModuleTest, registered_class_is_found_by_its_name) {
  EXPECT_EQ(registered_module_classes(), std::vector<std::string>{"RegisteredFilter"});
  EXPECT_NE(find_module_class("RegisteredFilter"), nullptr);
  EXPECT_EQ(find_module_class("Registered"), nullptr);
}

TEST(ModuleTest, plugin_that_cannot_be_loaded_is_an_error_with_the_reason) {
  try {
    load_plugin("/nowhere/libplugin.so");
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("cannot load the plugin library /nowhere/libplugin.so: "), 0U);
    EXPECT_NE(text.find("No such file"), std::string::npos);
  }
}

}  // namespace
}  // namespace forkrun
