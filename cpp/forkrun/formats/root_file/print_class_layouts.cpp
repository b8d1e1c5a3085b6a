// Prints class_layouts.cpp when forkrun is built: the installed ROOT's description of the classes
// that PlainFile writes.

#include <array>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>

#include <TClass.h>
#include <TH1D.h>
#include <TH2D.h>
#include <TH3D.h>
#include <THnSparse.h>
#include <TMemFile.h>
#include <TProfile.h>
#include <TProfile2D.h>
#include <TProfile3D.h>
#include <TROOT.h>
#include <TSchemaRule.h>
#include <TSchemaRuleSet.h>
#include <TStreamerElement.h>
#include <TStreamerInfo.h>
#include <TTree.h>
#include <TVirtualStreamerInfo.h>

#include <forkrun/formats/root_file/class_descriptions.hpp>

using forkrun::root_io::describe_classes;

namespace {

std::string quoted(const std::string& text) {
  std::ostringstream to;
  to << std::quoted(text);
  return to.str();
}

/// Versions of members that forkrun's own code writes. \throws std::runtime_error if ROOT has
/// others
void check_versions() {
  const std::map<std::string, int> written{
      {"TAxis", 10},     {"TBranch", 13},   {"TH1", 8},           {"TH1D", 3},
      {"TH2", 5},        {"TH2D", 4},       {"TH3", 6},           {"TH3D", 4},
      {"THnBase", 1},    {"THnSparse", 3},  {"TLeaf", 2},         {"TProfile", 7},
      {"TProfile2D", 8}, {"TProfile3D", 8}, {"ROOT::RNTuple", 2}, {"TTree", 20}};
  for (const auto& [name, version] : written) {
    if (const int found = TClass::GetClass(name.c_str())->GetClassVersion(); found != version) {
      throw std::runtime_error("forkrun writes version " + std::to_string(version) + " of " + name +
                               ", and this ROOT has version " + std::to_string(found));
    }
  }
}

/// An object of each class, with all possible contents.
void write_objects(TFile& file) {
  const auto write = [&](auto&& object) {
    object.SetName("object");
    file.WriteTObject(&object);
  };
  TH1D labelled{"", "", 1, 0, 1};
  labelled.GetXaxis()->SetBinLabel(1, "label");
  write(labelled);
  write(TH2D{});
  write(TH3D{});
  write(TProfile{});
  write(TProfile2D{});
  write(TProfile3D{});
  const int n_bins = 1;
  const double low = 0;
  const double high = 1;
  THnSparseD sparse{"", "", 1, &n_bins, &low, &high};
  sparse.Fill(&low);
  write(sparse);
  TTree tree{"tree", ""};
  for (const char* leaf : {"O", "B", "S", "I", "L", "G", "F", "D", "C", "f", "d"}) {
    static std::array<char, 8> value{};
    tree.Branch(leaf, value.data(), (std::string{leaf} + "/" + leaf).c_str());
  }
  file.WriteTObject(&tree);
  tree.SetDirectory(nullptr);
  auto* anchor = TClass::GetClass("ROOT::RNTuple");
  file.WriteObjectAny(anchor->New(), anchor, "ntuple");
}

/// Number in files, which differs for collections of the C++ library.
int type_of(const TStreamerElement& element) {
  const bool is_collection = dynamic_cast<const TStreamerSTL*>(&element) != nullptr;
  return is_collection ? static_cast<int>(TVirtualStreamerInfo::kStreamer) : element.GetType();
}

void print_element(const TStreamerElement& element) {
  if (dynamic_cast<const TStreamerLoop*>(&element) != nullptr) {
    throw std::runtime_error(std::string{element.GetName()} +
                             ": no file of ours has counted objects");
  }
  const TClass& kind = *element.IsA();
  std::cout << "    {" << quoted(kind.GetName()) << ", " << kind.GetClassVersion() << ", "
            << quoted(element.GetName()) << ", " << quoted(element.GetTitle()) << ", "
            << type_of(element) << ", " << element.TStreamerElement::GetSize() << ", "
            << element.GetArrayLength() << ", " << element.GetArrayDim() << ", {";
  for (int i = 0; i < 5; ++i) {
    std::cout << (i > 0 ? ", " : "") << element.GetMaxIndex(i);
  }
  std::cout << "}, " << quoted(element.GetTypeName());
  if (const auto* base = dynamic_cast<const TStreamerBase*>(&element)) {
    std::cout << ", " << const_cast<TStreamerBase*>(base)->GetBaseVersion();
  } else if (const auto* pointer = dynamic_cast<const TStreamerBasicPointer*>(&element)) {
    std::cout << ", " << pointer->GetCountVersion() << ", " << quoted(pointer->GetCountName())
              << ", " << quoted(pointer->GetCountClass());
  } else if (const auto* collection = dynamic_cast<const TStreamerSTL*>(&element)) {
    std::cout << ", " << collection->GetSTLtype() << R"(, "", "", )" << collection->GetCtype();
  }
  std::cout << "},\n";
}

std::string print_rules(const TClass& type, std::size_t number) {
  if (type.GetSchemaRules() == nullptr) {
    return "{}";
  }
  std::cout << "constexpr const char* rules_" << number << "[] = {\n";
  for (TObject* rule : *type.GetSchemaRules()->GetRules()) {
    TString text;
    static_cast<ROOT::TSchemaRule*>(rule)->AsString(text, "s");
    std::cout << "    " << quoted(text.Data()) << ",\n";
  }
  std::cout << "};\n";
  return "rules_" + std::to_string(number);
}

/// Its name, if there are any.
std::string print_elements(TObjArray& elements, std::size_t number) {
  if (elements.IsEmpty()) {
    return "{}";
  }
  std::cout << "constexpr ElementLayout class_" << number << "[] = {\n";
  for (TObject* element : elements) {
    print_element(static_cast<const TStreamerElement&>(*element));
  }
  std::cout << "};\n";
  return "class_" + std::to_string(number);
}

/// Returns the class's line in the table.
std::string print_class(const TStreamerInfo& info, std::size_t number) {
  const auto elements = print_elements(*info.GetElements(), number);
  const auto rules = print_rules(*TClass::GetClass(info.GetName()), number);
  std::ostringstream line;
  line << "    {" << quoted(info.GetName()) << ", " << info.GetClassVersion() << ", 0x" << std::hex
       << info.GetCheckSum() << ", " << elements << ", " << rules << "},\n";
  return line.str();
}

void print_layouts() {
  TMemFile file{"objects", "RECREATE"};
  write_objects(file);
  const auto classes = describe_classes(*file.GetClassIndex());
  std::cout << "#include <forkrun/formats/root_file/class_layouts.hpp>\n\n"
               "namespace forkrun::root_io {\n\nnamespace {\n\n";
  std::string table;
  std::size_t number = 0;
  for (TObject* object : *classes.all) {
    if (const auto* info = dynamic_cast<TStreamerInfo*>(object)) {
      table += print_class(*info, number++);
    }
  }
  std::cout << "\nconstexpr ClassLayout layouts[] = {\n"
            << table << "};\n\n}  // namespace\n\n"
            << "std::span<const ClassLayout> class_layouts() { return layouts; }\n\n"
            << "const std::int32_t root_release = " << gROOT->GetVersionInt() << ";\n\n"
            << "}  // namespace forkrun::root_io\n";
}

}  // namespace

int main() {
  try {
    check_versions();
    print_layouts();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
