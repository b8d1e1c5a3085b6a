#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/typing.h>

// One function per topic; each adds its classes and functions to the module.
namespace forkrun::bindings {

void register_errors(pybind11::module_& module);
void register_digest(pybind11::module_& module);
void register_key_index(pybind11::module_& module);
void register_exact_sums(pybind11::module_& module);
void register_cell_table(pybind11::module_& module);
void register_reading(pybind11::module_& module);
void register_outputs(pybind11::module_& module);
void register_histogram_files(pybind11::module_& module);
void register_lcio(pybind11::module_& module);
void register_memory(pybind11::module_& module);
void register_status_board(pybind11::module_& module);
void register_unit_counter(pybind11::module_& module);
void register_commit_counter(pybind11::module_& module);
void register_random(pybind11::module_& module);
void register_block(pybind11::module_& module);
void register_conditions(pybind11::module_& module);
void register_schedule(pybind11::module_& module);
void register_processor(pybind11::module_& module);
void register_replay(pybind11::module_& module);
void register_plan(pybind11::module_& module);
void register_process(pybind11::module_& module);
void register_pages(pybind11::module_& module);

}  // namespace forkrun::bindings
