#include "gym/tokenizer/bundle_file.hpp"

#include <array>
#include <fstream>
#include <string_view>
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
    GYM_TRY(const Bundle bundle, load_bundle(path));
    if (bundle.root != root)
        return fail(ErrorCode::kMismatch, path.string() + " is the tokenizer " + bundle.root.hex() +
                                              ", and the token file names " + root.hex() +
                                              ": build the token file again, or remove the file");
    return std::optional(encode_bundle(bundle));
}

Result<Bundle> load_bundle(const std::filesystem::path& bundle_file) {
    GYM_TRY(const Bytes bytes, read_file(bundle_file, kBundleBytesMax));
    auto bundle = read_bundle(bytes);
    if (!bundle.ok()) return bundle.error().in(bundle_file.string());
    return bundle;
}

bool is_bundle(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::array<char, kBundleMagic.size()> first{};
    in.read(first.data(), first.size());
    return in.gcount() == static_cast<std::streamsize>(first.size()) &&
           std::string_view(first.data(), first.size()) == kBundleMagic;
}

Result<bool> copy_bundle(const std::filesystem::path& token_file, const Digest& root,
                         const std::filesystem::path& other) {
    std::optional<Bytes> found;
    if (!root.is_zero()) {
        GYM_TRY(found, find_bundle(token_file, root));
    }
    const std::filesystem::path place = bundle_path(other);
    if (found) {
        GYM_CHECK(write_file_atomic(place, *found));
        return true;
    }
    std::error_code ignored;
    if (!is_bundle(place)) return false;
    if (const auto there = load_bundle(place); there.ok() && there->root == root) return true;
    std::filesystem::remove(place, ignored);
    return false;
}

}  // namespace gym::tokenizer
