#include "gym/tokenizer/bundle.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/assert.hpp"
#include "tokenizer_json.hpp"

namespace gym::tokenizer {
namespace {

constexpr std::string_view kJson = "tokenizer.json";
constexpr std::string_view kModel = "tokenizer.model";
constexpr std::string_view kConfig = "tokenizer_config.json";
/// Names are written into the folders of others.
constexpr std::array<std::string_view, 8> kNames{kJson,
                                                 kModel,
                                                 kConfig,
                                                 "special_tokens_map.json",
                                                 "vocab.json",
                                                 "merges.txt",
                                                 "added_tokens.json",
                                                 "chat_template.jinja"};
constexpr std::uint32_t kNameBytesMax = 32;

std::string_view text_of(const Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<Digest> root_of(const std::vector<TokenizerFile>& files) {
    if (std::ranges::find(files, kJson, &TokenizerFile::name) != files.end()) {
        GYM_TRY(const Tokenizer tokenizer, Tokenizer::from_files("tokenizer", files));
        return tokenizer.root();
    }
    const auto model = std::ranges::find(files, kModel, &TokenizerFile::name);
    if (model != files.end()) return commit::sha256(model->bytes);
    return fail(ErrorCode::kInvalidArgument,
                "a tokenizer has a tokenizer.json or a tokenizer.model among its files");
}

}  // namespace

Result<Bundle> make_bundle(std::vector<TokenizerFile> files) {
    if (files.size() > kBundleFilesMax)
        return fail(ErrorCode::kOutOfRange,
                    "a tokenizer has at most " + std::to_string(kBundleFilesMax) + " files");
    std::uint64_t bytes = 0;
    for (const TokenizerFile& file : files) {
        if (std::ranges::find(kNames, file.name) == kNames.end())
            return fail(ErrorCode::kInvalidArgument, "no tokenizer has a file of this name");
        if (file.bytes.size() > kTokenizerFileBytesMax)
            return fail(ErrorCode::kOutOfRange, file.name + " has " +
                                                    std::to_string(file.bytes.size()) +
                                                    " bytes; a file of a tokenizer has at most " +
                                                    std::to_string(kTokenizerFileBytesMax));
        bytes += file.bytes.size();
    }
    if (bytes > kBundleBytesMax - (std::uint64_t{1} << 10))
        return fail(ErrorCode::kOutOfRange, "the tokenizer's files have " + std::to_string(bytes) +
                                                " bytes, which is too many");
    std::ranges::sort(files, {}, &TokenizerFile::name);
    if (std::ranges::adjacent_find(files, {}, &TokenizerFile::name) != files.end())
        return fail(ErrorCode::kInvalidArgument, "two files of a tokenizer have one name");
    for (const TokenizerFile& file : files) {
        if (file.name != kConfig) continue;
        const Status harmless = check_names_no_code(text_of(file.bytes));
        if (!harmless.ok()) return harmless.error().in(file.name);
    }
    GYM_TRY(const Digest root, root_of(files));
    return Bundle{std::move(files), root};
}

Result<std::vector<TokenizerFile>> covered_files(const Bundle& bundle) {
    const auto json = std::ranges::find(bundle.files, kJson, &TokenizerFile::name);
    if (json == bundle.files.end()) {
        const auto model = std::ranges::find(bundle.files, kModel, &TokenizerFile::name);
        GYM_ASSERT(model != bundle.files.end(), "a bundle has a root");
        return std::vector{*model};
    }
    GYM_TRY(const Tokenizer tokenizer, Tokenizer::from_files("tokenizer", bundle.files));
    GYM_TRY(Definition definition, read_tokenizer_json(text_of(json->bytes)));
    // Which token it is is a choice among those of the tokenizer, that models depend on.
    definition.end_of_text = tokenizer.end_of_text();
    const std::string config = write_tokenizer_config(definition);
    const ByteView written = as_bytes(config);
    return std::vector<TokenizerFile>{
        *json, {std::string(kConfig), Bytes(written.begin(), written.end())}};
}

Bytes encode_bundle(const Bundle& bundle) {
    commit::Encoder out;
    out.raw(as_bytes(kBundleMagic)).u32(static_cast<std::uint32_t>(bundle.files.size()));
    for (const TokenizerFile& file : bundle.files)
        out.string(file.name).bytes(file.bytes);
    return out.take();
}

Result<Bundle> read_bundle(ByteView bytes) {
    if (bytes.size() < kBundleMagic.size() ||
        !std::ranges::equal(bytes.first(kBundleMagic.size()), as_bytes(kBundleMagic)))
        return fail(ErrorCode::kMalformed,
                    "not a tokenizer's files (they do not start with GYMTOKN1)");
    if (bytes.size() > kBundleBytesMax)
        return fail(ErrorCode::kOutOfRange, "a tokenizer's files have at most " +
                                                std::to_string(kBundleBytesMax) + " bytes");
    commit::Decoder in(bytes.subspan(kBundleMagic.size()));
    GYM_TRY(const std::uint32_t count, in.count(kBundleFilesMax));
    std::vector<TokenizerFile> files(count);
    for (TokenizerFile& file : files) {
        GYM_TRY(file.name, in.string(kNameBytesMax));
        GYM_TRY(const ByteView content, in.bytes(static_cast<std::uint32_t>(kBundleBytesMax)));
        file.bytes.assign(content.begin(), content.end());
    }
    GYM_CHECK(in.expect_end());
    if (!std::ranges::is_sorted(files, {}, &TokenizerFile::name))
        return fail(ErrorCode::kMalformed,
                    "a tokenizer's files are not in the order of their names");
    return make_bundle(std::move(files));
}

}  // namespace gym::tokenizer
