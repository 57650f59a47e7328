#include "mix_source.hpp"

#include <algorithm>
#include <string>

#include "token_hash.hpp"

namespace gym::data {
namespace {

namespace fs = std::filesystem;

/// Of a document that only finish() reads.
constexpr std::uint64_t kReadTokens = 1 << 16;

}  // namespace

Result<MixSource> MixSource::open(const MixInput& input) {
    GYM_TRY(const auto summary, blob::scan_dataset(input.path));
    GYM_TRY(TokenFile tokens, TokenFile::open(input.path));
    MixSource out(input, summary, std::move(tokens));
    std::error_code error;
    const fs::path manifest = manifest_path(input.path);
    if (fs::exists(manifest, error))
        GYM_CHECK(out.open_manifest(manifest));
    else
        out.document_.tokens = summary.tokens;
    return out;
}

Status MixSource::open_manifest(const fs::path& path) {
    GYM_TRY(manifest_, read_manifest(path, [this](const ManifestDocument& document) {
                content_ += document.tokens;
                return Status();
            }));
    if (manifest_->end.dataset_root != summary_.root)
        return fail(
            ErrorCode::kMismatch,
            path.string() + " is the manifest of another dataset than " + input_.path.string());
    GYM_TRY(ManifestReader reader, ManifestReader::open(path));
    documents_.emplace(std::move(reader));
    return {};
}

std::uint64_t MixSource::available() const {
    if (!manifest_) return summary_.tokens;
    const std::uint64_t separators = std::max<std::uint64_t>(manifest_->end.documents, 1) - 1;
    return content_ + separators * manifest_->head.separator.size();
}

Result<std::uint64_t> MixSource::left() {
    // Empty documents are passed over; a manifest ends.
    while (documents_ && done_ == document_.tokens) {
        done_ = 0;
        document_ = ManifestDocument();
        GYM_TRY(const bool more, documents_->next(document_));
        if (!more) {
            document_ = ManifestDocument();
            return std::uint64_t{0};
        }
    }
    return document_.tokens - done_;
}

Status MixSource::take(std::uint64_t tokens, MixPiece& piece) {
    GYM_CHECK(tokens_.read(document_.first + done_, tokens, piece.tokens));
    piece.about = document_;
    piece.about.first += done_;
    piece.about.tokens = tokens;
    piece.about.tokens_sha256 = tokens_sha256(summary_.tokenization(), piece.tokens);
    std::string part;
    if (!documents_)
        part = std::to_string(done_);
    else if (tokens < document_.tokens)
        part = document_.source + "[" + std::to_string(done_) + ".." +
               std::to_string(done_ + tokens) + "]";
    else
        part = document_.source;
    piece.about.source = input_.path.filename().string() + ":" + part;
    done_ += tokens;
    if (!documents_) return {};
    update_hash(hasher_, summary_.tokenization(), piece.tokens);
    return done_ == document_.tokens ? check_document() : Status();
}

Status MixSource::check_document() {
    if (hasher_.finish() == document_.tokens_sha256) return {};
    return fail(ErrorCode::kMismatch, input_.path.string() + ": " + document_.source +
                                          ": its tokens are not those of the manifest");
}

Status MixSource::finish() {
    if (!documents_ || done_ == 0 || done_ == document_.tokens) return {};
    std::vector<std::uint32_t> tokens;
    while (done_ < document_.tokens) {
        const std::uint64_t count = std::min(kReadTokens, document_.tokens - done_);
        GYM_CHECK(tokens_.read(document_.first + done_, count, tokens));
        update_hash(hasher_, summary_.tokenization(), tokens);
        done_ += count;
    }
    return check_document();
}

}  // namespace gym::data
