#include "gym/interchange/model_folder.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include "byte_tokenizer.hpp"
#include "folder_config.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/common/file.hpp"
#include "gym/common/json_fields.hpp"
#include "gym/common/mapped_file.hpp"
#include "gym/interchange/safetensors.hpp"
#include "gym/interchange/weights.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "model_card.hpp"

namespace gym::interchange {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using program::Program;
using program::SlotKind;

constexpr const char* kFormat = "gym.model.v1";
constexpr const char* kManifest = "gym.json";
constexpr const char* kProgram = "program.gym";
constexpr const char* kWeights = "model.safetensors";
constexpr std::array kOwnFiles{kManifest,     kProgram,    kWeights,
                               "config.json", "README.md", "generation_config.json"};
constexpr std::uint64_t kManifestBytesMax = 1 << 16;
constexpr std::uint32_t kByteVocabulary = 256;
/// Of all texts of a folder, without program, weights and tokenizer.
constexpr std::uint64_t kTextBytesMax = 1 << 16;

Status mark_incomplete(const fs::path& folder) {
    const std::string text = json_lines({{"format", kFormat}, {"complete", false}});
    return write_file_atomic(folder / kManifest, as_bytes(text));
}

/// engine::state_root() of the base state in `state`, without a copy of it.
Result<Digest> base_root(const Program& program, const engine::State& state) {
    std::vector<commit::TensorView> tensors;
    for (const program::SlotId id : program.slots_of(SlotKind::kParam)) {
        const engine::StateTensor* tensor = state.find(program.slot(id).name);
        if (tensor == nullptr)
            return fail(ErrorCode::kShapeMismatch,
                        "the state has no tensor '" + program.slot(id).name + "'");
        tensors.push_back({tensor->dtype, tensor->dims, tensor->bytes});
    }
    return commit::merkle_root(commit::tensor_roots(tensors));
}

Status check_names(const std::vector<NamedFile>& files) {
    for (const NamedFile& file : files) {
        const bool plain = !file.name.empty() && file.name.find('/') == std::string::npos &&
                           file.name != "." && file.name != "..";
        if (!plain || std::ranges::find(kOwnFiles, file.name) != kOwnFiles.end())
            return fail(ErrorCode::kInvalidArgument,
                        "a tokenizer's file cannot have the name '" + file.name + "'");
    }
    return {};
}

json::value or_null(const std::optional<std::uint64_t>& number) {
    return number ? json::value(*number) : json::value(nullptr);
}

struct Manifest {
    std::string names;
    Digest program_root, state_root;
    std::string name;
    std::optional<Digest> job;
    std::optional<std::uint64_t> round;
};

json::object to_json(const Manifest& manifest) {
    return {{"format", kFormat},
            {"complete", true},
            {"name", manifest.name},
            {"job", manifest.job ? json::value(manifest.job->hex()) : json::value(nullptr)},
            {"round", or_null(manifest.round)},
            {"names", manifest.names},
            {"program", kProgram},
            {"program_root", manifest.program_root.hex()},
            {"state_root", manifest.state_root.hex()}};
}

/// @errors kMalformed, kConflict for one that was not completed.
Result<Manifest> parse_manifest(ByteView bytes) {
    using namespace json_fields;
    boost::system::error_code error;
    const json::value value =
        json::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, error);
    if (error || !value.is_object()) return fail(ErrorCode::kMalformed, "it is not a JSON object");
    const json::object& object = value.get_object();
    try {
        if (text_of(object, "format") != kFormat)
            return fail(ErrorCode::kMalformed, "its format is not " + std::string(kFormat));
        if (!flag_of(object, "complete"))
            return fail(ErrorCode::kConflict,
                        "the writing of this folder was interrupted: export the model again");
        return Manifest{.names = text_of(object, "names"),
                        .program_root = fixed_of<Digest>(object, "program_root"),
                        .state_root = fixed_of<Digest>(object, "state_root"),
                        .name = text_of(object, "name"),
                        .job = null_or(object, "job", fixed_of<Digest>),
                        .round = null_or(object, "round", number_of<>)};
    } catch (const std::exception& wrong) {
        return fail(ErrorCode::kMalformed, wrong.what());
    }
}

Result<Manifest> read_manifest(const fs::path& folder) {
    const auto bytes = read_file(folder / kManifest, kManifestBytesMax);
    if (!bytes.ok() && bytes.error().code == ErrorCode::kNotFound)
        return fail(ErrorCode::kNotFound,
                    folder.string() + " holds no exported model: it has no gym.json");
    if (!bytes.ok()) return bytes.error();
    auto manifest = parse_manifest(*bytes);
    if (!manifest.ok()) return manifest.error().in((folder / kManifest).string());
    return manifest;
}

Error changed(const fs::path& file, const Digest& found, const Digest& expected) {
    return fail(ErrorCode::kMismatch, file.string() +
                                          " was changed since it was exported: its root is " +
                                          found.hex() + ", and gym.json has " + expected.hex());
}

Result<engine::State> read_weights(const fs::path& path, const Program& program,
                                   const std::string& names) {
    GYM_TRY(const MappedFile file, MappedFile::open(path));
    const auto parsed = parse_safetensors(file.bytes());
    if (!parsed.ok()) return parsed.error().in(path.string());
    auto base = import_weights(program, parsed->tensors, names);
    if (!base.ok()) return base.error().in(path.string());
    return base;
}

}  // namespace

Status check_model_folder(const fs::path& folder) {
    std::error_code error;
    if (!fs::exists(folder, error)) return {};
    if (!fs::is_directory(folder, error))
        return fail(ErrorCode::kIo, folder.string() + " is not a folder");
    const bool empty = fs::is_empty(folder, error);
    if (error) return fail(ErrorCode::kIo, folder.string() + ": " + error.message());
    if (empty || fs::exists(folder / kManifest, error)) return {};
    return fail(
        ErrorCode::kAlreadyExists,
        folder.string() + " holds files that are no exported model: name a new or an empty folder");
}

Status check_no_other_job(const fs::path& folder, const Digest& job) {
    const auto manifest = read_manifest(folder);
    // None, or one that was never complete: nothing is lost.
    if (!manifest.ok() && (manifest.error().code == ErrorCode::kNotFound ||
                           manifest.error().code == ErrorCode::kConflict))
        return {};
    if (!manifest.ok()) return manifest.error();
    if (!manifest->job || *manifest->job == job) return {};
    return fail(ErrorCode::kAlreadyExists, folder.string() + " holds the model of another job (" +
                                               manifest->job->hex() +
                                               "): name a new or an empty folder");
}

std::uint64_t model_folder_bytes(const Program& program, const ModelFolder& model) {
    std::uint64_t bytes = kTextBytesMax + program::encode(program).size();
    // A naming may add biases, which are small beside their weights.
    bytes += program::parameter_count(program) * sizeof(float) * 101 / 100;
    for (const NamedFile& file : model.tokenizer)
        bytes += file.content.size();
    return bytes;
}

Status begin_model_folder(const fs::path& folder) {
    GYM_CHECK(check_model_folder(folder));
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return fail(ErrorCode::kIo, folder.string() + ": " + error.message());
    if (fs::exists(folder / kManifest, error)) return {};
    return mark_incomplete(folder);
}

Result<WrittenFolder> write_model_folder(const fs::path& folder, const Program& program,
                                         const engine::State& state, const ModelFolder& model) {
    GYM_CHECK(check_names(model.tokenizer));
    const FolderConfig config =
        folder_config(program, {model.begin_token, model.end_token, model.padding_token});
    WrittenFolder out;
    out.names = config.names;
    out.for_transformers = config.is_known();
    out.program_root = program::program_root(program);
    GYM_TRY(out.state_root, base_root(program, state));
    GYM_CHECK(begin_model_folder(folder));
    GYM_CHECK(mark_incomplete(folder));

    const auto write = [&](const std::string& name, ByteView content) {
        out.files.push_back(name);
        return write_file_atomic(folder / name, content);
    };
    GYM_TRY(out.tensors, write_weights(folder / kWeights, program, state, config.names,
                                       {{"format", "pt"},  // of the files that transformers read
                                        {"gym.base_root", out.state_root.hex()},
                                        {"gym.program_root", out.program_root.hex()}}));
    out.files.emplace_back(kWeights);
    GYM_CHECK(write(kProgram, program::encode(program)));
    GYM_CHECK(write("config.json", as_bytes(json_lines(config.config))));
    if (!config.generate.empty())
        GYM_CHECK(write("generation_config.json", as_bytes(json_lines(config.generate))));

    CardFacts facts{out.program_root, out.state_root, program::parameter_count(program)};
    std::vector<NamedFile> tokenizer = model.tokenizer;
    if (!tokenizer.empty()) {
        facts.tokens = CardFacts::Tokens::kFiles;
    } else if (config.is_known() && config.vocabulary == kByteVocabulary) {
        facts.tokens = CardFacts::Tokens::kBytes;
        tokenizer = byte_tokenizer(config.context);
    }
    for (const NamedFile& file : tokenizer)
        GYM_CHECK(write(file.name, file.content));
    GYM_CHECK(write("README.md", as_bytes(model_card(model.card, config, facts))));
    const Manifest manifest{config.names,    out.program_root, out.state_root,
                            model.card.name, model.card.job,   model.card.round};
    GYM_CHECK(write(kManifest, as_bytes(json_lines(to_json(manifest)))));
    return out;
}

Result<ReadFolder> read_model_folder(const fs::path& folder) {
    GYM_TRY(const Manifest manifest, read_manifest(folder));
    GYM_TRY(const Bytes bytes, read_file(folder / kProgram, program::kProgramBytesMax));
    auto program = program::decode(bytes);
    if (!program.ok()) return program.error().in((folder / kProgram).string());
    const Digest root = program::program_root(*program);
    if (root != manifest.program_root)
        return changed(folder / kProgram, root, manifest.program_root);
    GYM_TRY(engine::State base, read_weights(folder / kWeights, *program, manifest.names));
    const Digest state_root = engine::state_root(base);
    if (state_root != manifest.state_root)
        return changed(folder / kWeights, state_root, manifest.state_root);
    return ReadFolder{*std::move(program), std::move(base), root,          state_root,
                      manifest.name,       manifest.job,    manifest.round};
}

}  // namespace gym::interchange
