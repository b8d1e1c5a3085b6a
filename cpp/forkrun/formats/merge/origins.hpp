#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <forkrun/formats/root_file/record_file.hpp>
#include <forkrun/formats/table/row_origins.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>

namespace forkrun::root_io {

/// By path of a tree, in the order of its rows; "": the files whose objects are in the file.
using OriginsByPath = std::map<std::string, std::vector<OriginRows>>;

/// The tree of an output that says where the rows of its carried trees came from. A row for each
/// stretch of rows, so that the trees of files that any program joins, one after the other, still
/// say it.
inline const std::string origin_record = "forkrun_origins";

/// None if the file has no such tree. \throws InputError
[[nodiscard]] std::optional<OriginsByPath> read_origins(TreeFile& file);
/// \throws OutputError
void write_origins(RecordFile& file, const OriginsByPath& origins, Compression compression);

/// Follows, through the files of a merge, which files the rows of trees and the objects come from.
class Origins {
 public:
  /// `records_all`: the output will say it of all trees; else of those of which an input says it.
  explicit Origins(bool records_all) : records_all_{records_all} {}

  /// \throws InputError if its record is damaged.
  void begin_file(TreeFile& file);

  /// Rows to take of a tree of this file.
  [[nodiscard]] TakenRows take_rows(const std::string& path);
  /// \throws InputError unless the tree, with so many rows, has those that the record names.
  void check_rows(const std::string& path, std::int64_t n_rows) const;
  /// Notes what was taken: so many rows of those of the tree.
  void add_rows(const std::string& path, const TakenRows& taken, std::int64_t n_rows,
                std::int64_t n_taken);

  /// Whether to take an object that is merged with those of other files. \throws InputError if it
  /// holds a sum of which only a part is new.
  [[nodiscard]] bool takes_object(const std::string& path);

  /// Origins to record in the output; nothing if it is empty.
  [[nodiscard]] OriginsByPath of_output() const;
  /// Lines for people on what was left out.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  /// Null if the file is itself the origin.
  [[nodiscard]] const std::vector<OriginRows>* carried(const std::string& path) const;
  [[nodiscard]] TakenRows take(RowOrigins& origins, const std::string& path);

  bool records_all_;
  std::string file_;
  Origin own_;
  std::optional<OriginsByPath> record_;  ///< of this file
  std::set<std::string> recorded_;       ///< paths of which an input says it
  std::map<std::string, RowOrigins> rows_;
  std::map<std::string, RowOrigins> objects_;
  std::set<Origin> in_objects_;
  OriginsByPath output_;
  std::map<std::string, std::int64_t> left_out_;
};

}  // namespace forkrun::root_io
