#include "bindings.hpp"

PYBIND11_MODULE(_core, module) {
  using namespace forkrun::bindings;
  module.doc() = "C++ core of forkrun: columns, schedule, event loop, ROOT input and output";
  register_errors(module);
  register_digest(module);
  register_exact_sums(module);
  register_cell_table(module);
  register_files(module);
  register_memory(module);
  register_tree_writer(module);
  register_status_board(module);
  register_unit_counter(module);
  register_commit_counter(module);
  register_random(module);
  register_block(module);
  register_conditions(module);
  register_schedule(module);
  register_processor(module);
  register_replay(module);
  register_process(module);
  register_pages(module);
}
