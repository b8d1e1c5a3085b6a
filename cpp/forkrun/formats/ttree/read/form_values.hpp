#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <forkrun/bytes/growing_bytes.hpp>
#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/errors.hpp>
#include <forkrun/formats/ttree/layout/value_form.hpp>

namespace forkrun::root_io {

/// Bytes of objects are not those that their file describes: their class writes itself.
class NotAsDescribed : public InputError {
 public:
  using InputError::InputError;
};

/// Values of one column, as the objects of entries are taken apart.
class FormValues {
 public:
  /// Starts again, with a column of this type.
  void begin(const EntryForm& form, ColumnType type, std::size_t n_events);
  /// The next entry. \throws Error if its bytes are not of the form.
  void add(std::span<const std::byte> entry);
  /// Fills a column with all that was added.
  void fill(Column& into) const;

 private:
  struct Header {
    std::span<const std::byte> rest;  ///< after the object
    std::uint32_t version{};
  };

  std::span<const std::byte> take(std::size_t n_bytes);
  [[nodiscard]] std::uint32_t take_count();
  std::span<const std::byte> take_text();
  Header take_header();
  void end_at(const Header& header);
  void check_version(const ValueForm& form, const Header& header);

  void skip(const ValueForm& form);
  void skip_object(const ValueForm& form);
  void skip_list(const ValueForm& form);
  void read(const ValueForm& form, std::size_t depth, std::size_t level);
  void read_many(const ValueForm& form);
  void read_numbers(const ValueForm& form, std::size_t n);
  void read_packed(const ValueForm& form);
  void read_text(const ValueForm& form, std::size_t level);
  void read_characters(std::size_t level);
  void read_items(const ValueForm& form, std::size_t depth, std::size_t level);
  void read_list(const ValueForm& form, std::size_t depth, std::size_t level);
  void read_members(const ValueForm& form, std::size_t depth, std::size_t level,
                    std::uint32_t n_items);
  void read_with_one_header(const ValueForm& form, std::uint32_t n_items, std::size_t depth,
                            std::size_t level);
  void read_object(const ValueForm& form, std::size_t depth, std::size_t level);
  void close(std::size_t level);

  const EntryForm* form_{};
  ColumnType type_{};
  std::span<const std::byte> rest_;
  std::array<std::vector<std::int64_t>, ColumnType::most_levels> ends_;  ///< of lists, by level
  Bytes values_;
};

/// Whether an entry has this form, byte for byte.
[[nodiscard]] bool is_of_form(std::span<const std::byte> entry, const EntryForm& form,
                              ColumnType type);

}  // namespace forkrun::root_io
