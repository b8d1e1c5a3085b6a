// ROOT's fastest way through an RNTuple: the values of each field that has no fields of its own, in
// bulk, cluster by cluster, and the counts of lists.
//     read_bulk FILE NTUPLE REPEATS      prints wall and CPU seconds per repeat, then bytes of
//     values

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <ROOT/RNTupleDescriptor.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleReader.hxx>

namespace {

bool is_wanted(const ROOT::RFieldDescriptor& field) {
  const bool is_count = field.GetTypeName().rfind("ROOT::RNTupleCardinality", 0) == 0;
  return field.GetLinkIds().empty() && (is_count || !field.IsProjectedField());
}

/// A field, and the column that says how many values it has.
struct Leaf {
  ROOT::RFieldBase::RBulkValues values;
  std::size_t n_value_bytes;
  ROOT::DescriptorId_t column;
};

std::size_t read_all(const char* path, const char* name) {
  const auto reader = ROOT::RNTupleReader::Open(name, path);
  const auto& all = reader->GetDescriptor();
  const auto& model = reader->GetModel();
  std::vector<Leaf> leaves;
  for (const auto& column : all.GetColumnIterable()) {
    const auto& field = all.GetFieldDescriptor(column.GetFieldId());
    if (is_wanted(field)) {
      const auto qualified = all.GetQualifiedFieldName(field.GetId());
      leaves.push_back({model.CreateBulk(qualified), model.GetConstField(qualified).GetValueSize(),
                        column.GetPhysicalId()});
    }
  }
  std::size_t n_bytes = 0;
  for (const auto& cluster : all.GetClusterIterable()) {
    for (auto& leaf : leaves) {
      const auto n = cluster.GetColumnRange(leaf.column).GetNElements();
      if (n > 0) {
        leaf.values.ReadBulk({cluster.GetId(), 0}, nullptr, n);
        n_bytes += n * leaf.n_value_bytes;
      }
    }
  }
  return n_bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: read_bulk FILE NTUPLE REPEATS\n");
    return 2;
  }
  std::size_t n_bytes = 0;
  for (int repeat = 0; repeat < std::atoi(argv[3]); ++repeat) {
    const std::clock_t cpu_start = std::clock();
    const auto start = std::chrono::steady_clock::now();
    n_bytes = read_all(argv[1], argv[2]);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const double cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
    std::printf("%.6f %.6f\n", taken.count(), cpu);
  }
  std::printf("%zu\n", n_bytes);
  return 0;
}
