#include <forkrun/process/commit_counter.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>

#include <forkrun/process/open_file.hpp>

namespace forkrun {

namespace {

/// Reads a text piece by piece; false after a mismatch.
class Pieces {
 public:
  explicit Pieces(std::string_view text) : text_{text} {}

  Pieces& text(std::string_view expected) {
    fits_ = fits_ && text_.starts_with(expected);
    text_.remove_prefix(fits_ ? expected.size() : 0);
    return *this;
  }

  Pieces& number(std::uint64_t& value) {
    const auto* begin = text_.data();
    const auto [end, error] = std::from_chars(begin, begin + text_.size(), value);
    fits_ = fits_ && error == std::errc{};
    text_.remove_prefix(fits_ ? static_cast<std::size_t>(end - begin) : 0);
    return *this;
  }

  Pieces& word(std::string_view letters) {
    const auto n = std::min(text_.find_first_not_of(letters), text_.size());
    fits_ = fits_ && n > 0;
    text_.remove_prefix(fits_ ? n : 0);
    return *this;
  }

  explicit operator bool() const { return fits_; }

 private:
  std::string_view text_;
  bool fits_{true};
};

constexpr std::string_view hex_digits = "0123456789abcdef";
constexpr std::string_view last_field = R"("crc32":"01234567"})";

bool is_checked(std::string_view line) {
  auto end = Pieces{line.substr(line.size() - std::min(line.size(), last_field.size()))};
  return bool{end.text(R"("crc32":")").word(hex_digits).text(R"("})")};
}

/// Units of a commit. Users' labels may have the same name, but no number follows them.
std::optional<std::uint64_t> find_n_units(std::string_view line) {
  constexpr std::string_view name = R"("n_units":)";
  while (const void* found = ::memmem(line.data(), line.size(), name.data(), name.size())) {
    line.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(found) - line.data()) +
                       name.size());
    std::uint64_t n_units{};
    if (Pieces{line}.number(n_units).text(R"(,"block_size":)")) {
      return n_units;
    }
  }
  return std::nullopt;
}

/// The number after the first such name, 0 if there is none.
double find_time(std::string_view name, std::string_view text) {
  const auto at = text.find(name);
  double time_s = 0;
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at + name.size(), text.data() + text.size(), time_s);
  }
  return time_s;
}

std::string_view last_line(std::string_view lines) {
  lines.remove_suffix(1);
  const auto before = lines.rfind('\n');
  return before == std::string_view::npos ? lines : lines.substr(before + 1);
}

/// The line of a commit without left-out events; none for other lines.
std::optional<CommitCounter::Counted> parse_commit(std::string_view line) {
  CommitCounter::Counted found;
  std::uint64_t not_used{};
  const auto begin = Pieces{line}
                         .text(R"({"unit":)")
                         .number(found.unit)
                         .text(R"(,"child":)")
                         .number(not_used)
                         .text(R"(,"pid":)")
                         .number(not_used)
                         .text(R"(,"run":)")
                         .number(not_used)
                         .text(R"(,"lumi":)")
                         .number(not_used)
                         .text(R"(,"n_events":)")
                         .number(found.counts.n_events)
                         .text(R"(,"digest":")")
                         .word(hex_digits)
                         .text(R"(","skipped":[],)");
  const auto n_units = begin && is_checked(line) ? find_n_units(line) : std::nullopt;
  found.counts.n_units = n_units.value_or(0);
  return n_units ? std::optional{found} : std::nullopt;
}

}  // namespace

CommitCounter::Ledger CommitCounter::read(const std::string& path,
                                          const std::set<std::uint64_t>& apart) {
  const OpenFile file{path};
  Ledger ledger;
  std::size_t n_held = 0;
  while (true) {
    if (n_held == buffer_.size()) {  // a longer line
      buffer_.resize(2 * buffer_.size());
    }
    const auto n = file.read(std::as_writable_bytes(std::span{buffer_}.subspan(n_held))).size();
    if (n == 0) {
      return ledger;
    }
    const std::string_view held{buffer_.data(), n_held + n};
    const auto n_complete = held.rfind('\n') + 1;  // 0 if there is none
    read_lines(held.substr(0, n_complete), apart, ledger);
    std::copy(held.begin() + static_cast<std::ptrdiff_t>(n_complete), held.end(), buffer_.begin());
    n_held = held.size() - n_complete;
  }
}

void CommitCounter::read_lines(std::string_view lines, const std::set<std::uint64_t>& apart,
                               Ledger& ledger) {
  if (lines.empty()) {
    return;
  }
  if (ledger.start_s == 0) {
    ledger.start_s = find_time(R"("start_s":)", lines);
  }
  ledger.end_s = std::max(ledger.end_s, find_time(R"("end_s":)", last_line(lines)));
  for (; !lines.empty(); lines.remove_prefix(lines.find('\n') + 1)) {
    const auto line = lines.substr(0, lines.find('\n'));
    const auto found = parse_commit(line);
    if (found && !apart.contains(found->unit)) {
      ledger.n_events += found->counts.n_events;
      counted_.push_back(*found);
    } else {
      ledger.others.emplace_back(line);
    }
  }
}

void CommitCounter::put(std::uint64_t unit, const CommitCounts& counts) {
  counted_.push_back({unit, counts});
}

CommitCounts CommitCounter::total() const {
  auto in_order = counted_;
  std::ranges::stable_sort(in_order, {}, &Counted::unit);
  CommitCounts sum;
  for (std::size_t n = 0; n < in_order.size(); ++n) {
    const auto is_last = n + 1 == in_order.size() || in_order[n + 1].unit != in_order[n].unit;
    if (is_last) {
      sum.n_units += in_order[n].counts.n_units;
      sum.n_events += in_order[n].counts.n_events;
      sum.n_left_out += in_order[n].counts.n_left_out;
    }
  }
  return sum;
}

}  // namespace forkrun
