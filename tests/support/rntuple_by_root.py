"""An RNTuple of types that files of experiments have rarely, as ROOT writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.server.root_program import call_root, declare

_WRITE = """
template <typename T>  // by names of types: templates of fields take seconds to compile
std::shared_ptr<T> add(ROOT::RNTupleModel& model, const char* name, const char* type) {
  model.AddField(ROOT::RFieldBase::Create(name, type).Unwrap());
  return std::static_pointer_cast<T>(model.GetDefaultEntry().GetPtr<void>(name));
}
void write_kinds(const char* path, int n_entries, int compression) {
  auto model = ROOT::RNTupleModel::Create();
  auto half = std::make_unique<ROOT::RField<float>>("half");
  half->SetHalfPrecision();
  model->AddField(std::move(half));
  auto truncated = std::make_unique<ROOT::RField<double>>("truncated");
  truncated->SetTruncated(20);
  model->AddField(std::move(truncated));
  auto quantised = std::make_unique<ROOT::RField<double>>("quantised");
  quantised->SetQuantized(12, {-10., 10.});
  model->AddField(std::move(quantised));
  auto narrow = std::make_unique<ROOT::RField<float>>("narrow");
  narrow->SetQuantized(7, {-10.f, 10.f});
  model->AddField(std::move(narrow));
  auto double32 = std::make_unique<ROOT::RField<double>>("double32");
  double32->SetDouble32();
  model->AddField(std::move(double32));
  auto letter = add<char>(*model, "letter", "char");
  auto small = add<std::int8_t>(*model, "small", "std::int8_t");
  auto wide = add<std::int64_t>(*model, "wide", "std::int64_t");
  auto unsigned_wide = add<std::uint64_t>(*model, "unsigned_wide", "std::uint64_t");
  auto bits = add<std::bitset<20>>(*model, "bits", "std::bitset<20>");
  auto perhaps = add<std::optional<float>>(*model, "perhaps", "std::optional<float>");
  auto matrix = add<std::array<std::array<float, 2>, 3>>(*model, "matrix",
      "std::array<std::array<float, 2>, 3>");
  auto corners = add<std::vector<std::array<short, 2>>>(*model, "corners",
      "std::vector<std::array<short, 2>>");
  auto flags = add<std::vector<bool>>(*model, "flags", "std::vector<bool>");
  auto words = add<std::vector<std::string>>(*model, "words", "std::vector<std::string>");
  auto deep = add<std::vector<std::vector<std::vector<int>>>>(*model, "deep",
      "std::vector<std::vector<std::vector<int>>>");
  ROOT::RNTupleWriteOptions options;
  options.SetCompression(compression);
  options.SetMaxUnzippedPageSize(512);
  options.SetInitialUnzippedPageSize(256);
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "kinds", path, options);
  auto& entry = writer->GetModel().GetDefaultEntry();
  TRandom3 random(7);
  for (int i = 0; i < n_entries; ++i) {
    const double x = random.Uniform(-10, 10);
    *entry.GetPtr<float>("half") = x;
    *entry.GetPtr<double>("truncated") = x;
    *entry.GetPtr<double>("quantised") = x;
    *entry.GetPtr<float>("narrow") = x;
    *entry.GetPtr<double>("double32") = x;
    *letter = 'a' + i % 26;
    *small = i % 255 - 127;
    *wide = (i % 2 ? -1 : 1) * (std::int64_t{1} << (i % 63));
    *unsigned_wide = ~std::uint64_t{0} - i;
    *bits = std::bitset<20>(i * 37);
    *perhaps = i % 4 == 0 ? std::optional<float>{} : std::optional<float>{i};
    *matrix = {{{1.f * i, 2.f * i}, {3.f * i, 4.f * i}, {5.f * i, 6.f * i}}};
    corners->assign(i % 3, {static_cast<short>(i), static_cast<short>(-i)});
    flags->assign(i % 5, i % 2 == 0);
    words->assign(i % 2, std::string(i % 7, 'x'));
    const std::vector<int> innermost(i % 4, i);
    deep->assign(i % 3, std::vector<std::vector<int>>(i % 2 + 1, innermost));
    writer->Fill();
    if (i % 300 == 299) writer->CommitCluster();
  }
}
void write_variants(const char* path, int first, int n_entries) {
  auto model = ROOT::RNTupleModel::Create();
  auto number = add<int>(*model, "number", "int");
  auto either = add<std::variant<int, std::string, std::vector<float>>>(*model, "either",
      "std::variant<int, std::string, std::vector<float>>");
  auto all = add<std::vector<std::variant<float, short>>>(*model, "all",
      "std::vector<std::variant<float, short>>");
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "variants", path);
  for (int i = first; i < first + n_entries; ++i) {
    *number = i;
    if (i % 3 == 0) *either = i;
    if (i % 3 == 1) *either = std::to_string(i);
    if (i % 3 == 2) *either = std::vector<float>(i % 4, i);
    all->clear();
    for (int j = 0; j < i % 4; ++j) {
      if (j % 2 == 0) all->emplace_back(0.5f * i);
      else all->emplace_back(static_cast<short>(-j));
    }
    writer->Fill();
    if (i % 40 == 39) writer->CommitCluster();
  }
}
std::string said_by_variants(const char* path) {
  auto reader = ROOT::RNTupleReader::Open("variants", path);
  auto& entry = reader->GetModel().GetDefaultEntry();
  const auto either = std::static_pointer_cast<std::variant<int, std::string, std::vector<float>>>(
      entry.GetPtr<void>("either"));
  const auto all = std::static_pointer_cast<std::vector<std::variant<float, short>>>(
      entry.GetPtr<void>("all"));
  std::ostringstream said;
  for (const auto i : reader->GetEntryRange()) {
    reader->LoadEntry(i);
    const auto& value = *either;
    said << value.index() << ":";
    if (value.index() == 0) said << std::get<0>(value);
    if (value.index() == 1) said << std::get<1>(value);
    if (value.index() == 2) for (const auto x : std::get<2>(value)) said << x << ",";
    for (const auto& each : *all) {
      said << ";" << each.index() << ":";
      std::visit([&](const auto x) { said << x; }, each);
    }
    said << "\\n";
  }
  return said.str();
}"""


def write_kinds(path: Path, n_entries: int, compression: int) -> str:
    """`compression`: ROOT's number; 0: values are not split, either."""
    call_root(_call, "write_kinds", str(path), n_entries, compression)
    return str(path)


def write_variants(path: Path, first: int, n_entries: int) -> str:
    """`first`: number of the first entry."""
    call_root(_call, "write_variants", str(path), first, n_entries)
    return str(path)


def said_by_variants(path: Path | str) -> list[str]:
    """What ROOT reads of these: a line for each entry, of which alternative each value is."""
    return str(call_root(_call, "said_by_variants", str(path))).splitlines()


def _call(name: str, *arguments: Any) -> str:
    """Calls one of the functions above. It is one function for all, so that ROOT compiles them
    once, which takes seconds."""
    import ROOT

    declare(_WRITE)
    return str(getattr(ROOT, name)(*arguments))
