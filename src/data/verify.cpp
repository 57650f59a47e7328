#include "gym/blob/dataset_writer.hpp"
#include "gym/data/manifest.hpp"
#include "token_hash.hpp"
#include "token_pieces.hpp"

namespace gym::data {

Result<Manifest> verify(const std::filesystem::path& token_file,
                        const std::filesystem::path& manifest) {
    GYM_TRY(const blob::DatasetSummary dataset, blob::scan_dataset(token_file));
    GYM_TRY(TokenFile tokens, TokenFile::open(token_file));
    std::vector<std::uint32_t> piece;
    GYM_TRY(Manifest out, read_manifest(manifest, [&](const ManifestDocument& document) -> Status {
                if (document.first > dataset.tokens ||
                    document.tokens > dataset.tokens - document.first)
                    return fail(ErrorCode::kMismatch,
                                document.source + " ends behind the token file's end");
                GYM_CHECK(tokens.read(document.first, document.tokens, piece));
                if (tokens_sha256(dataset.tokenization(), piece) == document.tokens_sha256)
                    return {};
                return fail(ErrorCode::kMismatch, document.source + ": its tokens in " +
                                                      token_file.string() +
                                                      " are not those of the manifest");
            }));
    if (out.end.dataset_root != dataset.root || out.end.tokens != dataset.tokens ||
        out.head.vocabulary != dataset.vocabulary)
        return fail(ErrorCode::kMismatch,
                    manifest.string() + " is the manifest of another dataset: it names the root " +
                        out.end.dataset_root.hex() + ", and that of " + token_file.string() +
                        " is " + dataset.root.hex());
    return out;
}

}  // namespace gym::data
