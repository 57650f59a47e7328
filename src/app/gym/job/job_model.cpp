#include "job/job_model.hpp"

#include <sstream>
#include <string>
#include <utility>

#include "cli/file_kind.hpp"
#include "cli/inputs.hpp"
#include "gym/common/file.hpp"
#include "gym/common/yaml.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/presets.hpp"
#include "gym/program/program_text.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "gym/registry/job_spec.hpp"
#include "program/torch_importer.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kForwardPath = "model.model.forward";
constexpr const char* kProgramPath = "model.model.program";
constexpr std::uint32_t kImportBatch = 8;  // of a TorchScript file whose job names none

/// The text two columns to the right, as the value of a key.
std::string indented(const std::string& text) {
    std::istringstream input(text);
    std::string line;
    std::string out;
    while (std::getline(input, line))
        out += line.empty() ? "\n" : "  " + line + "\n";
    if (!out.empty()) out.pop_back();
    return out;
}

/// What the job says about the windows of its model.
struct Windows {
    std::string forward;
    std::int64_t batch = kImportBatch, micro_batches = 1;
    std::int64_t context = 0;  ///< 0: not said
};

Result<Windows> read_windows(const YamlText& job) {
    GYM_TRY(YamlMap map, YamlMap::parse(job.text(), job.origin()));
    GYM_TRY(YamlMap file, map.map("model"));
    GYM_TRY(YamlMap model, file.map("model"));
    Windows out;
    GYM_TRY(out.forward, model.string("forward"));
    GYM_TRY(out.context, model.integer_or("context", 1, program::kContextMax, 0));
    GYM_TRY(out.batch, file.integer_or("batch", 1, program::kBatchMax, out.batch));
    GYM_TRY(out.micro_batches, file.integer_or("micro_batches", 1, program::kMicroBatchesMax, 1));
    if (out.batch % out.micro_batches == 0) return out;
    return file.error_at("micro_batches", "must divide batch");
}

Result<program::Program> import(const fs::path& path, const Windows& windows,
                                const TemporaryFolder& folder) {
    if (windows.context == 0)
        return fail(ErrorCode::kInvalidArgument,
                    path.string() +
                        " is a TorchScript model: say how many tokens it reads at a time with "
                        "`context` beside `forward` in the job's model, or --set "
                        "model.model.context=128");
    const std::string sample = "i64[" + std::to_string(windows.batch / windows.micro_batches) +
                               "," + std::to_string(windows.context) + "]";
    const std::string program = (folder / "program").string();
    GYM_CHECK(import_torchscript(path.string(), {sample}, program, weights_in(folder).string()));
    return read_program(program);
}

Result<std::string> absolute_path(const fs::path& path) {
    std::error_code error;
    const fs::path out = fs::absolute(path, error);
    if (error) return fail(ErrorCode::kIo, path.string() + ": " + error.message());
    return out.lexically_normal().string();
}

/// Whether a model file's model is a file that has to be imported.
Result<bool> names_forward(const YamlText& file) {
    GYM_TRY(const bool named, file.has("model.forward"));
    GYM_TRY(const bool there, file.has("model.program"));
    return named && !there;
}

/// A model file's `forward` is relative to the model file.
Status use_path_of(const fs::path& folder, YamlText& file) {
    GYM_TRY(YamlMap map, YamlMap::parse(file.text(), file.origin()));
    GYM_TRY(YamlMap model, map.map("model"));
    GYM_TRY(const std::string forward, model.string("forward"));
    GYM_TRY(const std::string path, absolute_path(folder / forward));
    return file.set("model.forward", yaml_quoted(path));
}

}  // namespace

fs::path weights_in(const TemporaryFolder& folder) {
    return folder / "weights";
}

Status inline_model(const fs::path& folder, const std::string& model, YamlText& job) {
    if (const program::Preset* preset = program::find_preset(model))
        return job.replace("model",
                           "model:\n" + indented(program::train_config_text(preset->config)));
    const fs::path path = folder / model;
    std::error_code unknown;
    if (fs::is_directory(path, unknown))
        return fail(ErrorCode::kInvalidArgument,
                    path.string() +
                        " is a folder: a job names a preset or a model file, and begins from a "
                        "folder's weights: --model PRESET --init " +
                        path.string() + " (or `init` in the job file)");
    if (is_torchscript(path) || is_program(path)) {
        GYM_TRY(const std::string whole, absolute_path(path));
        return job.replace(
            "model", "model:\n  model: {architecture: imported, forward: " + yaml_quoted(whole) +
                         "}\n  batch: " + std::to_string(kImportBatch));
    }
    const auto bytes = read_file(path, registry::kJobSpecBytesMax);
    if (!bytes.ok()) return program::with_presets(bytes.error(), model);
    YamlText text(std::string(bytes->begin(), bytes->end()), path.string());
    GYM_TRY(const bool imports, names_forward(text));
    // Its own errors name the model file, not the place that it will have in the job file.
    if (imports) {
        GYM_CHECK(use_path_of(path.parent_path(), text));
    } else {
        GYM_TRY([[maybe_unused]] const auto config,
                program::parse_train_config(text.text(), path.string()));
    }
    return job.replace("model", "model:\n" + indented(text.text()));
}

Result<std::shared_ptr<const TemporaryFolder>> import_model(const fs::path& folder, YamlText& job) {
    GYM_TRY(const bool named, job.has(kForwardPath));
    GYM_TRY(const bool there, job.has(kProgramPath));
    if (!named || there) return std::shared_ptr<const TemporaryFolder>();
    GYM_TRY(const Windows windows, read_windows(job));
    const fs::path path = folder / windows.forward;
    std::error_code unknown;
    if (!fs::exists(path, unknown))
        return fail(ErrorCode::kNotFound,
                    job.origin() + ": 'forward' names " + path.string() + ": no such file");
    std::shared_ptr<const TemporaryFolder> imported;
    std::optional<program::Program> forward;
    if (is_program(path)) {
        GYM_TRY(forward, read_program(path.string()));
    } else {
        GYM_TRY(TemporaryFolder created, TemporaryFolder::create("gym-job-model"));
        imported = std::make_shared<const TemporaryFolder>(std::move(created));
        GYM_TRY(forward, import(path, windows, *imported));
    }
    // What cannot be trained is said of the file, before anything else is looked at.
    if (const Status status = check_trainable(*forward); !status.ok())
        return status.error().in(path.string() + " cannot be trained");
    auto text = program::program_text(*forward);
    if (!text.ok()) return text.error().in(path.string());
    GYM_CHECK(job.set(kForwardPath, yaml_quoted(path.filename().string())));
    GYM_CHECK(job.set("model.model.root", yaml_quoted(program::program_root(*forward).hex())));
    GYM_CHECK(job.set(kProgramPath, yaml_quoted(*text)));
    return imported;
}

}  // namespace gym::app
