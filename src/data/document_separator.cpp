#include "gym/data/document_separator.hpp"

#include <string>
#include <system_error>

#include "gym/blob/dataset_writer.hpp"
#include "gym/common/printable.hpp"

namespace gym::data {
namespace {

Error none(const std::string& why) {
    return fail(ErrorCode::kInvalidArgument, "documents cannot be kept apart: " + why);
}

/// Reads tokens in order beside the manifest's documents, none of which may have the separator.
class SeparatorCheck {
  public:
    SeparatorCheck(ManifestReader& manifest, std::uint32_t separator)
        : manifest_(manifest), separator_(separator) {}

    Status add(TokenView tokens) {
        for (std::uint64_t i = 0; i < tokens.size(); ++i, ++at_)
            if (tokens[i] == separator_) GYM_CHECK(stands_between());
        return {};
    }
    /// The manifest is read to its end, which names its dataset.
    Status finish() {
        while (more_)
            GYM_CHECK(next());
        return {};
    }

  private:
    Status next() {
        GYM_TRY(more_, manifest_.next(document_));
        return {};
    }
    /// That the separator at the position is in no document.
    Status stands_between() {
        while (more_ && at_ >= document_.first + document_.tokens)
            GYM_CHECK(next());
        if (!more_ || at_ < document_.first) return {};
        return none("the document from " + without_controls(document_.source) + " at token " +
                    std::to_string(document_.first) + " has token " + std::to_string(separator_) +
                    ", which is the one between documents: build the token file with a tokenizer "
                    "that has an end-of-text token");
    }

    ManifestReader& manifest_;
    const std::uint32_t separator_;
    std::uint64_t at_ = 0;
    ManifestDocument document_;  ///< the first that does not end before at_; none at the beginning
    bool more_ = true;
};

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
                                         const Digest& root) {
    const std::filesystem::path path = manifest_path(token_file);
    std::error_code unknown;
    if (!std::filesystem::exists(path, unknown))
        return none(path.string() +
                    " does not exist, which would say what stands between documents: build the "
                    "token file with `gym data build FOLDER`, or set the model's "
                    "document_separator yourself");
    GYM_TRY(ManifestReader reader, ManifestReader::open(path));
    GYM_TRY(const std::uint32_t token, separator_of(reader.head()));
    SeparatorCheck check(reader, token);
    GYM_TRY(const blob::DatasetSummary dataset,
            blob::scan_dataset(token_file, [&](TokenView tokens) { return check.add(tokens); }));
    GYM_CHECK(check.finish());
    const Digest& of_manifest = reader.whole().end.dataset_root;
    if (of_manifest != dataset.root)
        return fail(ErrorCode::kMismatch, path.string() + " is of dataset " + of_manifest.hex() +
                                              ", not of " + dataset.root.hex() +
                                              ": build the token file again");
    if (dataset.root != root)
        return fail(ErrorCode::kMismatch, token_file.string() + " holds dataset " +
                                              dataset.root.hex() + ", not " + root.hex());
    return token;
}

}  // namespace gym::data
