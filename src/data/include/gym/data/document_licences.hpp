#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/licence/licence.hpp"

/// The licences of a token file's documents, and what they permit of the whole (docs/DATA.md,
/// "Licences").
namespace gym::data {

inline constexpr std::size_t kDocumentLicencesMax = 4096;

/// Documents by licence, as licence::canonical() spells it; by the manifest's words where that
/// refuses them; "" counts documents without a licence.
using LicenceCounts = std::map<std::string, std::uint64_t>;

/// Counts a manifest's documents, in constant memory.
/// @errors those of read_manifest(); kMismatch if the manifest is not of the dataset `root`;
/// kOutOfRange beyond kDocumentLicencesMax licences.
[[nodiscard]] Result<LicenceCounts> document_licences(const std::filesystem::path& manifest,
                                                      const Digest& root);
/// The same of what lies beside `token_file` (manifest_path()); empty without a manifest.
[[nodiscard]] Result<LicenceCounts> licences_beside(const std::filesystem::path& token_file,
                                                    const Digest& root);

/// "303 CC-BY-NC-4.0, 12 MIT, 5 without a licence".
[[nodiscard]] std::string licences_text(const LicenceCounts& counts);

/// Whether any document has a licence.
[[nodiscard]] bool names_licence(const LicenceCounts& counts);

/// The licence under which the whole is registered: `given`, which must forbid whatever one of the
/// documents' licences forbids, and keep its duties (licence::dropped_duty()); or, where it is
/// empty, all of theirs together (licence::joined()). Documents without a licence do not count.
/// @errors kInvalidArgument if nothing names a licence, or a document's licence cannot be read;
/// kConflict naming the licences that are stricter.
[[nodiscard]] Result<std::string> licence_of_whole(std::string_view given,
                                                   const LicenceCounts& counts);

/// Why the owner of a job may not train on these documents for `use`, with counts; empty: nothing
/// forbids it. What a licence reserves to its owner is the owner's to use.
[[nodiscard]] std::string forbidden_by_documents(const LicenceCounts& counts, licence::Use use);

}  // namespace gym::data
