#include "tokenizer/tokenizer_bundle.hpp"

#include <system_error>
#include <utility>
#include <vector>

#include "gym/common/file.hpp"

namespace gym::app {

std::filesystem::path bundle_path(const std::filesystem::path& token_file) {
    return token_file.string() + ".tokenizer";
}

Status write_bundle(const std::filesystem::path& token_file, const TokenizerOptions& tokenizer,
                    const std::string& sentence_piece) {
    std::vector<tokenizer::TokenizerFile> files;
    if (!sentence_piece.empty()) {
        GYM_TRY(Bytes model, read_file(sentence_piece, tokenizer::kBundleBytesMax));
        files.push_back({"tokenizer.model", std::move(model)});
    } else if (!tokenizer.path.empty() && tokenizer.path != "bytes") {
        GYM_TRY(const auto loaded, read_tokenizer(tokenizer));
        files = loaded.files();
    }
    if (files.empty()) return {};
    GYM_TRY(const auto bundle, tokenizer::make_bundle(std::move(files)));
    return write_file_atomic(bundle_path(token_file), tokenizer::encode_bundle(bundle));
}

Result<std::optional<Bytes>> find_bundle(const std::filesystem::path& token_file,
                                         const Digest& root) {
    const std::filesystem::path path = bundle_path(token_file);
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown)) return std::optional<Bytes>();
    GYM_TRY(Bytes bytes, read_file(path, tokenizer::kBundleBytesMax));
    const auto bundle = tokenizer::read_bundle(bytes);
    if (!bundle.ok()) return bundle.error().in(path.string());
    if (bundle->root != root)
        return fail(ErrorCode::kMismatch, path.string() + " is the tokenizer " +
                                              bundle->root.hex() + ", and the token file names " +
                                              root.hex() +
                                              ": build the token file again, or remove the file");
    return std::optional(std::move(bytes));
}

}  // namespace gym::app
