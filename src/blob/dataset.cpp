#include "gym/blob/dataset.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "gym/commit/tensor_root.hpp"
#include "gym/common/file.hpp"

namespace gym::blob {
namespace {

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

TokenView view_of(const auto& tokens) {
    return std::visit([](const auto& list) { return TokenView(list); }, tokens);
}

}  // namespace

Dataset::Dataset(Tokens tokens, const Tokenization& tokenization) : tokens_(std::move(tokens)) {
    header_ = {tokenization, this->tokens().size()};
    root_ = header_.root(commit::chunk_tree_root(token_bytes()));
}

Result<Dataset> Dataset::checked(Tokens tokens, const Tokenization& tokenization) {
    const TokenView view = view_of(tokens);
    if (view.empty())
        return fail(ErrorCode::kInvalidArgument, "a dataset needs at least one token");
    GYM_CHECK(check_tokenization(tokenization));
    GYM_CHECK(check_tokens(view, tokenization.vocabulary, 0));
    return Dataset(std::move(tokens), tokenization);
}

Result<Dataset> Dataset::build_from_text(ByteView text) {
    if (text.empty()) return fail(ErrorCode::kInvalidArgument, "the text is empty");
    return from_tokens(std::vector<std::uint16_t>(text.begin(), text.end()), kByteVocabulary);
}

Result<Dataset> Dataset::from_tokens(std::vector<std::uint16_t> tokens, std::uint32_t vocabulary) {
    GYM_CHECK(check_narrow_vocabulary(vocabulary));
    return checked(std::move(tokens), {vocabulary, {}});
}

Result<Dataset> Dataset::from_tokens(TokenView tokens, const Tokenization& tokenization) {
    GYM_CHECK(check_tokenization(tokenization));
    // Before they are narrowed.
    GYM_CHECK(check_tokens(tokens, tokenization.vocabulary, 0));
    if (tokenization.vocabulary > kNarrowVocabularyMax)
        return checked(std::vector<std::uint32_t>(tokens.begin(), tokens.end()), tokenization);
    std::vector<std::uint16_t> narrow;
    narrow.reserve(tokens.size());
    for (const std::uint32_t token : tokens)
        narrow.push_back(static_cast<std::uint16_t>(token));
    return checked(std::move(narrow), tokenization);
}

Result<Dataset> Dataset::decode(ByteView file, const std::optional<Digest>& expected_root) {
    GYM_TRY(const DatasetHeader header,
            read_dataset_header(file.first(std::min(file.size(), kDatasetHeaderBytesMax)),
                                file.size()));
    const ByteView body = file.subspan(header.size_bytes());
    Tokens tokens;
    if (header.dtype() == commit::DType::kU32) tokens = std::vector<std::uint32_t>();
    std::visit(
        [&]<class Token>(std::vector<Token>& list) {
            list.resize(header.tokens);
            for (std::size_t i = 0; i < list.size(); ++i)
                list[i] = static_cast<Token>(token_at(header, body, i));
        },
        tokens);
    GYM_TRY(Dataset dataset, checked(std::move(tokens), header.tokenization));
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
    Bytes out = header_.encode();
    append_tokens(header_, tokens(), out);
    return out;
}

Bytes Dataset::token_bytes() const {
    Bytes out;
    append_tokens(header_, tokens(), out);
    return out;
}

TokenView Dataset::tokens() const {
    return view_of(tokens_);
}

TokenView Dataset::tokens(Split split) const {
    const TokenView all = tokens();
    if (split == Split::kAll) return all;
    const std::size_t validation = all.size() / 10;
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

Result<TokenView> Dataset::window(Split split, std::uint64_t first, std::uint64_t length) const {
    GYM_TRY(const std::uint64_t count, window_count(split, length));
    if (first >= count)
        return fail(ErrorCode::kOutOfRange, "window " + std::to_string(first) + " of " +
                                                std::to_string(count) + " runs over the end");
    return tokens(split).subspan(first, length);
}

}  // namespace gym::blob
