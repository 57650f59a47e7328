#pragma once

#include <filesystem>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/devnet/layout.hpp"
#include "gym/devnet/services.hpp"

// How the demo's network measures the text that its job is trained on: with the operator's commands
// of `gym`, as the database user that may.
namespace gym::devnet {

/// The demo's text cut in three, so that its provider does not have what it is measured on.
struct TextParts {
    Bytes offered;    ///< by the provider: nearly all
    Bytes reference;  ///< the network's, registered by the job's owner
    Bytes held_out;   ///< the network's
};
/// @errors of read_file(); kInvalidArgument for a text that is too short to measure anything with.
[[nodiscard]] Result<TextParts> cut_text(const std::filesystem::path& text);

/// Publishes an evaluation over the reference, which is registered already; datasets that come
/// afterwards can be measured. Idempotent.
Status publish_evaluation(const Layout& layout, const Programs& programs, const TextParts& parts);
/// Measures what the provider offers and records it, unless that was done before.
Status measure_offered(const Layout& layout, const Programs& programs, const Digest& dataset,
                       const TextParts& parts, db::Database& database);

}  // namespace gym::devnet
