#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "errors.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/blob/dataset_writer.hpp"
#include "gym/data/build.hpp"
#include "gym/data/build_words.hpp"
#include "gym/data/document_licences.hpp"
#include "gym/data/mix.hpp"
#include "gym/data/text_tokens.hpp"
#include "gym/owner/local_data.hpp"
#include "gym/owner/pull_data.hpp"
#include "gym/owner/push_data.hpp"
#include "gym/tokenizer/bundle_file.hpp"

/// Token files: built of documents, mixed of others, downloaded.
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

/// Whether Ctrl-C was pressed; only the main thread is ever told.
bool interrupted() {
    const py::gil_scoped_acquire acquire;
    return PyErr_CheckSignals() != 0;
}

/// Runs `work` while other Python threads may run; what Ctrl-C raised goes before its Result.
template <class Work>
auto interruptible(Work&& work) {
    auto result = [&] {
        const py::gil_scoped_release release;
        return std::forward<Work>(work)();
    }();
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    return unwrap(std::move(result));
}

blob::Dataset pull_dataset(const std::string& api, const std::string& key, const std::string& root,
                           std::uint64_t tokens, std::uint32_t vocabulary,
                           const std::optional<std::string>& manifest,
                           const std::optional<std::string>& tokenizer, const std::string& output) {
    owner::DataPull pull{.api = api,
                         .key = key,
                         .root = parse_digest(root, "dataset"),
                         .tokens = tokens,
                         .vocabulary = vocabulary,
                         .output = output,
                         .stopped = &interrupted};
    if (manifest) pull.manifest = parse_digest(*manifest, "manifest");
    if (tokenizer) pull.tokenizer = parse_digest(*tokenizer, "tokenizer");
    return interruptible([&]() -> Result<blob::Dataset> {
        GYM_CHECK(owner::pull_data(pull));
        return blob::Dataset::load(output, pull.root);
    });
}

// Builds

/// A token file that was built, whose tokens stay on the disk.
struct BuiltFile {
    blob::DatasetSummary dataset;
    std::filesystem::path token_file;
    std::optional<data::BuildCounts> counts;  ///< absent: an earlier call built it
};

using NativeTokenizer = std::shared_ptr<tokenizer::Tokenizer>;

data::OptionalTokenizer optional(const NativeTokenizer& tokenizer) {
    if (!tokenizer) return std::nullopt;
    return *tokenizer;
}

Result<data::BuildReport> run_build(data::BuildOptions options) {
    options.stopped = &interrupted;
    options.remote.stopped = &interrupted;
    return data::build(options);
}

BuiltFile build(const data::BuildWords& words, const NativeTokenizer& native) {
    const data::OptionalTokenizer tokenizer = optional(native);
    return interruptible([&]() -> Result<BuiltFile> {
        GYM_TRY(auto options, data::build_options(words));
        options.encoder = [&tokenizer]() -> Result<std::unique_ptr<data::Encoder>> {
            return data::encoder_of(tokenizer);
        };
        GYM_TRY(data::BuildReport report, run_build(std::move(options)));
        if (tokenizer && !tokenizer->files().empty())
            GYM_CHECK(tokenizer::write_bundle(words.output, tokenizer->files()));
        return BuiltFile{report.dataset, words.output, std::move(report.counts)};
    });
}

BuiltFile build_kept(const std::string& path, const NativeTokenizer& native,
                     const std::string& folder) {
    const data::OptionalTokenizer tokenizer = optional(native);
    return interruptible([&]() -> Result<BuiltFile> {
        GYM_TRY(auto built, owner::build_kept(path, tokenizer, folder, run_build));
        if (built.report)
            return BuiltFile{built.report->dataset, std::move(built.token_file),
                             std::move(built.report->counts)};
        GYM_TRY(const auto summary, blob::scan_dataset(built.token_file));
        return BuiltFile{summary, std::move(built.token_file), {}};
    });
}

void bind_build(py::module_& module) {
    using data::BuildWords;
    auto words = py::class_<BuildWords>(module, "BuildWords").def(py::init<>());
    words.def_readwrite("inputs", &BuildWords::inputs)
        .def_readwrite("output", &BuildWords::output)
        .def_readwrite("context", &BuildWords::context)
        .def_readwrite("steps", &BuildWords::steps)
        .def_readwrite("format", &BuildWords::format)
        .def_readwrite("documents", &BuildWords::documents)
        .def_readwrite("text_key", &BuildWords::text_key)
        .def_readwrite("licence_key", &BuildWords::licence_key)
        .def_readwrite("languages", &BuildWords::languages)
        .def_readwrite("licences", &BuildWords::licences)
        .def_readwrite("licence", &BuildWords::licence)
        .def_readwrite("opt_out", &BuildWords::opt_out_file)
        .def_readwrite("index_memory", &BuildWords::index_memory)
        .def_readwrite("s3_endpoint", &BuildWords::s3_endpoint)
        .def_readwrite("seed", &BuildWords::seed)
        .def_readwrite("threads", &BuildWords::threads)
        .def_readwrite("skip_malformed", &BuildWords::skip_malformed)
        .def_readwrite("pad_to", &BuildWords::pad_to)
        .def_readwrite("padding_token", &BuildWords::padding_token);
    py::class_<BuiltFile>(module, "BuiltFile")
        .def_property_readonly("path",
                               [](const BuiltFile& self) { return self.token_file.string(); })
        .def_property_readonly("root",
                               [](const BuiltFile& self) { return self.dataset.root.hex(); })
        .def_property_readonly("tokens", [](const BuiltFile& self) { return self.dataset.tokens; })
        .def_property_readonly("vocabulary",
                               [](const BuiltFile& self) { return self.dataset.vocabulary; })
        .def_property_readonly(
            "documents",
            [](const BuiltFile& self) -> std::optional<std::pair<std::uint64_t, std::uint64_t>> {
                if (!self.counts) return std::nullopt;
                return std::pair(self.counts->documents_kept, self.counts->documents_read);
            });
    module.def("build", &build, py::arg("words"), py::arg("tokenizer"));
    module.def("build_kept", &build_kept, py::arg("path"), py::arg("tokenizer"), py::arg("folder"));
    module.def("holds_documents",
               [](const std::string& path) { return owner::holds_documents(path); });
    module.def("check_documents", [](const std::string& name, const std::string& token_file,
                                     const std::string& root, const std::string& use) {
        const Digest digest = parse_digest(root, "dataset");
        const licence::Use meant = unwrap(licence::parse_use(use));
        unlocked([&]() -> Status {
            GYM_TRY(const auto licences, data::licences_beside(token_file, digest));
            return owner::check_documents(name, licences, meant);
        });
    });
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
    bind_build(module);
    module.attr("MIX_INPUTS_MAX") = data::kMixInputsMax;
    module.def("pull_dataset", &pull_dataset, py::arg("api"), py::arg("key"), py::arg("root"),
               py::arg("tokens"), py::arg("vocabulary"), py::arg("manifest"), py::arg("tokenizer"),
               py::arg("output"));
    module.def("mix", &mix, py::arg("inputs"), py::arg("output"), py::arg("tokens"),
               py::arg("whole_documents"), py::arg("best_effort"));
}

}  // namespace gym::python
