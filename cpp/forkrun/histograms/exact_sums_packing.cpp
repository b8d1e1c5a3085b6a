#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/histograms/exact_sums.hpp>
#include <forkrun/histograms/fixed_point.hpp>

namespace forkrun {

using namespace fixed_point;

namespace {

/// From the least denormal number to sums of the largest ones, and room to place the window.
constexpr int least_low = -1074;
constexpr int greatest_high = 1024 + 2 * word_bits;

/// Takes words off the front of packed sums, which may be invalid.
class Reader {
 public:
  explicit Reader(std::span<const Word> words) : rest_{words} {}

  std::span<const Word> take(std::uint64_t n, std::uint64_t each = 1) {
    if (each != 0 && n > rest_.size() / each) {
      throw Error{"its sums go beyond the end"};
    }
    const auto taken = rest_.first(n * each);
    rest_ = rest_.subspan(n * each);
    return taken;
  }
  std::uint64_t take_number(std::uint64_t most, const char* what) {
    const std::uint64_t number = take(1).front();
    if (number > most) {
      throw Error{std::string{"there are more "} + what + " than there can be"};
    }
    return number;
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::span<const Word> rest_;
};

// Packed words: a header; base exponent of each sum; the cells, unless dense; their sums, each with
// n_words; and for each non-finite sum its number and its kinds of values.
struct Header {
  std::uint64_t n_words;
  std::uint64_t n_stored;  ///< cells that follow
  bool names_cells;
  std::uint64_t n_not_finite_sums;
  std::uint64_t n_not_finite;  ///< values
};

Header take_header(Reader& reader, std::size_t n_sums, std::size_t n_cells) {
  if (reader.take(1).front() != n_cells) {
    throw Error{"its sums are of another number of bins"};
  }
  Header header{};
  header.n_words = reader.take_number(most_words - 2, "words per sum");
  header.n_stored = reader.take_number(n_cells, "cells");
  header.names_cells = reader.take_number(1, "lists of cells") != 0;
  header.n_not_finite_sums = reader.take_number(n_cells * n_sums, "sums that are not finite");
  header.n_not_finite = reader.take_number(~Word{0} >> 1, "values that are not finite");
  if (header.n_words == 0 || (!header.names_cells && header.n_stored != n_cells)) {
    throw Error{"cells or words are missing"};
  }
  return header;
}

int take_base(Reader& reader) {
  const auto base = static_cast<std::int64_t>(reader.take(1).front());
  if (base < least_low || base > greatest_high) {
    throw Error{"its sums are too small or too large"};
  }
  return static_cast<int>(base);
}

std::vector<std::uint32_t> take_cells(Reader& reader, std::uint64_t n_stored, std::size_t n_cells) {
  std::vector<std::uint32_t> cells;
  for (const auto cell : reader.take(n_stored)) {
    if (cell >= n_cells || (!cells.empty() && cell <= cells.back())) {
      throw Error{"its cells are not in order"};
    }
    cells.push_back(static_cast<std::uint32_t>(cell));
  }
  return cells;
}

std::map<std::uint64_t, std::uint8_t> take_not_finite(Reader& reader, std::uint64_t n,
                                                      std::uint64_t n_numbers) {
  std::map<std::uint64_t, std::uint8_t> kinds;
  for (std::uint64_t k = 0; k < n; ++k) {
    const auto entry = reader.take(2);
    if (entry[0] >= n_numbers || entry[1] == 0 || entry[1] > 7) {
      throw Error{"a sum that is not finite does not belong to it"};
    }
    kinds[entry[0]] = static_cast<std::uint8_t>(entry[1]);
  }
  return kinds;
}

}  // namespace

ExactSums::Range ExactSums::content(std::size_t sum) const {
  Number any{};
  Number magnitude;
  for (std::size_t place = 0; !words_.empty() && place < n_stored(); ++place) {
    take_magnitude(number(place, sum), magnitude);
    for (std::size_t k = 0; k < n_words_; ++k) {
      any[k] |= magnitude[k];
    }
  }
  const std::span<const Word> words = std::span{any}.first(n_words_);
  const auto is_set = [](Word word) { return word != 0; };
  const auto first = std::ranges::find_if(words, is_set);
  if (first == words.end()) {
    return {};
  }
  const auto last = std::ranges::find_if(words.rbegin(), words.rend(), is_set);
  const auto bits = [](auto n_words) { return static_cast<int>(n_words) * word_bits; };
  return {windows_[sum].base + bits(first - words.begin()) + std::countr_zero(*first),
          windows_[sum].base + bits(words.rend() - last) - std::countl_zero(*last)};
}

std::vector<std::uint64_t> ExactSums::packed() const {
  if (n_counted_ != 0) {
    return with_counts_added().packed();
  }
  std::size_t n_words = 1;
  std::vector<int> bases;
  for (std::size_t s = 0; s < n_sums_; ++s) {
    const Range range = content(s);
    bases.push_back(range.low);
    const auto n_bits = static_cast<std::size_t>(range.high - range.low + 1);  // one for the sign
    n_words = std::max(n_words, (n_bits + word_bits - 1) / word_bits);
  }
  auto places = places_with_content();
  const bool names_cells = places.size() * (1 + n_sums_ * n_words) < n_cells_ * n_sums_ * n_words;
  if (!names_cells && !is_dense_) {
    ExactSums dense{*this};
    dense.make_dense();
    return dense.packed();
  }
  if (!names_cells) {
    places.resize(n_cells_);
    std::iota(places.begin(), places.end(), std::size_t{0});
  }
  const std::size_t n_numbers = places.size() * n_sums_ * n_words;
  std::vector<Word> result{n_cells_,           n_words,      places.size(), names_cells,
                           not_finite_.size(), n_not_finite_};
  result.reserve(6 + n_sums_ + places.size() + n_numbers + 2 * not_finite_.size());
  std::ranges::transform(bases, std::back_inserter(result),
                         [](int base) { return static_cast<Word>(std::int64_t{base}); });
  if (names_cells) {
    std::ranges::transform(places, std::back_inserter(result),
                           [this](std::size_t place) { return cell_at(place); });
  }
  result.resize(result.size() + n_numbers);
  pack_numbers(places, bases, std::span{result}.last(n_numbers));
  for (const auto& [sum, kinds] : not_finite_) {
    result.insert(result.end(), {sum, kinds});
  }
  return result;
}

void ExactSums::pack_numbers(std::span<const std::size_t> places, std::span<const int> bases,
                             std::span<std::uint64_t> result) const {
  const std::size_t n_words = places.empty() ? 0 : result.size() / (places.size() * n_sums_);
  for (const std::size_t place : places) {
    for (std::size_t s = 0; s < n_sums_; ++s) {
      shift_number(number(place, s), windows_[s].base - bases[s], result.first(n_words));
      result = result.subspan(n_words);
    }
  }
}

ExactSums ExactSums::unpacked(std::span<const std::uint64_t> packed, std::size_t n_sums,
                              std::size_t n_cells) {
  ExactSums sums{n_sums, n_cells};
  Reader reader{packed};
  const Header header = take_header(reader, n_sums, n_cells);
  sums.n_words_ = header.n_words;
  sums.n_not_finite_ = header.n_not_finite;
  sums.is_dense_ = !header.names_cells;
  sums.n_adds_ = header.n_stored > 0 ? 1 : 0;
  for (auto& window : sums.windows_) {
    window.base = take_base(reader);
  }
  if (header.names_cells) {
    sums.cells_ = take_cells(reader, header.n_stored, n_cells);
  }
  const auto words = reader.take(header.n_stored, n_sums * header.n_words);
  sums.words_ = Words(words.size());
  std::ranges::copy(words, sums.words_.unshared().begin());
  sums.not_finite_ = take_not_finite(reader, header.n_not_finite_sums, n_cells * n_sums);
  if (!reader.at_end()) {
    throw Error{"words follow its sums"};
  }
  for (std::size_t s = 0; s < n_sums; ++s) {
    sums.windows_[s].seen = sums.content(s);
    if (sums.windows_[s].seen.high > greatest_high) {
      throw Error{"its sums are too small or too large"};
    }
  }
  return sums;
}

}  // namespace forkrun
