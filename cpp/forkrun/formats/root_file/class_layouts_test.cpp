#include <forkrun/formats/root_file/class_layouts.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include <TClass.h>
#include <TROOT.h>

namespace forkrun::root_io {

namespace {

std::vector<std::string_view> names_of(const std::vector<const ClassLayout*>& layouts) {
  std::vector<std::string_view> names;
  std::ranges::transform(layouts, std::back_inserter(names), &ClassLayout::name);
  return names;
}

}  // namespace

TEST(ClassLayouts, AreThoseOfTheInstalledRoot) {
  EXPECT_EQ(root_release, gROOT->GetVersionInt()) << "it was built with another ROOT";
  for (const auto& layout : class_layouts()) {
    TClass* const type = TClass::GetClass(layout.name);
    ASSERT_NE(type, nullptr) << layout.name;
    constexpr int of_classes_without_one = 1;
    EXPECT_EQ(layout.version,
              type->GetClassVersion() < 0 ? of_classes_without_one : type->GetClassVersion())
        << layout.name;
    EXPECT_EQ(layout.checksum, type->GetCheckSum()) << layout.name;
  }
}

TEST(ClassLayouts, AreInTheOrderOfTheirNames) {
  const auto name = [](const ClassLayout& layout) { return std::string_view{layout.name}; };
  EXPECT_TRUE(std::ranges::is_sorted(class_layouts(), {}, name));
}

TEST(ClassLayouts, OfObjectsBringThoseOfTheirParts) {
  const std::vector<std::string_view> expected{"TAttAxis", "TAxis", "TNamed", "TObject"};
  EXPECT_EQ(names_of(layouts_of({{"TAxis"}, {}})), expected);
  EXPECT_TRUE(layouts_of({{"TNothing"}, {"TNothing"}}).empty());
}

TEST(ClassLayouts, OfNullPointersBringAllThatTheyCanLeadTo) {
  const std::vector<std::string_view> expected{"TCollection", "THashList",      "TList",
                                               "TObject",     "TSeqCollection", "TString"};
  EXPECT_EQ(names_of(layouts_of({{}, {"THashList"}})), expected);
}

}  // namespace forkrun::root_io
