#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "errors.hpp"
#include "gym/data/mix.hpp"

/// Token files of several others.
namespace gym::python {
namespace {

namespace py = pybind11;

std::vector<data::MixShare> mix(const std::vector<std::pair<std::string, std::uint64_t>>& inputs,
                                const std::string& output, std::uint64_t tokens,
                                bool whole_documents, bool best_effort) {
    data::MixOptions options{.inputs = {},
                             .output = output,
                             .tokens = tokens,
                             .whole_documents = whole_documents,
                             .best_effort = best_effort};
    options.inputs.reserve(inputs.size());
    for (const auto& [path, weight_ppm] : inputs)
        options.inputs.push_back({path, weight_ppm});
    return unlocked([&] { return data::mix(options); }).shares;
}

}  // namespace

void bind_data(py::module_& module) {
    using data::MixShare;
    py::class_<MixShare>(module, "MixedInput")
        .def_property_readonly("path", [](const MixShare& self) { return self.path.string(); })
        .def_property_readonly("root", [](const MixShare& self) { return self.dataset_root.hex(); })
        .def_readonly("taken", &MixShare::taken)
        .def_readonly("asked_ppm", &MixShare::asked_ppm)
        .def_readonly("achieved_ppm", &MixShare::achieved_ppm);
    module.attr("MIX_INPUTS_MAX") = data::kMixInputsMax;
    module.def("mix", &mix, py::arg("inputs"), py::arg("output"), py::arg("tokens"),
               py::arg("whole_documents"), py::arg("best_effort"));
}

}  // namespace gym::python
