#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <forkrun/core/data/column.hpp>
#include <forkrun/core/data/source.hpp>
#include <forkrun/formats/lcio/event_block.hpp>

namespace forkrun::lcio {

/// Parts of a column's name in an LCIO file.
enum class ColumnOrigin : std::uint8_t {
  run,
  lumi,  ///< 1, or of "event/100": 1 and a hundredth of the number of the event
  event,
  time_stamp,
  detector,
  weight,
  event_parameter,       ///< "parameters.Thrust"
  run_parameter,         ///< "RunHeader.parameters.Generator"
  particle_id,           ///< "PFOs.pid.LikelihoodPID.pdg"; the member follows "pid."
  collection_parameter,  ///< "ECAL.parameters.CellIDEncoding"
  member,                ///< "MCParticle.pdg"; of a pointer: the index in its collection
  pointer_collection,    ///< "MCParticle.parents_collectionID"
  daughters,             ///< of MCParticles, which are stored with their parents
  daughters_collection
};

struct ColumnKey {
  ColumnOrigin origin{};
  std::string collection{};
  std::string member{};  ///< or the name of the parameter
  ColumnType type{};
  std::uint32_t events_per_lumi{};
};

/// Members from which a column is made.
[[nodiscard]] std::vector<std::string> members_for(const ColumnKey& key);

constexpr std::string_view parameters_of_run = "RunHeader.parameters.";

/// Parses the name of a column. \throws InputError if it is none
[[nodiscard]] ColumnKey column_key(const ColumnDescription& column);

/// Columns of events, of all versions, in the order of the names.
[[nodiscard]] std::vector<ColumnDescription> event_columns();
/// Columns that the objects of a collection have.
[[nodiscard]] std::vector<ColumnDescription> collection_columns(std::string_view collection,
                                                                ObjectType type);
/// Columns of the particle identification algorithms named in the parameters of a collection.
[[nodiscard]] std::vector<ColumnDescription> particle_id_columns(std::string_view collection,
                                                                 const Parameters& parameters);
/// One item for each object, or a list of them. Arrays in lists are concatenated.
[[nodiscard]] ColumnType type_of_member(const Member& member);
/// Type of a parameter, as "float32[]".
[[nodiscard]] ColumnType type_of(const Parameter& parameter);

/// Run, lumi and number of an event. \throws InputError if one is below 0
[[nodiscard]] EventId id_of(const EventHeader& header, std::uint32_t events_per_lumi);

/// Makes a column of all events. \throws InputError with file and event
void fill(EventBlock& events, const ColumnKey& key, Column& into);

}  // namespace forkrun::lcio
