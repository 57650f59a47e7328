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

Result<blob::Dataset> read_tokens(const fs::path& path, const data::OptionalTokenizer& tokenizer) {
    GYM_TRY(const Bytes content, read_file(path));
    const bool is_tokens = blob::is_token_file(content);
    auto dataset = is_tokens ? blob::Dataset::decode(content, std::nullopt)
                             : data::tokens_of_text(content, tokenizer);
    if (!dataset.ok()) return dataset.error().in(path.string());
    if (const Status made = data::check_made_by(*dataset, tokenizer); !made.ok())
        return made.error().in(path.string());
    return dataset;
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
