#include "gym/data/document_licences.hpp"

#include <algorithm>
#include <set>
#include <system_error>

#include "gym/common/printable.hpp"
#include "gym/data/manifest.hpp"

namespace gym::data {
namespace {

using licence::Use;

/// SPDX's word for a licence that nobody stated.
constexpr std::string_view kNotSaid = "NOASSERTION";

std::string count_text(std::uint64_t documents) {
    return std::to_string(documents) + (documents == 1 ? " document is" : " documents are");
}

void add(std::string& list, const std::string& one) {
    list += (list.empty() ? "" : "; ") + one;
}

/// What a document's licence forbids and `given` permits, or a duty that `given` drops; or nothing.
std::string stricter_than(std::string_view given, std::string_view document) {
    for (const Use use : {Use::kCommercial, Use::kNonCommercial}) {
        std::string why = licence::forbidden(document, use);
        if (!why.empty() && licence::forbidden(given, use).empty()) return why;
    }
    return licence::dropped_duty(document, given);
}

/// The documents whose licence is stricter than `given`, with counts; empty: there are none.
std::string stricter_than(std::string_view given, const LicenceCounts& counts) {
    std::string out;
    for (const auto& [text, documents] : counts) {
        const std::string why = text.empty() ? text : stricter_than(given, text);
        if (why.empty()) continue;
        add(out, count_text(documents) + " under " + without_controls(text) + " (" + why + ")");
    }
    return out;
}

}  // namespace

Result<LicenceCounts> document_licences(const std::filesystem::path& manifest, const Digest& root) {
    LicenceCounts out;
    GYM_TRY(const Manifest whole,
            read_manifest(manifest, [&](const ManifestDocument& document) -> Status {
                auto known = licence::canonical(document.licence);
                if (known.ok())
                    ++out[*known];
                else
                    ++out[document.licence == kNotSaid ? "" : document.licence];
                if (out.size() <= kDocumentLicencesMax) return {};
                return fail(ErrorCode::kOutOfRange,
                            manifest.string() + ": its documents have more than " +
                                std::to_string(kDocumentLicencesMax) + " different licences");
            }));
    if (whole.end.dataset_root == root) return out;
    return fail(ErrorCode::kMismatch, manifest.string() + " is of dataset " +
                                          whole.end.dataset_root.hex() + ", not of " + root.hex() +
                                          ": build the token file again, or remove a manifest that "
                                          "does not belong to it");
}

Result<LicenceCounts> licences_beside(const std::filesystem::path& token_file, const Digest& root) {
    const std::filesystem::path manifest = manifest_path(token_file);
    std::error_code unknown;
    if (!std::filesystem::exists(manifest, unknown)) return LicenceCounts();
    return document_licences(manifest, root);
}

std::string licences_text(const LicenceCounts& counts) {
    std::string out;
    for (const auto& [text, documents] : counts)
        if (!text.empty())
            out += (out.empty() ? "" : ", ") + std::to_string(documents) + " " +
                   without_controls(text);
    if (const auto none = counts.find(""); none != counts.end())
        out += (out.empty() ? "" : ", ") + std::to_string(none->second) + " without a licence";
    return out;
}

bool names_licence(const LicenceCounts& counts) {
    return std::ranges::any_of(counts, [](const auto& one) { return !one.first.empty(); });
}

Result<std::string> licence_of_whole(std::string_view given, const LicenceCounts& counts) {
    if (given.empty()) {
        std::set<std::string> all;
        for (const auto& [text, documents] : counts)
            if (!text.empty()) all.insert(text);
        auto joined = licence::joined(all);
        if (joined.ok() || all.empty()) return joined;
        return joined.error().in("the documents' licences (" + licences_text(counts) + ")");
    }
    GYM_TRY(std::string out, licence::canonical(given));
    const std::string stricter = stricter_than(out, counts);
    if (stricter.empty()) return out;
    return fail(
        ErrorCode::kConflict,
        out + " permits more than the documents' licences: " + stricter +
            "; leave the licence out to take all of theirs together, name a stricter one, or "
            "build without these documents (`gym data build --licences`)");
}

std::string forbidden_by_documents(const LicenceCounts& counts, Use use) {
    std::string out;
    for (const auto& [text, documents] : counts) {
        if (text.empty() || licence::reserved_to_owner(text)) continue;
        const std::string why = licence::forbidden(text, use);
        if (!why.empty())
            add(out, count_text(documents) + " under " + without_controls(text) + " (" + why + ")");
    }
    return out;
}

}  // namespace gym::data
