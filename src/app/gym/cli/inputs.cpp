#include "cli/inputs.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "gym/common/file.hpp"
#include "gym/common/memory.hpp"
#include "gym/engine/saved_run.hpp"
#include "gym/interchange/weights_file.hpp"
#include "gym/program/codec.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/presets.hpp"
#include "gym/tokenizer/bundle_file.hpp"

namespace gym::app {
namespace {

constexpr std::uint64_t kPipedTextBytesMax = std::uint64_t{1} << 33;
constexpr std::uint64_t kTokenizerBytesMax = std::uint64_t{1} << 28;

std::string how_to_build(const std::string& model) {
    return "`gym program build " + model + " -o " + std::filesystem::path(model).stem().string() +
           ".gym` makes a program of it";
}

bool begins_as_saved_run(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::array<char, 8> begin{};
    file.read(begin.data(), begin.size());
    return file.gcount() == static_cast<std::streamsize>(begin.size()) &&
           engine::is_saved_run(as_bytes({begin.data(), begin.size()}));
}

}  // namespace

Status check_output(const std::string& path) {
    if (path.empty()) return {};
    return check_writable(path);
}

bool same_file(const std::string& a, const std::string& b) {
    std::error_code ignored;
    return !a.empty() && !b.empty() && std::filesystem::equivalent(a, b, ignored);
}

Status check_output(const std::string& path, std::span<const std::string> inputs) {
    for (const std::string& input : inputs)
        if (same_file(path, input))
            return fail(ErrorCode::kInvalidArgument,
                        "the output " + path + " is also an input: choose another name");
    return check_output(path);
}

Status check_holds_no_run(const std::string& path) {
    if (begins_as_saved_run(path))
        return fail(ErrorCode::kConflict,
                    path + " holds a training run: choose another name, or remove it first");
    return check_output(path);
}

Result<Bytes> read_text(const std::string& path) {
    if (path != "-") return read_file(path);
    Bytes text;
    constexpr std::size_t kPieceBytes = 1 << 16;
    std::string piece(kPieceBytes, '\0');
    while (std::cin.read(piece.data(), kPieceBytes) || std::cin.gcount() > 0) {
        if (text.size() > kPipedTextBytesMax)
            return fail(ErrorCode::kOutOfRange, "standard input is longer than 8 GiB");
        text.insert(text.end(), piece.begin(), piece.begin() + std::cin.gcount());
    }
    return text;
}

namespace {

/// Whether a file's name says that it holds documents, not one text.
bool is_named_as_documents(const std::string& path) {
    constexpr std::array<std::string_view, 6> kEndings{".jsonl",   ".ndjson", ".json",
                                                       ".parquet", ".gz",     ".zst"};
    return std::ranges::any_of(kEndings, [&](std::string_view end) { return path.ends_with(end); });
}

std::string how_to_build_data(const std::string& path) {
    return "`gym data build " + path + " -o OUT` makes a token file of its documents";
}

/// What else was meant by a name that no file has.
Error no_data(const std::string& path, const Error& error) {
    if (path.find('/') != std::string::npos) return error;
    return fail(error.code, error.message + "; if it is a registered dataset, `gym data pull " +
                                path + " -o FILE` downloads it");
}

}  // namespace

Result<blob::Dataset> read_dataset(const std::string& path) {
    std::error_code unknown;
    if (std::filesystem::is_directory(path, unknown))
        return fail(ErrorCode::kInvalidArgument, path + " is a folder: " + how_to_build_data(path));
    const auto read = read_text(path);
    if (!read.ok())
        return read.error().code == ErrorCode::kNotFound ? no_data(path, read.error())
                                                         : read.error();
    const Bytes& content = *read;
    if (is_named_as_documents(path) && !blob::is_token_file(content))
        return fail(ErrorCode::kInvalidArgument,
                    path + " holds documents, by its name: " + how_to_build_data(path) +
                        ", `gym data build --text " + path + " -o OUT` one of its bytes");
    auto dataset = blob::is_token_file(content) ? blob::Dataset::decode(content, std::nullopt)
                                                : blob::Dataset::build_from_text(content);
    if (!dataset.ok()) return dataset.error().in(path == "-" ? "standard input" : path);
    return dataset;
}

Result<program::Program> read_program(const std::string& path) {
    const auto content = read_file(path, program::kProgramBytesMax);
    const bool is_preset = program::find_preset(path) != nullptr;
    if (!content.ok() && content.error().code == ErrorCode::kNotFound && is_preset)
        return fail(ErrorCode::kNotFound,
                    path + " is a preset, and no program file is so called: " + how_to_build(path));
    if (!content.ok()) return content.error();
    auto decoded = program::decode(*content);
    if (decoded.ok()) return decoded;
    const bool is_model = path.ends_with(".yaml") || path.ends_with(".yml");
    // One code, so one exit code, whichever rule the program breaks (docs/PROGRAMS.md).
    return fail(ErrorCode::kInvalidArgument,
                path + ": " + decoded.error().message +
                    (is_model ? "; it looks like a model file: " + how_to_build(path) : ""));
}

namespace {

/// What a folder of a tokenizer, or of a model, has of the tokenizer.
Result<std::vector<std::string>> tokenizer_files_in(const std::filesystem::path& folder) {
    constexpr std::array<const char*, 4> kNames{"tokenizer.json", "tokenizer.model",
                                                "tokenizer_config.json", "special_tokens_map.json"};
    std::vector<std::string> found;
    for (const char* name : kNames) {
        std::error_code unknown;
        if (std::filesystem::is_regular_file(folder / name, unknown))
            found.push_back((folder / name).string());
    }
    if (!found.empty()) return found;
    return fail(ErrorCode::kNotFound,
                folder.string() + " has neither a tokenizer.json nor a tokenizer.model");
}

}  // namespace

Result<std::vector<interchange::NamedFile>> read_tokenizer_files(
    const std::vector<std::string>& paths) {
    std::vector<interchange::NamedFile> files;
    std::vector<std::string> all;
    for (const std::string& path : paths) {
        std::error_code unknown;
        if (tokenizer::is_bundle(path)) {
            GYM_TRY(tokenizer::Bundle bundle, tokenizer::load_bundle(path));
            for (tokenizer::TokenizerFile& file : bundle.files)
                files.push_back({std::move(file.name), std::move(file.bytes)});
            continue;
        }
        if (!std::filesystem::is_directory(path, unknown)) {
            all.push_back(path);
            continue;
        }
        GYM_TRY(const std::vector<std::string> found, tokenizer_files_in(path));
        all.insert(all.end(), found.begin(), found.end());
    }
    for (const std::string& path : all) {
        GYM_TRY(Bytes content, read_file(path, kTokenizerBytesMax));
        files.push_back({std::filesystem::path(path).filename().string(), std::move(content)});
    }
    return files;
}

namespace {

Result<StateFile> read_state_file(const std::string& path) {
    std::error_code unknown;  // then read_file says what is wrong
    const std::uint64_t size = std::filesystem::file_size(path, unknown);
    if (!unknown) GYM_CHECK(check_memory("reading " + path, 2 * size));
    GYM_TRY(const Bytes content, read_file(path, engine::kStateBytesMax));
    if (!engine::is_saved_run(content)) {
        auto state = engine::decode_state(content);
        if (!state.ok()) return state.error().in(path);
        return StateFile{*std::move(state), std::nullopt};
    }
    auto run = engine::decode_saved_run(content);
    if (!run.ok()) return run.error().in(path);
    StateFile out{std::move(run->state), std::nullopt};
    out.run = *std::move(run);
    return out;
}

/// read_state_file(), for files up to the size of a state of `program`.
Result<StateFile> read_state_file(const std::string& path, const program::Program& program) {
    constexpr std::uint64_t kTensorHeaderBytesMax = 512;  // its name, its shape
    const std::uint64_t size_max =
        program::state_bytes(program) + kTensorHeaderBytesMax * (program.slots().size() + 1);
    std::error_code unknown;
    const std::uint64_t size = std::filesystem::file_size(path, unknown);
    // A run's file also holds its records.
    if (!unknown && size > size_max && !begins_as_saved_run(path))
        return fail(ErrorCode::kOutOfRange,
                    path + " has " + memory_text(size) + ", and a state of this program at most " +
                        memory_text(size_max) + ": is it the state of another program?");
    return read_state_file(path);
}

}  // namespace

Result<engine::State> read_state(const std::string& path) {
    GYM_TRY(StateFile file, read_state_file(path));
    return std::move(file.state);
}

Result<engine::State> read_state(const std::string& path, const program::Program& program) {
    GYM_TRY(StateFile file, read_state_file(path, program));
    return std::move(file.state);
}

Result<StateFile> starting_point(const program::Program& program, const std::string& path,
                                 const std::string& seed) {
    if (path.empty()) {
        GYM_TRY(engine::State state, engine::initial_state(program, parse_seed(seed)));
        return StateFile{std::move(state), std::nullopt};
    }
    GYM_TRY(StateFile file, read_state_file(path, program));
    if (auto fresh = engine::with_fresh_optimizer(program, file.state); fresh.ok())
        file.state = *std::move(fresh);
    return file;
}

Result<engine::State> starting_state(const program::Program& program, const std::string& path,
                                     const std::string& seed) {
    GYM_TRY(StateFile file, starting_point(program, path, seed));
    return std::move(file.state);
}

Result<engine::State> state_from_weights(const program::Program& program, const std::string& path) {
    GYM_TRY(const auto weights, interchange::load_weights(path, program));
    return engine::with_fresh_optimizer(program, weights.base);
}

}  // namespace gym::app
