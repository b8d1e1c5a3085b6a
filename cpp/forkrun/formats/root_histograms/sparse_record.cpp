#include <forkrun/formats/root_histograms/sparse_record.hpp>

#include <algorithm>
#include <bit>

#include <forkrun/formats/root_histograms/histogram_record.hpp>

namespace forkrun::root_io {

namespace {

constexpr std::size_t chunk_size = 1U << 14U;  // cells; the last chunk is filled up with zeros
using Cells = std::vector<std::size_t>;

Cells cells_with_content(const HistogramContent& content) {
  const auto values = content.weights();
  const auto squares = content.squared_weights();
  Cells cells;
  for (std::size_t cell = 0; cell < values.size(); ++cell) {
    if (values[cell] != 0 || (!squares.empty() && squares[cell] != 0)) {  // true for NaN
      cells.push_back(cell);
    }
  }
  return cells;
}

std::size_t n_bits_of(const AxisContent& axis) {
  return static_cast<std::size_t>(std::bit_width(axis.n_cells()));
}

std::size_t n_coordinate_bytes(const HistogramContent& content) {
  std::size_t n_bits = 0;
  for (const auto& axis : content.axes) {
    n_bits += n_bits_of(axis);
  }
  return (n_bits + 7) / 8;
}

/// Bins of a cell on all axes, each in as many bits as its axis needs, the lowest bit first.
void put_coordinates(const HistogramContent& content, std::size_t cell, std::span<std::byte> to) {
  std::size_t at = 0;
  for (const auto& axis : content.axes) {
    const auto bin = cell % axis.n_cells();
    cell /= axis.n_cells();
    for (std::size_t bit = 0; bit < n_bits_of(axis); ++bit, ++at) {
      to[at / 8] |= static_cast<std::byte>(((bin >> bit) & 1U) << (at % 8));
    }
  }
}

void write_axis_list(ObjectWriter& to, const HistogramContent& content) {
  const AxisStyle style{.title_size = 0.05F};
  to.array_of_objects(content.axes.size(), ObjectWriter::is_owner, [&] {
    for (std::size_t i = 0; i < content.axes.size(); ++i) {
      to.pointer("TAxis",
                 [&] { write_axis(to, "axis" + std::to_string(i), content.axes[i], style); });
    }
  });
}

/// THnBase.
void write_base(ObjectWriter& to, const HistogramContent& content) {
  const std::vector<double> no_moments(content.axes.size());
  to.object(1, [&] {
    to.named(content.name.substr(content.name.rfind('/') + 1), title_of(content));
    to.number(static_cast<std::int32_t>(content.axes.size()));
    write_axis_list(to, content);
    to.numbers(content.n_entries(), 0.0, content.squared_weights().empty() ? -1.0 : 0.0);
    to.array(no_moments);
    to.array(no_moments);
  });
}

void write_sums(ObjectWriter& to, Sums sums, std::span<const std::size_t> cells) {
  std::vector<double> chunk(chunk_size);
  std::ranges::transform(cells, chunk.begin(), [&](std::size_t cell) { return sums[cell]; });
  to.pointer("TArrayD", [&] { to.array(chunk); });
}

void write_chunk(ObjectWriter& to, const HistogramContent& content,
                 std::span<const std::size_t> cells) {
  const auto n_each = n_coordinate_bytes(content);
  std::vector<std::byte> coordinates(n_each * cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    put_coordinates(content, cells[i], std::span{coordinates}.subspan(i * n_each, n_each));
  }
  to.pointer("THnSparseArrayChunk", [&] {
    to.object(1, [&] {
      to.base();
      to.numbers(static_cast<std::int32_t>(n_each), static_cast<std::int32_t>(coordinates.size()));
      to.number(std::uint8_t{1});  // there are coordinates
      to.raw(coordinates);
      write_sums(to, content.weights(), cells);
      const auto squares = content.squared_weights();
      squares.empty() ? to.null("TArrayD") : write_sums(to, squares, cells);
    });
  });
}

}  // namespace

void write_sparse(ObjectWriter& to, const HistogramContent& content) {
  const auto cells = cells_with_content(content);
  const auto n_chunks = (cells.size() + chunk_size - 1) / chunk_size;
  to.object(1, [&] {
    to.object(3, [&] {  // THnSparse
      write_base(to, content);
      to.numbers(static_cast<std::int32_t>(chunk_size), static_cast<std::int64_t>(cells.size()));
      to.array_of_objects(n_chunks, ObjectWriter::is_owner, [&] {
        for (std::size_t at = 0; at < cells.size(); at += chunk_size) {
          const auto n = std::min(chunk_size, cells.size() - at);
          write_chunk(to, content, std::span{cells}.subspan(at, n));
        }
      });
    });
  });
}

std::size_t n_sparse_bytes(const HistogramContent& content) {
  const auto n_cells = cells_with_content(content).size();
  const auto n_sums = content.squared_weights().empty() ? std::size_t{1} : std::size_t{2};
  return (n_cells + chunk_size) * n_sums * sizeof(double) + n_cells * n_coordinate_bytes(content);
}

}  // namespace forkrun::root_io
