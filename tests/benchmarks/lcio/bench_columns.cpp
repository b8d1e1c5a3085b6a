// What steps of reading a file of LCIO cost: bench_columns FILE [WAY]. For each way, or that one, a
// line: its name and the CPU seconds of a pass over all events; of two threads those of the slower
// one.
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <forkrun/formats/lcio/columns.hpp>
#include <forkrun/formats/lcio/event_block.hpp>
#include <forkrun/formats/lcio/file_index.hpp>

namespace {

using namespace forkrun;

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Input {
  std::shared_ptr<const lcio::EventFile> file;
  std::vector<ColumnDescription> columns;
  std::vector<std::int64_t> blocks;  ///< first event of each, and the number of events

  explicit Input(const std::string& path) : file{std::make_shared<lcio::EventFile>(path)} {
    auto index = lcio::index_file(*file, 0);
    columns = std::move(index.columns);
    constexpr std::size_t per_block = 8;  // of clusters, which are a megabyte each
    for (std::size_t i = 0; i + 1 < index.clusters.size(); i += per_block) {
      blocks.push_back(index.clusters[i]);
    }
    blocks.push_back(index.clusters.back());
  }
};

/// Reads blocks, each `step`-th from the `first` on.
class Reader {
 public:
  Reader(const Input& input, const std::function<bool(const std::string&)>& wants) : input_{input} {
    for (const auto& column : input.columns) {
      if (wants(column.name)) {
        keys_.push_back(lcio::column_key(column));
        for (auto& member : lcio::members_for(keys_.back())) {
          wanted_[keys_.back().collection].push_back(std::move(member));
        }
      }
    }
    columns_.resize(keys_.size());
  }

  void read(bool inflates, std::size_t first = 0, std::size_t step = 1) {
    for (auto i = first; i + 1 < input_.blocks.size(); i += step) {
      events_.load({{input_.file, input_.blocks[i], input_.blocks[i + 1]}});
      if (inflates) {
        events_.inflate_all();
      }
      for (std::size_t k = 0; k < keys_.size(); ++k) {
        lcio::fill(events_, keys_[k], columns_[k]);
      }
    }
  }

 private:
  const Input& input_;
  lcio::WantedMembers wanted_;
  lcio::EventBlock events_{wanted_};
  std::vector<lcio::ColumnKey> keys_;
  std::vector<Column> columns_;
};

void read_records(const Input& input, bool with_zlib) {
  std::vector<std::byte> stored;
  std::vector<unsigned char> data;
  ReadAccount account;
  for (std::size_t i = 0; i + 1 < input.blocks.size(); ++i) {
    const auto first = static_cast<std::size_t>(input.blocks[i]);
    const auto last = static_cast<std::size_t>(input.blocks[i + 1]);
    const auto begin = input.file->events()[first].place;
    stored.resize(static_cast<std::size_t>(input.file->events()[last - 1].end - begin));
    input.file->read(begin, stored, account);
    for (std::size_t at = 0; at < stored.size() && with_zlib;) {
      const auto rest = std::span<const std::byte>{stored}.subspan(at);
      const auto head = lcio::record_head(rest, 0, std::ssize(rest));
      data.resize(head.n_data);
      uLongf n = head.n_data;
      uncompress(data.data(), &n, reinterpret_cast<const Bytef*>(&rest[head.n_head]),
                 head.n_stored);
      at += static_cast<std::size_t>(head.end());
    }
  }
}

double two_threads(Reader& one, Reader& other) {
  double slower = 0;
  std::jthread second{[&] {
    const auto start = cpu_s();
    other.read(true, 1, 2);
    slower = cpu_s() - start;
  }};
  const auto start = cpu_s();
  one.read(true, 0, 2);
  const auto own = cpu_s() - start;
  second.join();
  return std::max(own, slower);
}

}  // namespace

int main(int n_arguments, char** arguments) {
  const std::string chosen = n_arguments > 2 ? arguments[2] : "";
  const Input input{arguments[1]};
  const auto everything = [](const std::string&) { return true; };
  const auto is_in = [](std::vector<std::string> names) {
    return [names = std::move(names)](const std::string& name) {
      return std::ranges::find(names, name) != names.end();
    };
  };
  Reader nothing{input, [](const auto&) { return false; }}, all{input, everything};
  Reader header{input, is_in({"parameters.Thrust"})};
  Reader three{
      input, is_in({"PandoraPFOs.momentum.x", "PandoraPFOs.momentum.y", "PandoraPFOs.momentum.z"})};
  Reader of_two{input, everything}, of_two_other{input, everything};
  const std::vector<std::pair<const char*, std::function<void()>>> ways{{"records", [&] { read_records(input, false); }},
                                                                        {"zlib", [&] { read_records(input, true); }},
                                                                        {"inflating", [&] { nothing.read(true); }},
                                                                        {"header", [&] { header.read(false); }},
                                                                        {"three columns", [&] { three.read(true); }},
                                                                        {"all columns", [&] { all.read(true); }}};
  for (int pass = 0; pass < 2; ++pass) {  // the first has memory to get
    for (const auto& [name, way] : ways) {
      if (!chosen.empty() && chosen != name) {
        continue;
      }
      const auto start = cpu_s();
      way();
      if (pass > 0) {
        std::printf("%s\t%.6f\n", name, cpu_s() - start);
      }
    }
    if (!chosen.empty()) {
      continue;
    }
    if (const auto slower = two_threads(of_two, of_two_other); pass > 0) {
      std::printf("all columns, 2 threads\t%.6f\n", slower);
    }
  }
}
