# The headers that authors of modules include, and what these need: all others are our own affair.
set(FORKRUN_PUBLIC_HEADERS
  module.hpp
  conditions/correctionlib.hpp
  core/data/column.hpp
  core/data/counted.hpp
  core/data/errors.hpp
  core/data/event_id.hpp
  core/data/input_cost.hpp
  core/data/nearest_name.hpp
  core/data/parameters.hpp
  core/data/source.hpp
  core/data/unit_of_work.hpp
  core/module/accumulators.hpp
  core/module/appending.hpp
  core/module/binned_table.hpp
  core/module/block.hpp
  core/module/conditions.hpp
  core/module/coroutine.hpp
  core/module/external_work.hpp
  core/module/module.hpp
  histograms/axes.hpp
  histograms/cell_filler.hpp
  histograms/cell_table.hpp
  histograms/exact_fills.hpp
  histograms/exact_sums.hpp
  histograms/histogram.hpp
  histograms/histogram_of.hpp
  histograms/histogram_with_axes.hpp
  histograms/moments.hpp
  histograms/pending_fills.hpp
  histograms/sums_in_parts.hpp
  histograms/table_memory.hpp
  random/distributions.hpp
  random/event_random.hpp
  random/mixing.hpp
  random/philox.hpp
  random/poisson.hpp
)
foreach(header IN LISTS FORKRUN_PUBLIC_HEADERS)
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "${PROJECT_SOURCE_DIR}/forkrun/${header}" DESTINATION "${FORKRUN_PREFIX}include/forkrun/${folder}")
endforeach()
