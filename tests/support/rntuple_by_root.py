"""An RNTuple of types that files of experiments have rarely, as ROOT writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.server.root_program import call_root, declare

_WRITE = """
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
  auto letter = model->MakeField<char>("letter");
  auto small = model->MakeField<std::int8_t>("small");
  auto wide = model->MakeField<std::int64_t>("wide");
  auto unsigned_wide = model->MakeField<std::uint64_t>("unsigned_wide");
  auto bits = model->MakeField<std::bitset<20>>("bits");
  auto perhaps = model->MakeField<std::optional<float>>("perhaps");
  auto matrix = model->MakeField<std::array<std::array<float, 2>, 3>>("matrix");
  auto corners = model->MakeField<std::vector<std::array<short, 2>>>("corners");
  auto flags = model->MakeField<std::vector<bool>>("flags");
  auto words = model->MakeField<std::vector<std::string>>("words");
  auto deep = model->MakeField<std::vector<std::vector<std::vector<int>>>>("deep");
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
  auto number = model->MakeField<int>("number");
  auto either = model->MakeField<std::variant<int, std::string, std::vector<float>>>("either");
  auto all = model->MakeField<std::vector<std::variant<float, short>>>("all");
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
  auto either = reader->GetView<std::variant<int, std::string, std::vector<float>>>("either");
  auto all = reader->GetView<std::vector<std::variant<float, short>>>("all");
  std::ostringstream said;
  for (const auto i : reader->GetEntryRange()) {
    const auto& value = either(i);
    said << value.index() << ":";
    if (value.index() == 0) said << std::get<0>(value);
    if (value.index() == 1) said << std::get<1>(value);
    if (value.index() == 2) for (const auto x : std::get<2>(value)) said << x << ",";
    for (const auto& each : all(i)) {
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
