#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/lifecycle.hpp"
#include "gym/protocol/unit.hpp"
#include "gym/records/task.hpp"
#include "gym/records/unit.hpp"

namespace gym::worker {

/// A unit that a worker has signed for, with all that it must not forget about it.
struct JournalEntry {
    protocol::UnitKey unit;
    protocol::UnitRecord record;
    records::UnitInputs inputs;
    protocol::SignedCommitment commitment;
    Bytes records;               ///< canonical step records
    std::optional<Digest> leaf;  ///< once the coordinator accepted the commitment
    std::optional<records::InclusionReceipt> receipt;            ///< checked against the leaf
    protocol::UnitState state = protocol::UnitState::kAssigned;  ///< as last heard
    bool defended = false;
    std::string reason;  ///< one sentence, of a unit that failed

    [[nodiscard]] Digest unit_id() const { return protocol::unit_id(unit); }
    friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

[[nodiscard]] Bytes encode(const JournalEntry& entry);
/// @errors kMalformed.
[[nodiscard]] Result<JournalEntry> decode_journal_entry(ByteView bytes);

/// Commitments on disk, written (fsync, rename) before they are sent: whatever kills the process, a
/// unit has at most one signed commitment for ever. One file a unit; one process a directory. Not
/// thread-safe.
class UnitJournal {
  public:
    /// Reads every entry. @errors kIo; kMalformed naming a damaged file; kConflict if another
    /// process has the directory open.
    static Result<UnitJournal> open(const std::filesystem::path& directory);
    UnitJournal(UnitJournal&& other) noexcept;
    UnitJournal& operator=(UnitJournal&&) = delete;
    ~UnitJournal();

    [[nodiscard]] const std::vector<JournalEntry>& entries() const { return entries_; }
    [[nodiscard]] const JournalEntry* find(const Digest& unit_id) const;
    /// Adds or replaces an entry. @errors kConflict for another commitment to the same unit, kIo.
    Status save(const JournalEntry& entry);
    /// Forgets a unit that ended. @errors kIo.
    Status remove(const Digest& unit_id);

  private:
    UnitJournal(std::filesystem::path directory, int lock)
        : directory_(std::move(directory)), lock_(lock) {}
    [[nodiscard]] std::filesystem::path path_of(const Digest& unit_id) const;
    std::filesystem::path directory_;
    int lock_ = -1;
    std::vector<JournalEntry> entries_;
};

}  // namespace gym::worker
