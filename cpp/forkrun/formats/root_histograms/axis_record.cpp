#include <forkrun/formats/root_histograms/axis_record.hpp>

namespace forkrun::root_io {

namespace {

/// TAttAxis.
void write_style(ObjectWriter& to, const AxisStyle& style) {
  constexpr std::int16_t black = 1;
  constexpr std::int16_t helvetica = 42;
  to.object(4, [&] {
    to.numbers(style.n_divisions, style.color, style.color, style.label_font, style.label_offset,
               style.label_size, style.tick_length, style.title_offset, style.title_size, black,
               helvetica);
  });
}

/// Labels are numbered with their bins.
void write_labels(ObjectWriter& to, const std::vector<std::string>& labels) {
  to.pointer("THashList", [&] {
    to.object(5, [&] {
      to.base();
      to.text("");
      to.number(static_cast<std::int32_t>(labels.size()));
      for (std::uint32_t bin = 1; const auto& label : labels) {
        to.pointer("TObjString", [&] {
          to.object(1, [&] {
            to.base(0, bin++);
            to.text(label);
          });
        });
        to.text("");  // its option in the list
      }
    });
  });
}

}  // namespace

void write_axis(ObjectWriter& to, std::string_view name, const AxisContent& axis,
                const AxisStyle& style) {
  constexpr std::uint16_t alphanumeric_and_growing = 3;
  const bool has_labels = !axis.labels.empty();
  to.object(10, [&] {
    to.named(name, axis.title);
    write_style(to, style);
    to.numbers(static_cast<std::int32_t>(axis.n_bins()), axis.edges.front(), axis.edges.back());
    to.array(axis.has_equal_bins ? std::span<const double>{} : axis.edges);
    to.numbers(std::int32_t{0}, std::int32_t{0});  // no range of bins is chosen
    to.number(has_labels ? alphanumeric_and_growing : std::uint16_t{0});
    to.number(std::uint8_t{0});  // it is no axis of times
    to.text("");
    has_labels ? write_labels(to, axis.labels) : to.null("THashList");
    to.null("TList");  // no label has a style of its own
  });
}

}  // namespace forkrun::root_io
