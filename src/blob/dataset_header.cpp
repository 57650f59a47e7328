#include "gym/blob/dataset_header.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "gym/commit/codec.hpp"
#include "gym/commit/tensor_root.hpp"

namespace gym::blob {
namespace {

constexpr std::string_view kMagic1 = "GYMDATA1";
constexpr std::string_view kMagic2 = "GYMDATA2";
constexpr std::size_t kHeaderBytes1 = 8 + 4 + 8;
constexpr std::size_t kHeaderBytes2 = 8 + 4 * 4 + 8 + Digest::kSize;
static_assert(kHeaderBytes2 == kDatasetHeaderBytesMax);

bool begins_with(ByteView content, std::string_view magic) {
    return content.size() >= magic.size() &&
           std::ranges::equal(content.first(magic.size()), as_bytes(magic));
}

Status check_vocabulary(std::uint32_t vocabulary, std::uint32_t most) {
    if (vocabulary > 0 && vocabulary <= most) return {};
    return fail(ErrorCode::kOutOfRange, "vocabulary " + std::to_string(vocabulary) +
                                            " is outside [1, " + std::to_string(most) + "]");
}

/// The count is checked by the caller.
Result<DatasetHeader> read_fields(ByteView file) {
    DatasetHeader out;
    if (begins_with(file, kMagic1)) {
        commit::Decoder in(file.subspan(kMagic1.size()));
        GYM_TRY(out.tokenization.vocabulary, in.u32());
        GYM_TRY(out.tokens, in.u64());
        return out;
    }
    commit::Decoder in(file.subspan(kMagic2.size()));
    GYM_TRY(const std::uint32_t token_bytes, in.u32());
    GYM_TRY(out.tokenization.vocabulary, in.u32());
    GYM_TRY(const std::uint32_t chunk_bytes, in.u32());
    GYM_TRY(const std::uint32_t zero, in.u32());
    GYM_TRY(out.tokens, in.u64());
    GYM_TRY(out.tokenization.tokenizer, in.digest());
    const auto refuse = [](const std::string& why) {
        return fail(ErrorCode::kMalformed, "the head of the token file " + why);
    };
    if (out.format() != 2)
        return refuse("has no tokenizer and a vocabulary of at most 65536: that is GYMDATA1");
    if (token_bytes != out.token_bytes())
        return refuse("says " + std::to_string(token_bytes) +
                      " bytes a token, and a vocabulary of " +
                      std::to_string(out.tokenization.vocabulary) + " has " +
                      std::to_string(out.token_bytes()));
    if (chunk_bytes != commit::kChunkBytes || zero != 0)
        return refuse("is of a later version: chunks of " + std::to_string(chunk_bytes) +
                      " bytes, flags " + std::to_string(zero));
    return out;
}

}  // namespace

unsigned DatasetHeader::format() const {
    const bool narrow = tokenization.vocabulary <= kNarrowVocabularyMax;
    return narrow && tokenization.tokenizer.is_zero() ? 1 : 2;
}

std::size_t DatasetHeader::size_bytes() const {
    return format() == 1 ? kHeaderBytes1 : kHeaderBytes2;
}

commit::DType DatasetHeader::dtype() const {
    return tokenization.vocabulary <= kNarrowVocabularyMax ? commit::DType::kU16
                                                           : commit::DType::kU32;
}

std::size_t DatasetHeader::token_bytes() const {
    return commit::size_bytes(dtype());
}

Bytes DatasetHeader::encode() const {
    commit::Encoder out;
    if (format() == 1) {
        out.raw(as_bytes(kMagic1)).u32(tokenization.vocabulary).u64(tokens);
        return out.take();
    }
    out.raw(as_bytes(kMagic2)).u32(static_cast<std::uint32_t>(token_bytes()));
    out.u32(tokenization.vocabulary).u32(commit::kChunkBytes).u32(0).u64(tokens);
    out.fixed(tokenization.tokenizer);
    return out.take();
}

Digest DatasetHeader::root(const Digest& tree_root) const {
    const Digest tensor = commit::tensor_digest(dtype(), {&tokens, 1}, tree_root);
    const std::optional<Digest> head = leaf();
    return head ? commit::merkle_node(*head, tensor) : tensor;
}

std::optional<Digest> DatasetHeader::leaf() const {
    if (format() == 1) return std::nullopt;
    return commit::chunk_leaf(encode());
}

bool is_token_file(ByteView content) {
    return begins_with(content, kMagic1) || begins_with(content, kMagic2);
}

Result<DatasetHeader> read_unfinished_header(ByteView file) {
    if (file.empty()) return fail(ErrorCode::kMalformed, "the token file is empty");
    if (!is_token_file(file))
        return fail(ErrorCode::kMalformed,
                    "not a token file (it starts with neither GYMDATA1 nor GYMDATA2)");
    return read_fields(file);
}

Result<DatasetHeader> read_dataset_header(ByteView file, std::uint64_t file_bytes) {
    GYM_TRY(const DatasetHeader header, read_unfinished_header(file));
    const std::uint64_t body = file_bytes - header.size_bytes();
    if (header.tokens > kDatasetTokensMax || body != header.tokens * header.token_bytes())
        return fail(ErrorCode::kMalformed,
                    "the token file declares " + std::to_string(header.tokens) +
                        " tokens and holds " + std::to_string(body) + " bytes of them");
    if (header.tokens == 0)
        return fail(ErrorCode::kInvalidArgument, "a dataset needs at least one token");
    if (header.format() == 1) GYM_CHECK(check_narrow_vocabulary(header.tokenization.vocabulary));
    GYM_CHECK(check_tokenization(header.tokenization));
    return header;
}

Status check_tokenization(const Tokenization& tokenization) {
    return check_vocabulary(tokenization.vocabulary, kVocabularyMax);
}

Status check_narrow_vocabulary(std::uint32_t vocabulary) {
    return check_vocabulary(vocabulary, kNarrowVocabularyMax);
}

Status check_tokens(TokenView tokens, std::uint32_t vocabulary, std::uint64_t first) {
    for (const std::uint32_t token : tokens) {
        if (token >= vocabulary)
            return fail(ErrorCode::kOutOfRange,
                        "token " + std::to_string(first) + " is " + std::to_string(token) +
                            ", the vocabulary has " + std::to_string(vocabulary));
        ++first;
    }
    return {};
}

Result<std::uint64_t> dataset_bytes_max(std::uint64_t tokens, std::uint32_t vocabulary) {
    if (tokens > kDatasetTokensMax)
        return fail(ErrorCode::kOutOfRange, std::to_string(tokens) + " tokens are more than " +
                                                std::to_string(kDatasetTokensMax));
    const DatasetHeader header{{vocabulary, {}}, tokens};
    return kDatasetHeaderBytesMax + tokens * header.token_bytes();
}

void append_tokens(const DatasetHeader& header, TokenView tokens, Bytes& out) {
    const std::size_t size = header.token_bytes();
    std::size_t at = out.size();
    out.resize(at + tokens.size() * size);
    for (const std::uint32_t token : tokens) {
        out[at] = static_cast<std::uint8_t>(token);
        out[at + 1] = static_cast<std::uint8_t>(token >> 8);
        if (size == 4) {
            out[at + 2] = static_cast<std::uint8_t>(token >> 16);
            out[at + 3] = static_cast<std::uint8_t>(token >> 24);
        }
        at += size;
    }
}

std::uint32_t token_at(const DatasetHeader& header, ByteView body, std::size_t at) {
    const std::size_t size = header.token_bytes();
    const std::size_t from = at * size;
    std::uint32_t token = body[from] | std::uint32_t{body[from + 1]} << 8;
    if (size == 4)
        token |= std::uint32_t{body[from + 2]} << 16 | std::uint32_t{body[from + 3]} << 24;
    return token;
}

}  // namespace gym::blob
