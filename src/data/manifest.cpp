#include "gym/data/manifest.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "gym/commit/sha256.hpp"
#include "gym/common/json_fields.hpp"
#include "gym/data/byte_source.hpp"

namespace gym::data {
namespace {

namespace json = boost::json;
using json_fields::number_of;
using json_fields::text_of;

constexpr std::string_view kFormat = "gym data manifest 1";
/// More than any document within its limits gives.
constexpr std::uint64_t kDocumentTokensMax = std::uint64_t{1} << 28;
constexpr std::string_view kLeafTag = "gym manifest line\n";

Digest leaf_of(std::string_view line) {
    commit::Hasher hasher;
    return hasher.update(as_bytes(kLeafTag)).update(as_bytes(line)).finish();
}

std::string optional_text(const json::object& object, std::string_view key) {
    return object.contains(key) ? text_of(object, key) : std::string();
}

ManifestHead head_of(const json::object& object) {
    if (text_of(object, "format") != kFormat)
        throw std::runtime_error("format: expected '" + std::string(kFormat) + "'");
    ManifestHead out;
    out.tokenizer = text_of(object, "tokenizer");
    out.vocabulary = number_of<std::uint32_t>(object, "vocabulary");
    const json::array& separator = json_fields::member_of(object, "separator").as_array();
    out.separator.reserve(separator.size());
    for (const json::value& token : separator)
        out.separator.push_back(token.to_number<std::uint32_t>());
    out.options = json::serialize(json_fields::member_of(object, "options"));
    return out;
}

ManifestDocument document_of(const json::object& object) {
    ManifestDocument out;
    out.first = number_of(object, "first");
    out.tokens = number_of(object, "tokens");
    out.text_sha256 = json_fields::fixed_of<Digest>(object, "text_sha256");
    out.tokens_sha256 = json_fields::fixed_of<Digest>(object, "tokens_sha256");
    out.source = text_of(object, "source");
    out.id = optional_text(object, "id");
    out.url = optional_text(object, "url");
    out.licence = optional_text(object, "licence");
    out.language = optional_text(object, "language");
    // Written only where it is true, so that manifests without it keep their roots.
    out.consented = object.contains("consent");
    if (out.consented && !json_fields::member_of(object, "consent").as_bool())
        throw std::runtime_error("consent: expected true, or nothing");
    return out;
}

ManifestEnd end_of(const json::object& object) {
    ManifestEnd out;
    out.dataset_root = json_fields::fixed_of<Digest>(object, "dataset_root");
    out.tokens = number_of(object, "tokens");
    out.documents = number_of(object, "documents");
    for (const auto& member : json_fields::member_of(object, "removed").as_object())
        out.removed[std::string(member.key())] = member.value().to_number<std::uint64_t>();
    return out;
}

}  // namespace

std::filesystem::path manifest_path(const std::filesystem::path& token_file) {
    return token_file.string() + ".manifest.jsonl";
}

std::string to_line(const ManifestHead& head) {
    return json::serialize(
        json::object{{"format", kFormat},
                     {"tokenizer", head.tokenizer},
                     {"vocabulary", head.vocabulary},
                     {"separator", json::array(head.separator.begin(), head.separator.end())},
                     {"options", json::parse(head.options)}});
}

std::string to_line(const ManifestDocument& document) {
    json::object out{{"first", document.first},
                     {"tokens", document.tokens},
                     {"text_sha256", to_hex(document.text_sha256.view())},
                     {"tokens_sha256", to_hex(document.tokens_sha256.view())},
                     {"source", document.source}};
    const auto add = [&](const char* key, const std::string& text) {
        if (!text.empty()) out[key] = text;
    };
    add("id", document.id);
    add("url", document.url);
    add("licence", document.licence);
    add("language", document.language);
    if (document.consented) out["consent"] = true;
    return json::serialize(out);
}

std::string to_line(const ManifestEnd& end) {
    json::object removed;
    for (const auto& [step, documents] : end.removed)
        removed[step] = documents;
    return json::serialize(json::object{{"dataset_root", end.dataset_root.hex()},
                                        {"tokens", end.tokens},
                                        {"documents", end.documents},
                                        {"removed", std::move(removed)}});
}

Error ManifestWriter::system_error() const {
    std::string message = "cannot write " + path_.string() + ": " + std::strerror(errno);
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
        message += "; make room and run the command again";
    return fail(ErrorCode::kIo, std::move(message));
}

Result<ManifestWriter> ManifestWriter::create(const std::filesystem::path& path) {
    std::FILE* const file = std::fopen(path.c_str(), "wbe");
    ManifestWriter out(file, path);
    if (file == nullptr) return out.system_error();
    return out;
}

Result<ManifestWriter> ManifestWriter::resume(const std::filesystem::path& path,
                                              std::uint64_t bytes) {
    commit::MerkleAccumulator tree;
    {
        GYM_TRY(const auto source, open_bytes(path));
        LineReader lines(*source);
        std::string line;
        std::uint64_t read = 0;
        while (read < bytes) {
            GYM_TRY(const bool more, lines.next(line, kManifestLineBytesMax));
            if (!more) break;
            read += line.size() + 1;
            tree.add(leaf_of(line));
        }
        if (read != bytes) return fail(ErrorCode::kMalformed, path.string() + " is cut off");
    }
    std::FILE* const file = std::fopen(path.c_str(), "r+be");
    ManifestWriter out(file, path);
    if (file == nullptr || ::ftruncate(::fileno(file), static_cast<off_t>(bytes)) != 0 ||
        std::fseek(file, 0, SEEK_END) != 0)
        return out.system_error();
    out.bytes_ = bytes;
    out.tree_ = std::move(tree);
    return out;
}

Status ManifestWriter::append(const std::string& line) {
    if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() ||
        std::fputc('\n', file_.get()) == EOF)
        return system_error();
    bytes_ += line.size() + 1;
    tree_.add(leaf_of(line));
    return {};
}

Status ManifestWriter::sync() {
    if (std::fflush(file_.get()) != 0 || ::fdatasync(::fileno(file_.get())) != 0)
        return system_error();
    return {};
}

struct ManifestReader::Impl {
    std::string name;
    std::unique_ptr<ByteSource> source;
    std::optional<LineReader> lines;
    std::string line;
    commit::MerkleAccumulator tree;
    Manifest manifest;
    bool ended = false;
    std::uint64_t next_token = 0, documents = 0;

    [[nodiscard]] Error malformed(const std::string& why) const {
        return fail(ErrorCode::kMalformed,
                    name + ":" + std::to_string(lines->number()) + ": " + why);
    }

    /// Calls `read` with the next line's object. @return false at the end of the file.
    template <class Read>
    Result<bool> take_line(Read&& read) {
        GYM_TRY(const bool more, lines->next(line, kManifestLineBytesMax));
        if (!more) return false;
        tree.add(leaf_of(line));
        try {
            const json::value value = json::parse(line);
            read(value.as_object());
        } catch (const std::exception& error) {
            return malformed(error.what());
        }
        return true;
    }

    Status finish() {
        GYM_TRY(const bool more, lines->next(line, kManifestLineBytesMax));
        if (more) return malformed("a line follows the end");
        const ManifestEnd& end = manifest.end;
        if (end.documents != documents || end.tokens < next_token)
            return fail(ErrorCode::kMismatch,
                        name + " has " + std::to_string(documents) + " documents of " +
                            std::to_string(next_token) + " tokens, and its end says " +
                            std::to_string(end.documents) + " of " + std::to_string(end.tokens));
        manifest.root = tree.root();
        return {};
    }
};

ManifestReader::ManifestReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ManifestReader::ManifestReader(ManifestReader&&) noexcept = default;
ManifestReader::~ManifestReader() = default;

Result<ManifestReader> ManifestReader::open(const std::filesystem::path& path) {
    GYM_TRY(auto source, open_bytes(path));
    return read(std::move(source), path.string());
}

Result<ManifestReader> ManifestReader::read(std::unique_ptr<ByteSource> source, std::string name) {
    auto impl = std::make_unique<Impl>();
    impl->name = std::move(name);
    impl->source = std::move(source);
    impl->lines.emplace(*impl->source);
    GYM_TRY(const bool more, impl->take_line([&](const json::object& object) {
        impl->manifest.head = head_of(object);
    }));
    if (!more) return fail(ErrorCode::kMalformed, impl->name + " is empty");
    return ManifestReader(std::move(impl));
}

const ManifestHead& ManifestReader::head() const {
    return impl_->manifest.head;
}
const Manifest& ManifestReader::whole() const {
    return impl_->manifest;
}

Result<bool> ManifestReader::next(ManifestDocument& document) {
    if (impl_->ended) return false;
    GYM_TRY(const bool more, impl_->take_line([&](const json::object& object) {
        if (object.contains("dataset_root")) {
            impl_->manifest.end = end_of(object);
            impl_->ended = true;
            return;
        }
        document = document_of(object);
        if (document.first < impl_->next_token) throw std::runtime_error("documents overlap");
        if (document.tokens > kDocumentTokensMax) throw std::runtime_error("too many tokens");
        impl_->next_token = document.first + document.tokens;
        ++impl_->documents;
    }));
    if (!more) return fail(ErrorCode::kMalformed, impl_->name + " is cut off: its end is missing");
    if (impl_->ended) GYM_CHECK(impl_->finish());
    return !impl_->ended;
}

Result<Manifest> read_manifest(const std::filesystem::path& path,
                               FunctionRef<Status(const ManifestDocument&)> visit) {
    GYM_TRY(ManifestReader reader, ManifestReader::open(path));
    ManifestDocument document;
    while (true) {
        GYM_TRY(const bool more, reader.next(document));
        if (!more) return reader.whole();
        GYM_CHECK(visit(document));
    }
}

}  // namespace gym::data
