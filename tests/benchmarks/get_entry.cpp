// The classical loop, as a reference: columns by TBranch::GetEntry into vectors.
//     get_entry FILE REPEATS COLUMN...      prints wall and CPU seconds per repeat, then a checksum

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <TBranch.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TTree.h>

namespace {

/// One branch and all its values as bytes; jagged ones follow their counter.
struct Column {
  TBranch* branch;
  TLeaf* leaf;
  std::size_t item_bytes;
  std::vector<char> entry;
  std::vector<char> values;
};

Column make_column(TTree& tree, const std::string& name) {
  TBranch* branch = tree.GetBranch(name.c_str());
  auto* leaf = static_cast<TLeaf*>(branch->GetListOfLeaves()->At(0));
  const auto item = static_cast<std::size_t>(leaf->GetLenType());
  const TLeaf* counter = leaf->GetLeafCount();
  const auto longest = counter == nullptr ? 1 : static_cast<std::size_t>(counter->GetMaximum()) + 1;
  Column column{branch, leaf, item, std::vector<char>(longest * item), {}};
  branch->SetAddress(column.entry.data());
  return column;
}

std::size_t read_all(const char* path, int n_names, char** names) {
  const std::unique_ptr<TFile> file{TFile::Open(path)};
  auto* tree = file->Get<TTree>("Events");
  std::vector<Column> columns;
  for (int i = 0; i < n_names; ++i) {
    columns.push_back(make_column(*tree, names[i]));
  }
  for (Long64_t entry = 0; entry < tree->GetEntries(); ++entry) {
    for (auto& column : columns) {
      column.branch->GetEntry(entry);
      const auto n = static_cast<std::size_t>(column.leaf->GetLen()) * column.item_bytes;
      column.values.insert(column.values.end(), column.entry.data(), column.entry.data() + n);
    }
  }
  std::size_t n_bytes = 0;
  for (const auto& column : columns) {
    n_bytes += column.values.size();
  }
  return n_bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: get_entry FILE REPEATS COLUMN...\n");
    return 2;
  }
  std::size_t n_bytes = 0;
  for (int repeat = 0; repeat < std::atoi(argv[2]); ++repeat) {
    const std::clock_t cpu_start = std::clock();
    const auto start = std::chrono::steady_clock::now();
    n_bytes = read_all(argv[1], argc - 3, argv + 3);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const double cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
    std::printf("%.6f %.6f\n", taken.count(), cpu);
  }
  std::printf("%zu\n", n_bytes);
  return 0;
}
