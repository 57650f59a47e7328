#include "checkpoint.hpp"

#include <unistd.h>

#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>

#include "gym/common/json_fields.hpp"

namespace gym::data {
namespace {

namespace json = boost::json;
using json_fields::number_of;

/// Words of an entry: whether it was new, the text's hash, the keys of the bands.
constexpr std::size_t kEntryWords = 1 + 2 + kBands;
using Entry = std::array<std::uint64_t, kEntryWords>;

json::object to_json(const BuildCounts& counts) {
    json::object steps;
    for (const auto& [name, count] : counts.steps) {
        json::object reasons;
        for (const auto& [reason, documents] : count.reasons)
            reasons[reason] = documents;
        steps[name] = {{"removed", count.removed},
                       {"changed", count.changed},
                       {"reasons", std::move(reasons)}};
    }
    return {{"documents_read", counts.documents_read},
            {"documents_kept", counts.documents_kept},
            {"text_bytes_read", counts.text_bytes_read},
            {"text_bytes_kept", counts.text_bytes_kept},
            {"steps", std::move(steps)}};
}

BuildCounts counts_of(const json::object& object) {
    BuildCounts out;
    out.documents_read = number_of(object, "documents_read");
    out.documents_kept = number_of(object, "documents_kept");
    out.text_bytes_read = number_of(object, "text_bytes_read");
    out.text_bytes_kept = number_of(object, "text_bytes_kept");
    for (const auto& member : json_fields::member_of(object, "steps").as_object()) {
        const json::object& step = member.value().as_object();
        StepCount& count = out.steps[std::string(member.key())];
        count.removed = number_of(step, "removed");
        count.changed = number_of(step, "changed");
        for (const auto& reason : json_fields::member_of(step, "reasons").as_object())
            count.reasons[std::string(reason.key())] = reason.value().to_number<std::uint64_t>();
    }
    return out;
}

}  // namespace

std::string to_text(const Checkpoint& checkpoint) {
    return json::serialize(json::object{{"identity", checkpoint.identity},
                                        {"input", checkpoint.position.input},
                                        {"records", checkpoint.position.records},
                                        {"tokens", checkpoint.tokens},
                                        {"manifest_bytes", checkpoint.manifest_bytes},
                                        {"index_entries", checkpoint.index_entries},
                                        {"counts", to_json(checkpoint.counts)}});
}

Result<Checkpoint> read_checkpoint(const std::string& text) {
    try {
        const json::value value = json::parse(text);
        const json::object& object = value.as_object();
        Checkpoint out;
        out.identity = json_fields::text_of(object, "identity");
        out.position = {number_of(object, "input"), number_of(object, "records")};
        out.tokens = number_of(object, "tokens");
        out.manifest_bytes = number_of(object, "manifest_bytes");
        out.index_entries = number_of(object, "index_entries");
        out.counts = counts_of(json_fields::member_of(object, "counts").as_object());
        return out;
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed, std::string("not a checkpoint: ") + error.what());
    }
}

Error IndexJournal::system_error() const {
    std::string message = "cannot write " + path_.string() + ": " + std::strerror(errno);
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
        message += "; make room and run the command again";
    return fail(ErrorCode::kIo, std::move(message));
}

Result<IndexJournal> IndexJournal::create(const std::filesystem::path& path) {
    std::FILE* const file = std::fopen(path.c_str(), "wbe");
    IndexJournal out(file, path);
    if (file == nullptr) return out.system_error();
    return out;
}

Result<IndexJournal> IndexJournal::resume(const std::filesystem::path& path, std::uint64_t entries,
                                          DuplicateIndex& index) {
    std::FILE* const file = std::fopen(path.c_str(), "r+be");
    IndexJournal out(file, path);
    if (file == nullptr) return out.system_error();
    Entry entry{};
    for (std::uint64_t i = 0; i < entries; ++i) {
        if (std::fread(entry.data(), sizeof entry, 1, file) != 1)
            return fail(ErrorCode::kMalformed, path.string() + " is cut off");
        Fingerprint document{{entry[1], entry[2]}, {}};
        std::copy(entry.begin() + 3, entry.end(), document.bands.begin());
        GYM_CHECK(index.restore(document, entry[0] == 1 ? Likeness::kNew : Likeness::kNear));
    }
    if (std::fflush(file) != 0 ||
        ::ftruncate(::fileno(file), static_cast<off_t>(entries * sizeof(Entry))) != 0 ||
        std::fseek(file, 0, SEEK_END) != 0)
        return out.system_error();
    out.entries_ = entries;
    return out;
}

Status IndexJournal::append(const Fingerprint& document, Likeness likeness) {
    if (likeness == Likeness::kExact) return {};  // it changed nothing
    Entry entry{likeness == Likeness::kNew ? 1U : 0U, document.exact[0], document.exact[1]};
    std::copy(document.bands.begin(), document.bands.end(), entry.begin() + 3);
    if (std::fwrite(entry.data(), sizeof entry, 1, file_.get()) != 1) return system_error();
    ++entries_;
    return {};
}

Status IndexJournal::sync() {
    if (std::fflush(file_.get()) != 0 || ::fdatasync(::fileno(file_.get())) != 0)
        return system_error();
    return {};
}

}  // namespace gym::data
