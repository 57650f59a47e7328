#include "gym/worker/unit_journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "gym/common/file.hpp"
#include "gym/protocol/reason.hpp"

namespace gym::worker {
namespace {

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
