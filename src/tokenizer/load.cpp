#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "gym/common/file.hpp"
#include "gym/tokenizer/tokenizer.hpp"
#include "tiktoken.hpp"
#include "tokenizer_data.hpp"
#include "tokenizer_json.hpp"

namespace gym::tokenizer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kJsonName = "tokenizer.json";
constexpr std::string_view kConfigName = "tokenizer_config.json";
constexpr std::string_view kRanksSuffix = ".tiktoken";
constexpr std::string_view kModelName = "tokenizer.model";  // Llama 3's ranks, or SentencePiece's
/// What else a model folder has of its tokenizer.
constexpr std::array<std::string_view, 6> kCompanions{
    kConfigName,  "special_tokens_map.json", "added_tokens.json", "vocab.json",
    "merges.txt", "chat_template.jinja"};
constexpr std::size_t kFolderEntriesMax = 4096;

bool is_file(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
}

std::string_view text_of(const Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The one file in `folder` to read: tokenizer.json, else the only *.tiktoken, else
/// tokenizer.model.
Result<fs::path> file_in(const fs::path& folder) {
    if (is_file(folder / kJsonName)) return folder / kJsonName;
    std::error_code error;
    std::vector<fs::path> ranks;
    std::size_t entries = 0;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        if (++entries > kFolderEntriesMax)
            return fail(ErrorCode::kOutOfRange, folder.string() + " has more than " +
                                                    std::to_string(kFolderEntriesMax) +
                                                    " entries: name the tokenizer's file");
        if (at->path().extension() == kRanksSuffix) ranks.push_back(at->path());
    }
    if (error) return fail(ErrorCode::kIo, folder.string() + ": " + error.message());
    if (ranks.size() > 1)
        return fail(ErrorCode::kInvalidArgument,
                    folder.string() + " has several *.tiktoken files: name the one to read");
    if (ranks.size() == 1) return ranks.front();
    if (is_file(folder / kModelName)) return folder / kModelName;
    return fail(ErrorCode::kNotFound,
                folder.string() + " has no tokenizer.json and no *.tiktoken file");
}

/// For people: the name of the folder if the file's says nothing.
std::string name_of(const fs::path& file) {
    if (file.filename() != kJsonName && file.filename() != kModelName) return file.stem().string();
    std::error_code error;
    const fs::path folder = fs::absolute(file, error).parent_path();
    return folder.has_filename() ? folder.filename().string() : file.stem().string();
}

Status read_companions(const fs::path& folder, std::vector<TokenizerFile>& files) {
    for (const std::string_view name : kCompanions) {
        if (!is_file(folder / name)) continue;
        GYM_TRY(Bytes bytes, read_file(folder / name, kTokenizerFileBytesMax));
        files.push_back({std::string(name), std::move(bytes)});
    }
    return {};
}

/// tokenizer_config.json says which token ends documents.
Status apply_config(const std::vector<TokenizerFile>& files, Definition& definition) {
    const auto config = std::ranges::find(files, kConfigName, &TokenizerFile::name);
    if (config == files.end()) return {};
    const auto text = read_end_of_text(text_of(config->bytes));
    if (!text.ok()) return text.error().in(kConfigName);
    const auto token = std::ranges::find(definition.added, *text, &AddedToken::text);
    if (token != definition.added.end()) definition.end_of_text = token->id;
    return {};
}

/// @param files among them a tokenizer.json.
Result<std::shared_ptr<const TokenizerData>> data_of(std::string name,
                                                     std::vector<TokenizerFile> files) {
    const auto json = std::ranges::find(files, kJsonName, &TokenizerFile::name);
    if (json == files.end())
        return fail(ErrorCode::kInvalidArgument, "there is no tokenizer.json among the files");
    GYM_TRY(Definition definition, read_tokenizer_json(text_of(json->bytes)));
    GYM_CHECK(apply_config(files, definition));
    return TokenizerData::make(std::move(definition), std::move(name), std::move(files));
}

Result<std::shared_ptr<const TokenizerData>> load_json(const fs::path& file, Bytes bytes) {
    std::vector<TokenizerFile> files{{std::string(kJsonName), std::move(bytes)}};
    if (file.filename() == kJsonName) GYM_CHECK(read_companions(file.parent_path(), files));
    return data_of(name_of(file), std::move(files));
}

Result<std::shared_ptr<const TokenizerData>> load_ranks(const fs::path& file, const Bytes& bytes,
                                                        const LoadOptions& options) {
    std::string encoding = options.encoding;
    if (encoding.empty()) encoding = file.stem().string();
    if (options.encoding.empty() && !is_encoding(encoding))
        return fail(ErrorCode::kInvalidArgument,
                    "a rank file does not say its pattern: name its encoding (--encoding), or name "
                    "the file ENCODING.tiktoken; encodings: " +
                        encoding_names());
    GYM_TRY(Definition definition, read_ranks(text_of(bytes), encoding));
    return TokenizerData::make(std::move(definition), encoding, {});
}

Result<std::shared_ptr<const TokenizerData>> load_file(const fs::path& file,
                                                       const LoadOptions& options) {
    GYM_TRY(Bytes bytes, read_file(file, kTokenizerFileBytesMax));
    const std::string_view text = text_of(bytes);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (file.extension() == kRanksSuffix || is_rank_file(text))
        return load_ranks(file, bytes, options);
    if (file.extension() == ".json" || (first != std::string_view::npos && text[first] == '{'))
        return load_json(file, std::move(bytes));
    return fail(ErrorCode::kInvalidArgument,
                "it is neither a tokenizer.json nor a tiktoken rank file; pass a SentencePiece "
                "model with --sentencepiece");
}

}  // namespace

Result<Tokenizer> Tokenizer::load(const fs::path& file_or_folder, const LoadOptions& options) {
    fs::path file = file_or_folder;
    std::error_code error;
    if (fs::is_directory(file, error)) {
        GYM_TRY(fs::path found, file_in(file_or_folder));
        file = std::move(found);
    }
    auto data = load_file(file, options);
    if (!data.ok()) {
        const std::string path = file.string();
        // The file's reader names it already.
        return data.error().message.find(path) != std::string::npos ? data.error()
                                                                    : data.error().in(path);
    }
    return Tokenizer(*std::move(data));
}

Result<Tokenizer> Tokenizer::from_files(const std::string& name, std::vector<TokenizerFile> files) {
    GYM_TRY(auto data, data_of(name, std::move(files)));
    return Tokenizer(std::move(data));
}

}  // namespace gym::tokenizer
