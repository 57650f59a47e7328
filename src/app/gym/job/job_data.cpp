#include "job/job_data.hpp"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "cli/cli_context.hpp"
#include "cli/inputs.hpp"
#include "cli/rows.hpp"
#include "data/build_pipeline.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/data/input.hpp"
#include "gym/data/remote.hpp"
#include "gym/node/node_config.hpp"
#include "gym/plan/units.hpp"
#include "tokenizer/tokenizer_bundle.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizerFile = "tokenizer.json";
constexpr const char* kTokenFile = ".tokens";
/// Bytes and some tokens beside them are no waste.
constexpr std::uint32_t kWideVocabulary = 2 * blob::kByteVocabulary;

/// Whether the tokens of `path` need the pipeline: what is not on this machine, a folder, or a file
/// that is not plain text.
bool needs_build(const fs::path& path) {
    if (data::is_remote(path.string())) return true;
    std::error_code error;
    if (fs::is_directory(path, error)) return true;
    const std::string name = path.filename().string();
    return data::format_of(name) != data::Format::kText || name.ends_with(".gz") ||
           name.ends_with(".zst");
}

/// The tokenizer for the text; absent: a token is a byte.
Result<std::optional<tokenizer::Tokenizer>> tokenizer_of(const TextReading& reading) {
    TokenizerOptions options = reading.tokenizer;
    std::error_code error;
    if (options.path.empty() && reading.vocabulary > blob::kByteVocabulary &&
        !reading.beside.empty() && fs::exists(fs::path(reading.beside) / kTokenizerFile, error))
        options.path = (fs::path(reading.beside) / kTokenizerFile).string();
    if (options.path.empty()) return std::optional<tokenizer::Tokenizer>();
    auto tokenizer = read_tokenizer(options);
    if (!tokenizer.ok())
        return tokenizer.error().in("the model's tokenizer (--tokenizer names another)");
    GYM_CHECK(check_vocabulary("the tokenizer " + tokenizer->name(), tokenizer->vocabulary(),
                               reading.vocabulary));
    return std::optional(*std::move(tokenizer));
}

Result<std::unique_ptr<data::Encoder>> encoder_of(
    const std::optional<tokenizer::Tokenizer>& tokenizer) {
    if (!tokenizer) return data::byte_encoder();
    return data::bpe_encoder(*tokenizer);
}

/// The files that a path or a URL stands for.
Result<std::vector<data::Input>> inputs_of(const std::string& name) {
    if (!data::is_remote(name)) return data::expand_local(name, {});
    data::Remote remote(data::RemoteOptions::from_environment());
    return remote.expand(name, {});
}

/// Names what was built of these files, as they are now, by this tokenizer.
Result<std::string> build_name(const fs::path& path, const std::string& tokenizer) {
    GYM_TRY(const auto inputs, inputs_of(path.string()));
    std::string text = "gym job data 2\n" + tokenizer + "\n";
    for (const data::Input& input : inputs)
        text += input.name + "\n" + std::to_string(input.size_bytes) + "\n" + input.version + "\n";
    return commit::sha256(as_bytes(text)).hex().substr(2, 32);
}

/// Of data that was made here. @errors kIo.
Result<fs::path> kept_folder() {
    GYM_TRY(const node::NodeConfig config, node::load_node_config(""));
    fs::path folder = config.data_dir / "datasets";
    std::error_code error;
    fs::create_directories(folder, error);
    if (!error) return folder;
    return fail(ErrorCode::kIo,
                "cannot make the folder " + folder.string() + ": " + error.message());
}

Result<JobData> build(const fs::path& path, const TextReading& reading) {
    GYM_TRY(const auto tokenizer, tokenizer_of(reading));
    GYM_TRY(const auto encoder, encoder_of(tokenizer));
    GYM_TRY(const std::string name, build_name(path, encoder->name()));
    GYM_TRY(const fs::path folder, kept_folder());
    const fs::path file = folder / (name + ".tokens");
    std::error_code error;
    if (!fs::exists(file, error)) {
        PipelineOptions options;
        options.inputs = {path.string()};
        options.output = file.string();
        GYM_TRY(const Built built,
                build_dataset(
                    options, [&] { return encoder_of(tokenizer); }, reading.quiet));
        if (!reading.quiet)
            print_notice("data", "{} of {} documents of {} are kept (`gym data build` shows why)",
                         built.report.counts.documents_kept, built.report.counts.documents_read,
                         path.string());
    }
    if (tokenizer) GYM_CHECK(write_bundle(file, *tokenizer));
    GYM_TRY(auto dataset, blob::Dataset::load(file.string(), std::nullopt));
    return JobData{std::move(dataset), file};
}

/// The tokens of a text as it is.
Result<JobData> tokens_of(const fs::path& path, ByteView text, const TextReading& reading) {
    GYM_TRY(const auto tokenizer, tokenizer_of(reading));
    auto dataset = tokenizer ? tokenize(*tokenizer, text) : blob::Dataset::build_from_text(text);
    if (!dataset.ok()) return dataset.error().in(path.string());
    GYM_CHECK(check_vocabulary(path.string(), dataset->vocabulary(), reading.vocabulary));
    if (!tokenizer) return JobData{*std::move(dataset), path};
    GYM_TRY(const fs::path folder, kept_folder());
    fs::path file = folder / (dataset->root().hex().substr(2) + ".tokens");
    GYM_CHECK(write_bundle(file, *tokenizer));
    return JobData{*std::move(dataset), std::move(file)};
}

/// That a token file is of the tokenizer that the owner names.
Status check_made_by(const fs::path& path, const blob::Dataset& dataset,
                     const TextReading& reading) {
    if (reading.tokenizer.path.empty()) return {};
    GYM_TRY(const auto tokenizer, tokenizer_of(reading));
    GYM_TRY(const auto encoder, encoder_of(tokenizer));
    const Digest made_by = dataset.tokenizer();
    // Bytes, and token files of the first format, name none.
    const bool same = made_by.is_zero() ? dataset.vocabulary() == encoder->vocabulary()
                                        : made_by == encoder->tokenizer_root();
    if (same) return {};
    return fail(ErrorCode::kInvalidArgument,
                path.string() + " was made by " +
                    (made_by.is_zero()
                         ? "a tokenizer of " + std::to_string(dataset.vocabulary()) + " tokens"
                         : "the tokenizer " + made_by.hex()) +
                    ", not by " + encoder->name() +
                    ": build it again with `gym data build "
                    "--tokenizer`, or leave --tokenizer out");
}

}  // namespace

Status check_vocabulary(const std::string& data, std::uint32_t data_vocabulary,
                        std::uint32_t vocabulary) {
    if (data_vocabulary <= vocabulary) return {};
    return fail(ErrorCode::kInvalidArgument,
                data + " has a vocabulary of " + plan::count_text(data_vocabulary) +
                    " tokens, the model one of " + plan::count_text(vocabulary) +
                    ": use data of the model's tokenizer, or a model of this vocabulary (--set "
                    "model.model.vocabulary=" +
                    std::to_string(data_vocabulary) + ")");
}

std::string vocabulary_warning(std::uint32_t data_vocabulary, std::uint32_t vocabulary) {
    if (data_vocabulary > blob::kByteVocabulary || vocabulary < kWideVocabulary) return {};
    return "a token of the data is a byte, and the model has " + plan::count_text(vocabulary) +
           " tokens: it learns bytes, and most of its vocabulary stays unused. --tokenizer FILE "
           "makes tokens of a text";
}

Result<JobData> load_job_data(const fs::path& path, const TextReading& reading) {
    if (data::is_remote(path.string()) && path.extension() == kTokenFile)
        return fail(ErrorCode::kInvalidArgument,
                    path.string() +
                        " is a token file by its name: download it and name the copy; "
                        "what is elsewhere is read as documents");
    if (needs_build(path)) return build(path, reading);
    GYM_TRY(const Bytes content, read_text(path.string()));
    if (blob::is_token_file(content)) {
        auto dataset = blob::Dataset::decode(content, std::nullopt);
        if (!dataset.ok()) return dataset.error().in(path.string());
        GYM_CHECK(check_vocabulary(path.string(), dataset->vocabulary(), reading.vocabulary));
        GYM_CHECK(check_made_by(path, *dataset, reading));
        return JobData{*std::move(dataset), path};
    }
    return tokens_of(path, content, reading);
}

}  // namespace gym::app
