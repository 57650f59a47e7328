#pragma once

#include <pybind11/pybind11.h>

namespace gym::python {

/// Datasets, programs, states, local training.
void bind_engine(pybind11::module_& module);
/// Presets and tokenizers.
void bind_text(pybind11::module_& module);
/// Models as folders.
void bind_model(pybind11::module_& module);
/// Mixes of token files.
void bind_data(pybind11::module_& module);
/// What lies beside a token file.
void bind_beside(pybind11::module_& module);
/// Stored networks.
void bind_network(pybind11::module_& module);
/// A network's gym-api.
void bind_client(pybind11::module_& module);
/// Plans and quotes of jobs.
void bind_plan(pybind11::module_& module);

}  // namespace gym::python
