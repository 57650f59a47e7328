#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/result.hpp"

namespace gym::data {

/// Beyond this a document is refused: what steps need for it has to fit into memory.
inline constexpr std::size_t kDocumentBytesMax = std::size_t{32} << 20;

/// What a record says of its origin is kept up to this length; longer texts are taken as unknown.
inline constexpr std::size_t kProvenanceBytesMax = 4096;

/// Where a document comes from and what its author allows. Texts as they were found; empty:
/// unknown.
struct Provenance {
    std::string source;  ///< the input's name and the record's number there: "a.jsonl:17"
    std::string id;      ///< as the input names it
    std::string url;
    std::string licence;  ///< an SPDX id or expression
    bool opted_out = false;
    bool consented = false;  ///< the record says so; without a word of it a document is not known
};

struct Document {
    std::string text;
    Provenance provenance;
};

/// What a reader finds in a file, before anything is made of it: a text, or a line of JSON.
struct Record {
    std::string bytes;
    std::uint64_t number = 0;  ///< within its input, from 1
};

/// Where a JSON record has what. The first name that a record has counts; "meta.url" is the member
/// `url` of the object `meta`.
struct RecordKeys {
    std::vector<std::string> text{"text", "content"};
    std::vector<std::string> id{"id", "meta.id"};
    std::vector<std::string> url{"url", "source_url", "meta.url", "metadata.url", "source"};
    std::vector<std::string> licence{"licence", "license", "meta.license", "metadata.license"};
    /// True: opted out. A consent of false is an opt-out too.
    std::vector<std::string> opt_out{"opt_out", "opted_out", "noai", "meta.opt_out"};
    std::vector<std::string> consent{"consent", "meta.consent"};
};

/// The document of a line of JSON. A list of licences is joined with " AND ".
/// @errors kMalformed: not an object, or no text under any of the names; the message names them.
[[nodiscard]] Result<Document> document_of_json(const Record& record, const RecordKeys& keys);

}  // namespace gym::data
