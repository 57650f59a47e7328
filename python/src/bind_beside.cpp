#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "errors.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/blob/dataset_writer.hpp"
#include "gym/data/document_separator.hpp"
#include "gym/data/manifest.hpp"
#include "gym/owner/pull_data.hpp"
#include "gym/tokenizer/bundle_file.hpp"

/// What lies beside a token file: its manifest, and its tokenizer.
namespace gym::python {
namespace {

namespace py = pybind11;
namespace fs = std::filesystem;

/// The manifest and the tokenizer's files of a token file, for its copy `to`.
Status copy_beside(const std::string& from, const std::string& to) {
    for (const auto path : {&data::manifest_path, &tokenizer::bundle_path}) {
        std::error_code error;
        const fs::path source = (*path)(from), target = (*path)(to);
        if (!fs::exists(source, error) || fs::equivalent(source, target, error)) continue;
        fs::copy_file(source, target, fs::copy_options::overwrite_existing, error);
        if (error)
            return fail(ErrorCode::kIo, "cannot copy " + source.string() + " to " +
                                            target.string() + ": " + error.message());
    }
    return {};
}

/// The tokenizer's files; none for what is no token file, and where there are none.
Result<std::vector<tokenizer::TokenizerFile>> files_beside(const std::string& token_file) {
    std::vector<tokenizer::TokenizerFile> none;
    const auto header = blob::peek_dataset(token_file);
    if (!header.ok() || header->tokenization.tokenizer.is_zero()) return none;
    GYM_TRY(const auto found, tokenizer::find_bundle(token_file, header->tokenization.tokenizer));
    if (!found) return none;
    GYM_TRY(tokenizer::Bundle bundle, tokenizer::read_bundle(*found));
    return std::move(bundle.files);
}

/// The tokenizer, if it is one that is read here, and its files.
py::tuple tokenizer_beside(const std::string& token_file) {
    using tokenizer::Tokenizer;
    const auto files = unlocked([&] { return files_beside(token_file); });
    std::shared_ptr<Tokenizer> native;
    if (std::ranges::find(files, "tokenizer.json", &tokenizer::TokenizerFile::name) != files.end())
        native = std::make_shared<Tokenizer>(unlocked([&] {
            return Tokenizer::from_files(tokenizer::bundle_path(token_file).filename().string(),
                                         files);
        }));
    std::vector<std::pair<std::string, py::bytes>> contents;
    contents.reserve(files.size());
    for (const tokenizer::TokenizerFile& file : files)
        contents.emplace_back(file.name, py::bytes(reinterpret_cast<const char*>(file.bytes.data()),
                                                   file.bytes.size()));
    return py::make_tuple(std::move(native), std::move(contents));
}

std::uint32_t registered_separator(const std::string& api, const std::string& key,
                                   const std::string& root,
                                   const std::optional<std::string>& manifest) {
    owner::DataPull pull;
    pull.api = api;
    pull.key = key;
    pull.root = parse_digest(root, "dataset");
    if (manifest) pull.manifest = parse_digest(*manifest, "manifest");
    return unlocked([&] { return owner::registered_separator(std::move(pull)); });
}

void write_tokenizer_beside(const std::string& token_file,
                            const std::vector<std::pair<std::string, py::bytes>>& files) {
    std::vector<tokenizer::TokenizerFile> read;
    read.reserve(files.size());
    for (const auto& [name, content] : files) {
        const ByteView view = as_bytes(std::string_view(content));
        read.push_back({name, Bytes(view.begin(), view.end())});
    }
    unlocked([&] { return tokenizer::write_bundle(token_file, std::move(read)); });
}

}  // namespace

void bind_beside(py::module_& module) {
    module.def("copy_beside", [](const std::string& from, const std::string& to) {
        unlocked([&] { return copy_beside(from, to); });
    });
    module.def("write_tokenizer_beside", &write_tokenizer_beside, py::arg("token_file"),
               py::arg("files"));
    module.def("tokenizer_beside", &tokenizer_beside, py::arg("token_file"));
    module.def(
        "document_separator",
        [](const std::string& token_file, const blob::Dataset& tokens) {
            return unlocked([&] { return data::document_separator(token_file, tokens.root()); });
        },
        py::arg("token_file"), py::arg("tokens"));
    module.def("registered_separator", &registered_separator, py::arg("api"), py::arg("key"),
               py::arg("root"), py::arg("manifest"));
}

}  // namespace gym::python
