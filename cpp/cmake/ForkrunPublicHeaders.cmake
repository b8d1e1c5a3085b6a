# The headers that authors of modules include, and what these need: all others are our own affair.
set(FORKRUN_PUBLIC_HEADERS
  module.hpp
  conditions/correctionlib.hpp
  core/data/block_lumis.hpp
  core/data/column.hpp
  core/data/errors.hpp
  core/data/event_id.hpp
  core/data/exact_fills.hpp
  core/data/exact_sums.hpp
  core/data/moments.hpp
  core/data/nearest_name.hpp
  core/data/parameters.hpp
  core/data/source.hpp
  core/data/sums_in_parts.hpp
  core/data/table_memory.hpp
  core/data/unit_of_work.hpp
  core/histograms/axes.hpp
  core/histograms/cell_filler.hpp
  core/histograms/cell_table.hpp
  core/histograms/histogram.hpp
  core/histograms/histogram_of.hpp
  core/histograms/histogram_with_axes.hpp
  core/histograms/pending_fills.hpp
  core/histograms/thread_number.hpp
  core/module/accumulators.hpp
  core/module/appending.hpp
  core/module/binned_table.hpp
  core/module/block.hpp
  core/module/conditions.hpp
  core/module/coroutine.hpp
  core/module/external_work.hpp
  core/module/module.hpp
  core/module/product_fetcher.hpp
  random/distributions.hpp
  random/event_random.hpp
  random/mixing.hpp
  random/philox.hpp
  random/poisson.hpp
  random/random_key.hpp
)
foreach(header IN LISTS FORKRUN_PUBLIC_HEADERS)
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "${PROJECT_SOURCE_DIR}/forkrun/${header}" DESTINATION "${FORKRUN_PREFIX}include/forkrun/${folder}")
endforeach()
