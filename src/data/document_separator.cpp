#include "gym/data/document_separator.hpp"

#include <string>
#include <system_error>

#include "gym/common/printable.hpp"

namespace gym::data {
namespace {

Error none(const std::string& why) {
    return fail(ErrorCode::kInvalidArgument, "documents cannot be kept apart: " + why);
}

/// That `token` ends no document before its end.
Status check_document(const ManifestDocument& document, std::uint32_t token, TokenView tokens) {
    for (std::uint64_t i = document.first; i < document.first + document.tokens; ++i) {
        if (i >= tokens.size() || tokens[i] != token) continue;
        return none("the document from " + without_controls(document.source) + " at token " +
                    std::to_string(document.first) + " has token " + std::to_string(token) +
                    ", which is the one between documents: build the token file with a tokenizer "
                    "that has an end-of-text token");
    }
    return {};
}

}  // namespace

Result<std::uint32_t> separator_of(const ManifestHead& head) {
    if (head.separator.empty())
        return none("every document has rows of its own (padding), which no other shares");
    if (head.separator.size() == 1) return head.separator.front();
    return none(
        "they have an empty line between them, as documents have within them: build the "
        "token file with a tokenizer that has an end-of-text token (`gym data build "
        "--tokenizer`)");
}

Result<std::uint32_t> document_separator(const std::filesystem::path& token_file,
                                         const blob::Dataset& dataset) {
    const std::filesystem::path path = manifest_path(token_file);
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown))
        return none(path.string() +
                    " does not exist, which would say what stands between documents: build the "
                    "token file with `gym data build FOLDER`, or set the model's "
                    "document_separator yourself");
    GYM_TRY(ManifestReader reader, ManifestReader::open(path));
    GYM_TRY(const std::uint32_t token, separator_of(reader.head()));
    ManifestDocument document;
    for (;;) {
        GYM_TRY(const bool more, reader.next(document));
        if (!more) break;
        GYM_CHECK(check_document(document, token, dataset.tokens()));
    }
    if (reader.whole().end.dataset_root == dataset.root()) return token;
    return fail(ErrorCode::kMismatch, path.string() + " is of dataset " +
                                          reader.whole().end.dataset_root.hex() + ", not of " +
                                          dataset.root().hex() + ": build the token file again");
}

}  // namespace gym::data
