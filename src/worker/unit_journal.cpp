#include "gym/worker/unit_journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "gym/common/file.hpp"
#include "gym/protocol/reason.hpp"
#include "gym/records/codec.hpp"

namespace gym::worker {
namespace {

constexpr std::uint16_t kFormat = 2;
constexpr std::uint16_t kWholeRecord = 1;  ///< the format before: with the round's whole record
constexpr std::uint32_t kPartBytesMax = 64U << 20;
constexpr std::uint32_t kReasonBytesMax = 4096;
constexpr std::string_view kSuffix = ".unit";

/// An exclusive lock that the kernel drops with the process.
Result<int> lock_directory(const std::filesystem::path& directory) {
    const std::filesystem::path path = directory / "lock";
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return fail(ErrorCode::kIo, "cannot open " + path.string());
    if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
        ::close(file);
        return fail(ErrorCode::kConflict,
                    "another process works in " + directory.string() + " already");
    }
    return file;
}

}  // namespace

Bytes encode(const JournalEntry& entry) {
    commit::Encoder out;
    out.u16(kFormat);
    records::encode(entry.unit, out);
    out.bytes(protocol::encode(entry.record));
    records::encode(entry.inputs, out);
    out.bytes(protocol::encode(entry.commitment)).bytes(entry.records);
    records::encode(entry.leaf, out);
    out.boolean(entry.receipt.has_value());
    if (entry.receipt) records::encode(*entry.receipt, out);
    out.string(protocol::to_string(entry.state)).boolean(entry.defended).string(entry.reason);
    return out.take();
}

Result<JournalEntry> decode_journal_entry(ByteView bytes) {
    commit::Decoder in(bytes);
    GYM_TRY(const std::uint16_t format, in.u16());
    if (format != kFormat && format != kWholeRecord)
        return fail(ErrorCode::kMalformed, "journal format " + std::to_string(format));
    JournalEntry entry;
    GYM_TRY(entry.unit, records::decode_unit_key(in));
    GYM_TRY(const ByteView record, in.bytes(kPartBytesMax));
    if (format == kWholeRecord) {
        GYM_TRY(const protocol::RoundRecord whole, protocol::decode_round_record(record));
        entry.record = protocol::unit_record(whole, entry.unit.slot);
    } else {
        GYM_TRY(entry.record, protocol::decode_unit_record(record));
    }
    GYM_TRY(entry.inputs, records::decode_unit_inputs(in));
    GYM_TRY(const ByteView commitment, in.bytes(kPartBytesMax));
    GYM_TRY(entry.commitment, protocol::decode_signed_commitment(commitment));
    GYM_TRY(const ByteView records, in.bytes(kPartBytesMax));
    entry.records.assign(records.begin(), records.end());
    GYM_TRY(entry.leaf, records::decode_optional_digest(in));
    GYM_TRY(const bool has_receipt, in.boolean());
    if (has_receipt) {
        GYM_TRY(entry.receipt, records::decode_inclusion_receipt(in));
    }
    GYM_TRY(const std::string state, in.string(64));
    GYM_TRY(entry.state, protocol::parse_unit_state(state));
    GYM_TRY(entry.defended, in.boolean());
    GYM_TRY(entry.reason, in.string(kReasonBytesMax));
    GYM_CHECK(in.expect_end());
    return entry;
}

Result<UnitJournal> UnitJournal::open(const std::filesystem::path& directory) {
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (code) return fail(ErrorCode::kIo, directory.string() + ": " + code.message());
    GYM_TRY(const int lock, lock_directory(directory));
    UnitJournal journal(directory, lock);
    for (const auto& file : std::filesystem::directory_iterator(directory, code)) {
        if (file.path().extension() != kSuffix) continue;
        GYM_TRY(const Bytes bytes, read_file(file.path()));
        auto entry = decode_journal_entry(bytes);
        if (!entry.ok()) return entry.error().in(file.path().string());
        journal.entries_.push_back(std::move(*entry));
    }
    if (code) return fail(ErrorCode::kIo, directory.string() + ": " + code.message());
    std::ranges::sort(journal.entries_, {}, &JournalEntry::unit);
    return journal;
}

UnitJournal::UnitJournal(UnitJournal&& other) noexcept
    : directory_(std::move(other.directory_)),
      lock_(std::exchange(other.lock_, -1)),
      entries_(std::move(other.entries_)) {}

UnitJournal::~UnitJournal() {
    if (lock_ >= 0) ::close(lock_);
}

const JournalEntry* UnitJournal::find(const Digest& unit_id) const {
    const auto found = std::ranges::find(entries_, unit_id, &JournalEntry::unit_id);
    return found == entries_.end() ? nullptr : &*found;
}

std::filesystem::path UnitJournal::path_of(const Digest& unit_id) const {
    return directory_ / (to_hex(unit_id.view()) + std::string(kSuffix));
}

Status UnitJournal::save(const JournalEntry& entry) {
    const Digest id = entry.unit_id();
    const auto found = std::ranges::find(entries_, id, &JournalEntry::unit_id);
    if (found != entries_.end() && found->commitment != entry.commitment)
        return fail(ErrorCode::kConflict, "a commitment to " + protocol::name_unit(entry.unit) +
                                              " was signed before, and it is another one");
    GYM_CHECK(write_file_atomic(path_of(id), encode(entry), 0600));
    if (found == entries_.end())
        entries_.push_back(entry);
    else
        *found = entry;
    return {};
}

Status UnitJournal::remove(const Digest& unit_id) {
    std::error_code code;
    std::filesystem::remove(path_of(unit_id), code);
    if (code) return fail(ErrorCode::kIo, path_of(unit_id).string() + ": " + code.message());
    std::erase_if(entries_, [&](const JournalEntry& entry) { return entry.unit_id() == unit_id; });
    return {};
}

}  // namespace gym::worker
