#include "gym/blob/dataset.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/common/file.hpp"

namespace gym::blob {
namespace {

constexpr std::string_view kMagic = "GYMDATA1";
constexpr std::uint32_t kVocabularyMax = 65536;  // what u16 tokens can name

Bytes little_endian(std::span<const std::uint16_t> tokens) {
    Bytes out;
    out.reserve(tokens.size() * 2);
    for (const std::uint16_t token : tokens) {
        out.push_back(static_cast<std::uint8_t>(token));
        out.push_back(static_cast<std::uint8_t>(token >> 8));
    }
    return out;
}

std::string_view part_name(Split split) {
    switch (split) {
        case Split::kTrain:
            return "its training part";
        case Split::kValidation:
            return "its validation part";
        case Split::kAll:
            return "it";
    }
    return {};
}

}  // namespace

Dataset::Dataset(std::vector<std::uint16_t> tokens, std::uint32_t vocabulary)
    : tokens_(std::move(tokens)), vocabulary_(vocabulary) {
    const std::uint64_t size = tokens_.size();
    root_ = commit::tensor_root(commit::DType::kU16, {&size, 1}, little_endian(tokens_));
}

Result<Dataset> Dataset::build_from_text(ByteView text) {
    if (text.empty()) return fail(ErrorCode::kInvalidArgument, "the text is empty");
    return from_tokens({text.begin(), text.end()}, kByteVocabulary);
}

Result<Dataset> Dataset::from_tokens(std::vector<std::uint16_t> tokens, std::uint32_t vocabulary) {
    if (tokens.empty())
        return fail(ErrorCode::kInvalidArgument, "a dataset needs at least one token");
    if (vocabulary == 0 || vocabulary > kVocabularyMax)
        return fail(ErrorCode::kOutOfRange, "vocabulary " + std::to_string(vocabulary) +
                                                " is outside [1, " +
                                                std::to_string(kVocabularyMax) + "]");
    const auto largest = std::max_element(tokens.begin(), tokens.end());
    if (*largest >= vocabulary)
        return fail(ErrorCode::kOutOfRange, "token " + std::to_string(largest - tokens.begin()) +
                                                " is " + std::to_string(*largest) +
                                                ", the vocabulary has " +
                                                std::to_string(vocabulary));
    return Dataset(std::move(tokens), vocabulary);
}

Result<Dataset> Dataset::decode(ByteView file, const std::optional<Digest>& expected_root) {
    if (file.empty()) return fail(ErrorCode::kMalformed, "the token file is empty");
    if (file.size() < kMagic.size() ||
        !std::ranges::equal(file.first(kMagic.size()), as_bytes(kMagic)))
        return fail(ErrorCode::kMalformed, "not a token file (it does not start with GYMDATA1)");
    commit::Decoder in(file.subspan(kMagic.size()));
    GYM_TRY(const std::uint32_t vocabulary, in.u32());
    GYM_TRY(const std::uint64_t count, in.u64());
    if (count > kDatasetTokensMax || in.remaining() != count * 2)
        return fail(ErrorCode::kMalformed, "the token file declares " + std::to_string(count) +
                                               " tokens and holds " +
                                               std::to_string(in.remaining()) + " bytes of them");
    GYM_TRY(const ByteView body, in.raw(in.remaining()));
    std::vector<std::uint16_t> tokens(count);
    for (std::size_t i = 0; i < count; ++i)
        tokens[i] = static_cast<std::uint16_t>(body[2 * i] | body[2 * i + 1] << 8);
    GYM_TRY(Dataset dataset, from_tokens(std::move(tokens), vocabulary));
    if (expected_root && dataset.root() != *expected_root)
        return fail(ErrorCode::kMismatch, "the dataset's root is " + dataset.root().hex() +
                                              ", expected " + expected_root->hex());
    return dataset;
}

Result<Dataset> Dataset::load(const std::string& path, const std::optional<Digest>& expected_root) {
    GYM_TRY(const Bytes file, read_file(path));
    auto dataset = decode(file, expected_root);
    if (!dataset.ok()) return dataset.error().in(path);
    return dataset;
}

Bytes Dataset::encode() const {
    commit::Encoder out;
    out.raw(as_bytes(kMagic)).u32(vocabulary_).u64(tokens_.size()).raw(little_endian(tokens_));
    return out.take();
}

std::span<const std::uint16_t> Dataset::tokens(Split split) const {
    if (split == Split::kAll) return tokens_;
    const std::size_t validation = tokens_.size() / 10;
    const std::span<const std::uint16_t> all(tokens_);
    return split == Split::kTrain ? all.first(all.size() - validation) : all.last(validation);
}

Result<std::uint64_t> Dataset::window_count(Split split, std::uint64_t length) const {
    const std::size_t available = tokens(split).size();
    if (length == 0) return fail(ErrorCode::kInvalidArgument, "a window needs at least one token");
    if (available < length)
        return fail(ErrorCode::kInvalidArgument,
                    "the text is too short: " + std::string(part_name(split)) + " has " +
                        std::to_string(available) + " tokens, one window needs " +
                        std::to_string(length));
    return available - length + 1;
}

Result<std::span<const std::uint16_t>> Dataset::window(Split split, std::uint64_t first,
                                                       std::uint64_t length) const {
    GYM_TRY(const std::uint64_t count, window_count(split, length));
    if (first >= count)
        return fail(ErrorCode::kOutOfRange, "window " + std::to_string(first) + " of " +
                                                std::to_string(count) + " runs over the end");
    return tokens(split).subspan(first, length);
}

}  // namespace gym::blob
