#include "gym/tokenizer/bundle_file.hpp"

#include <system_error>
#include <utility>

#include "gym/common/file.hpp"

namespace gym::tokenizer {

std::filesystem::path bundle_path(const std::filesystem::path& token_file) {
    return token_file.string() + ".tokenizer";
}

Status write_bundle(const std::filesystem::path& token_file, std::vector<TokenizerFile> files) {
    GYM_TRY(const Bundle bundle, make_bundle(std::move(files)));
    return write_file_atomic(bundle_path(token_file), encode_bundle(bundle));
}

Result<std::optional<Bytes>> find_bundle(const std::filesystem::path& token_file,
                                         const Digest& root) {
    const std::filesystem::path path = bundle_path(token_file);
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown)) return std::optional<Bytes>();
    GYM_TRY(Bytes bytes, read_file(path, kBundleBytesMax));
    const auto bundle = read_bundle(bytes);
    if (!bundle.ok()) return bundle.error().in(path.string());
    if (bundle->root != root)
        return fail(ErrorCode::kMismatch, path.string() + " is the tokenizer " +
                                              bundle->root.hex() + ", and the token file names " +
                                              root.hex() +
                                              ": build the token file again, or remove the file");
    return std::optional(std::move(bytes));
}

}  // namespace gym::tokenizer
