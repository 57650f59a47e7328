#include "gym/owner/local_data.hpp"

#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/data/build_words.hpp"
#include "gym/data/input.hpp"
#include "gym/data/remote.hpp"
#include "gym/tokenizer/bundle_file.hpp"

namespace gym::owner {
namespace {

namespace fs = std::filesystem;

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

Status make_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (!error) return {};
    return fail(ErrorCode::kIo,
                "cannot make the folder " + folder.string() + ": " + error.message());
}

}  // namespace

bool holds_documents(const fs::path& path) {
    if (data::is_remote(path.string())) return true;
    std::error_code error;
    if (fs::is_directory(path, error)) return true;
    const std::string name = path.filename().string();
    return data::format_of(name) != data::Format::kText || name.ends_with(".gz") ||
           name.ends_with(".zst");
}

LocalTokens LocalTokens::in_memory(blob::Dataset of_text) {
    const blob::DatasetHeader& header = of_text.header();
    const blob::DatasetSummary summary{.root = of_text.root(),
                                       .vocabulary = header.tokenization.vocabulary,
                                       .tokens = header.tokens,
                                       .file_bytes = header.file_bytes(),
                                       .tokenizer = header.tokenization.tokenizer};
    return {summary, std::move(of_text)};
}

Result<std::optional<blob::DatasetSummary>> scan_token_file(const fs::path& path) {
    // What cannot be read twice, such as a pipe, is no token file here.
    const auto first = read_range(path, 0, blob::kDatasetHeaderBytesMax);
    if (!first.ok() || !blob::is_token_file(*first)) return std::optional<blob::DatasetSummary>();
    GYM_TRY(const blob::DatasetSummary summary, blob::scan_dataset(path));
    return std::optional(summary);
}

Result<LocalTokens> read_tokens(const fs::path& path, const data::OptionalTokenizer& tokenizer) {
    GYM_TRY(const auto of_file, scan_token_file(path));
    if (of_file) {
        if (const Status made = data::check_made_by(of_file->tokenization(), tokenizer); !made.ok())
            return made.error().in(path.string());
        return LocalTokens::in_file(*of_file);
    }
    GYM_TRY(const Bytes content, read_file(path));
    auto dataset = data::tokens_of_text(content, tokenizer);
    if (!dataset.ok()) return dataset.error().in(path.string());
    return LocalTokens::in_memory(*std::move(dataset));
}

Result<KeptBuild> build_kept(const fs::path& path, const data::OptionalTokenizer& tokenizer,
                             const fs::path& folder, const RunBuild& run) {
    GYM_TRY(const std::string name, build_name(path, data::encoder_of(tokenizer)->name()));
    GYM_CHECK(make_folder(folder));
    KeptBuild out{folder / (name + ".tokens"), {}};
    std::error_code error;
    if (fs::exists(out.token_file, error)) return out;
    data::BuildWords words;
    words.inputs = {path.string()};
    words.output = out.token_file.string();
    GYM_TRY(auto options, data::build_options(words));
    options.encoder = [tokenizer]() -> Result<std::unique_ptr<data::Encoder>> {
        return data::encoder_of(tokenizer);
    };
    // First, so that no token file is without it.
    if (tokenizer && !tokenizer->files().empty())
        GYM_CHECK(tokenizer::write_bundle(out.token_file, tokenizer->files()));
    GYM_TRY(out.report, run(std::move(options)));
    return out;
}

}  // namespace gym::owner
