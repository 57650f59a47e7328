#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings.hpp"
#include "errors.hpp"
#include "gym/common/yaml_text.hpp"
#include "gym/program/presets.hpp"
#include "gym/program/program_text.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "gym/tokenizer/tokenizer.hpp"
#include "gym/tokenizer/weights_tokenizer.hpp"

namespace gym::python {
namespace {

namespace py = pybind11;
using tokenizer::Tokenizer;

/// Steps of warm-up at most, as a share of all.
constexpr std::uint32_t kWarmupShare = 10;

/// A preset's model file, its schedule over `steps` steps.
std::string preset_text(const std::string& name, std::uint64_t steps) {
    auto config = unwrap(program::preset_config(name));
    if (steps != 0) {
        const auto last =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(steps, program::kScheduleStepsMax));
        config.optimizer.total_steps = last;
        config.optimizer.warmup_steps =
            std::min(config.optimizer.warmup_steps, last / kWarmupShare);
    }
    return program::train_config_text(config);
}

/// A model file whose documents are apart: `token` stands between them.
Result<std::string> keep_documents_apart(const std::string& yaml, const std::string& origin,
                                         std::uint32_t token) {
    constexpr const char* kPath = "model.document_separator";
    YamlText text(yaml, origin);
    GYM_TRY(const bool named, text.has(kPath));
    if (named)
        return fail(ErrorCode::kInvalidArgument,
                    "keep_documents_apart: the model names its document_separator already");
    GYM_CHECK(text.set(kPath, std::to_string(token)));
    return text.text();
}

std::vector<std::pair<std::string, std::string>> preset_list() {
    std::vector<std::pair<std::string, std::string>> out;
    for (const program::Preset& preset : program::presets())
        out.emplace_back(preset.name, preset.summary);
    return out;
}

void bind_tokenizer(py::module_& module) {
    py::class_<Tokenizer, std::shared_ptr<Tokenizer>>(module, "Tokenizer")
        .def_static("bytes", &Tokenizer::bytes)
        .def_static(
            "load",
            [](const std::string& path, const std::string& encoding) {
                return unlocked([&] { return Tokenizer::load(path, {.encoding = encoding}); });
            })
        .def(
            "encode",
            [](const Tokenizer& self, const py::bytes& text, bool special_tokens) {
                const std::string_view view(text);
                return unlocked(
                    [&] { return self.encode(view, {.special_tokens = special_tokens}); });
            },
            py::arg("text"), py::arg("special_tokens") = false)
        .def("decode",
             [](const Tokenizer& self, const std::vector<std::uint32_t>& tokens) {
                 return py::bytes(unlocked([&] { return self.decode(tokens); }));
             })
        .def_property_readonly("vocabulary", &Tokenizer::vocabulary)
        .def_property_readonly("name", &Tokenizer::name)
        .def_property_readonly("root", [](const Tokenizer& self) { return self.root().hex(); })
        .def_property_readonly("end_of_text", &Tokenizer::end_of_text)
        .def_property_readonly(
            "files",
            [](const Tokenizer& self) {
                std::vector<std::pair<std::string, py::bytes>> out;
                for (const auto& file : self.files())
                    out.emplace_back(file.name,
                                     py::bytes(reinterpret_cast<const char*>(file.bytes.data()),
                                               file.bytes.size()));
                return out;
            })
        .def_property_readonly("special_tokens", [](const Tokenizer& self) {
            py::dict out;
            for (const auto& token : self.special_tokens())
                out[py::str(token.text)] = token.id;
            return out;
        });
}

/// @param of_dataset empty: the dataset names no tokenizer.
Status check_weights_tokenizer(const std::string& folder, const std::string& of_dataset,
                               const std::string& dataset) {
    Digest root;
    if (!of_dataset.empty()) {
        GYM_TRY(root, Digest::parse(of_dataset));
    }
    GYM_TRY(const auto of_weights, tokenizer::tokenizer_of_weights(folder));
    return tokenizer::check_same_tokenizer(of_weights, root, dataset);
}

}  // namespace

void bind_text(py::module_& module) {
    bind_tokenizer(module);
    module.def(
        "check_weights_tokenizer",
        [](const std::string& folder, const std::string& of_dataset, const std::string& dataset) {
            unwrap(check_weights_tokenizer(folder, of_dataset, dataset));
        },
        py::arg("folder"), py::arg("of_dataset"), py::arg("dataset"));
    module.def("program_text", [](const program::Program& program) {
        return unlocked([&] { return program::program_text(program); });
    });
    module.def(
        "keep_documents_apart",
        [](const std::string& yaml, const std::string& origin, std::uint32_t token) {
            return unwrap(keep_documents_apart(yaml, origin, token));
        },
        py::arg("yaml"), py::arg("origin"), py::arg("token"));
    module.def("presets", &preset_list);
    module.def("preset_text", &preset_text, py::arg("name"), py::arg("steps") = 0);
}

}  // namespace gym::python
