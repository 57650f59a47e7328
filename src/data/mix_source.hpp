#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "gym/blob/dataset_writer.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/result.hpp"
#include "gym/data/manifest.hpp"
#include "gym/data/mix.hpp"
#include "token_pieces.hpp"

namespace gym::data {

/// Tokens that follow each other in an input.
struct MixPiece {
    ManifestDocument about;  ///< its place is that in the input
    std::vector<std::uint32_t> tokens;
};

/// One input of a mix while pieces are taken from it, in its order. Checks every document that it
/// hands out against the input's manifest. Not thread-safe.
class MixSource {
  public:
    /// @errors those of scan_dataset() and read_manifest(); kMismatch for a manifest of another
    /// file.
    static Result<MixSource> open(const MixInput& input);

    [[nodiscard]] const blob::DatasetSummary& summary() const { return summary_; }
    [[nodiscard]] const MixInput& input() const { return input_; }
    [[nodiscard]] const std::optional<Manifest>& manifest() const { return manifest_; }
    /// Tokens that it gives at the least, with a separator between its documents.
    [[nodiscard]] std::uint64_t available() const;

    /// How many tokens are left of the document in progress, else how many the next one has; of an
    /// input without documents, of all of it. 0: nothing is left.
    Result<std::uint64_t> left();
    [[nodiscard]] bool has_documents() const { return documents_.has_value(); }
    /// Whether the next piece continues the last one's text.
    [[nodiscard]] bool continues() const { return done_ > 0; }
    /// Replaces `piece` with the next `tokens`. @pre 0 < tokens <= left().
    /// @errors kMismatch for a document whose tokens are not those of the manifest; kIo.
    Status take(std::uint64_t tokens, MixPiece& piece);
    /// Checks the document of which a part was taken. @errors as take().
    Status finish();

  private:
    MixSource(MixInput input, const blob::DatasetSummary& summary, TokenFile tokens)
        : input_(std::move(input)), summary_(summary), tokens_(std::move(tokens)) {}
    Status open_manifest(const std::filesystem::path& path);
    Status check_document();

    MixInput input_;
    blob::DatasetSummary summary_;
    TokenFile tokens_;
    std::optional<Manifest> manifest_;
    std::optional<ManifestReader> documents_;
    std::uint64_t content_ = 0;  ///< tokens of all documents
    ManifestDocument document_;  ///< in progress; of an input without documents, all of it
    std::uint64_t done_ = 0;     ///< its tokens that were taken
    commit::Hasher hasher_;      ///< of these
};

}  // namespace gym::data
