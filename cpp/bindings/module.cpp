#include <forkrun/formats/root_file/start_root.hpp>

#include "bindings.hpp"

namespace {

/// A program that has loaded ROOT by itself keeps ROOT's handlers.
void restore_signal_handlers() {
  const auto modules = pybind11::module_::import("sys").attr("modules");
  if (!modules.contains("ROOT")) {
    forkrun::root_io::restore_signal_handlers();
  }
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  using namespace forkrun::bindings;
  restore_signal_handlers();
  module.doc() = "C++ core of forkrun: columns, schedule, event loop, ROOT input and output";
  register_errors(module);
  register_digest(module);
  register_key_index(module);
  register_exact_sums(module);
  register_cell_table(module);
  register_reading(module);
  register_histogram_files(module);
  register_memory(module);
  register_status_board(module);
  register_unit_counter(module);
  register_commit_counter(module);
  register_random(module);
  register_block(module);
  register_conditions(module);
  register_schedule(module);
  register_pages(module);  // later signatures need its classes
  register_processor(module);
  register_outputs(module);
  register_lcio(module);
  register_replay(module);
  register_plan(module);
  register_process(module);
}
