#include "job/job_data.hpp"

#include <system_error>
#include <utility>

#include "cli/rows.hpp"
#include "data/build_pipeline.hpp"
#include "gym/blob/dataset_writer.hpp"
#include "gym/data/remote.hpp"
#include "gym/data/text_tokens.hpp"
#include "gym/node/node_config.hpp"
#include "gym/plan/units.hpp"
#include "gym/tokenizer/bundle_file.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTokenizerFile = "tokenizer.json";
constexpr const char* kTokenFile = ".tokens";
/// Bytes and some tokens beside them are no waste.
constexpr std::uint32_t kWideVocabulary = 2 * blob::kByteVocabulary;

/// The tokenizer for the text; absent: a token is a byte.
Result<data::OptionalTokenizer> tokenizer_of(const TextReading& reading) {
    TokenizerOptions options = reading.tokenizer;
    std::error_code error;
    if (options.path.empty() && reading.vocabulary > blob::kByteVocabulary &&
        !reading.beside.empty() && fs::exists(fs::path(reading.beside) / kTokenizerFile, error))
        options.path = (fs::path(reading.beside) / kTokenizerFile).string();
    if (options.path.empty()) return data::OptionalTokenizer();
    auto tokenizer = read_tokenizer(options);
    if (!tokenizer.ok())
        return tokenizer.error().in("the model's tokenizer (--tokenizer names another)");
    GYM_CHECK(check_vocabulary("the tokenizer " + tokenizer->name(), tokenizer->vocabulary(),
                               reading.vocabulary));
    return data::OptionalTokenizer(*std::move(tokenizer));
}

/// Of data that was made here.
Result<fs::path> kept_folder() {
    GYM_TRY(const node::NodeConfig config, node::load_node_config(""));
    return config.data_dir / "datasets";
}

Result<JobData> build(const fs::path& path, const TextReading& reading) {
    GYM_TRY(const data::OptionalTokenizer tokenizer, tokenizer_of(reading));
    GYM_TRY(const fs::path folder, kept_folder());
    GYM_TRY(owner::KeptBuild built,
            owner::build_kept(path, tokenizer, folder, [&](data::BuildOptions options) {
                return build_dataset(std::move(options), reading.quiet);
            }));
    if (built.report && !reading.quiet)
        print_notice("data", "{} of {} documents of {} are kept (`gym data build` shows why)",
                     built.report->counts.documents_kept, built.report->counts.documents_read,
                     path.string());
    if (built.report)
        return JobData{owner::LocalTokens::in_file(built.report->dataset),
                       std::move(built.token_file)};
    GYM_TRY(const auto dataset, blob::scan_dataset(built.token_file));
    return JobData{owner::LocalTokens::in_file(dataset), std::move(built.token_file)};
}

/// A token file, or a text, whose tokenizer lies where a built one's would.
Result<JobData> read(const fs::path& path, TextReading reading) {
    const bool is_tokens = blob::peek_dataset(path).ok();
    if (is_tokens) reading.beside.clear();  // it names its own
    GYM_TRY(const data::OptionalTokenizer tokenizer, tokenizer_of(reading));
    GYM_TRY(auto tokens, owner::read_tokens(path, tokenizer));
    GYM_CHECK(check_vocabulary(path.string(), tokens.dataset.vocabulary, reading.vocabulary));
    if (is_tokens || !tokenizer || tokenizer->files().empty())
        return JobData{std::move(tokens), path};
    GYM_TRY(const fs::path folder, kept_folder());
    std::error_code error;
    fs::create_directories(folder, error);  // what goes wrong, the next line says
    fs::path file = folder / (tokens.dataset.root.hex().substr(2) + ".tokens");
    GYM_CHECK(tokenizer::write_bundle(file, tokenizer->files()));
    return JobData{std::move(tokens), std::move(file)};
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
    return owner::holds_documents(path) ? build(path, reading) : read(path, reading);
}

}  // namespace gym::app
