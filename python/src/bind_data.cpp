#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "errors.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/common/file.hpp"
#include "gym/data/mix.hpp"
#include "gym/data/remote.hpp"

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

/// Downloads the token file at `url`, continuing what an earlier call left beside `output`.
/// @errors kMismatch for another root.
Result<blob::Dataset> pull(const std::string& url, const std::string& key, const Digest& root,
                           std::uint64_t bytes_max, const std::string& output) {
    data::RemoteOptions options;
    options.bytes_max = bytes_max;
    options.bearer = key;
    options.stopped = [] {
        const py::gil_scoped_acquire acquire;
        return PyErr_CheckSignals() != 0;
    };
    GYM_CHECK(check_writable(output));
    GYM_CHECK(check_free_space(output, bytes_max));
    // The root is in the name, so that what is left of another dataset is not continued.
    const std::string copy = output + "." + root.hex().substr(2, 8);
    data::Remote remote(std::move(options));
    GYM_CHECK(remote.download({.name = "dataset " + root.hex(), .path = {}, .url = url}, copy));
    auto tokens = blob::Dataset::load(copy, root);
    std::error_code error;
    if (!tokens.ok()) {
        std::filesystem::remove(copy, error);
        return tokens;
    }
    std::filesystem::rename(copy, output, error);
    if (error) return fail(ErrorCode::kIo, "cannot write " + output + ": " + error.message());
    return tokens;
}

blob::Dataset pull_dataset(const std::string& url, const std::string& key, const std::string& root,
                           std::uint64_t tokens, std::uint32_t vocabulary,
                           const std::string& output) {
    const Digest digest = parse_digest(root, "dataset");
    const std::uint64_t bytes_max = unwrap(blob::dataset_bytes_max(tokens, vocabulary));
    auto result = [&] {
        const py::gil_scoped_release release;
        return pull(url, key, digest, bytes_max, output);
    }();
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    return unwrap(std::move(result));
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
    module.def("pull_dataset", &pull_dataset, py::arg("url"), py::arg("key"), py::arg("root"),
               py::arg("tokens"), py::arg("vocabulary"), py::arg("output"));
    module.def("mix", &mix, py::arg("inputs"), py::arg("output"), py::arg("tokens"),
               py::arg("whole_documents"), py::arg("best_effort"));
}

}  // namespace gym::python
