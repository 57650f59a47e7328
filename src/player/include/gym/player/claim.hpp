#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/transcript.hpp"
#include "gym/game/withdrawn.hpp"
#include "gym/game/withheld.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/protocol/unit.hpp"

/// Units that a node defends or challenges, with all that it needs to play their games.
namespace gym::player {

enum class Role : std::uint8_t { kDefend = 1, kChallenge = 2 };

/// The subject of a claim. Values are stored: never renumber.
enum class Subject : std::uint8_t {
    kTrainUnit = 1,
    kAggregate = 2,  ///< the coordinator's outer step of a round
    kConflict = 3,   ///< two records that cannot both be true: won when it is opened
    kReport = 4,     ///< a verifier's report on a train unit (gym/protocol/report_claim.hpp)
    kWithheld = 5,   ///< data that somebody stands for and does not give (gym/game/withheld.hpp)
};
/// "train_unit", "aggregate", "conflict", "report", "withheld".
[[nodiscard]] std::string_view to_string(Subject subject) noexcept;

/// The round of the held deltas of an aggregate.
struct HeldRound {
    protocol::RoundRecord record;
    std::vector<protocol::SignedCommitment> epoch;  ///< as Claim::epoch
    Digest base_state_blob;  ///< for deltas that cannot be downloaded; zero: not known

    friend bool operator==(const HeldRound&, const HeldRound&) = default;
};

struct Claim {
    Role role = Role::kDefend;
    Subject subject = Subject::kTrainUnit;
    protocol::UnitKey key;
    /// Index and path: of train units only. Of a report, what it says in place of a commitment.
    game::Evidence evidence;
    /// Of a conflict, what contradicts the commitment: another signed commitment, or the record of
    /// the round after it, as openConflict() takes them. Of withheld data, which:
    /// encode(game::WithheldData). Else empty.
    Bytes other;
    // Blobs of the unit's inputs; zero: it has none. A conflict and withheld data have none at all.
    Digest program_blob;
    /// Of train units; of an aggregate, for deltas that cannot be downloaded.
    Digest dataset_blob;
    Digest base_state_blob;
    Digest momentum_blob;                         ///< of aggregates
    std::optional<protocol::RoundRecord> round;   ///< of aggregates: the whole record
    std::vector<protocol::IncludedDelta> deltas;  ///< of aggregates: what went in, in order
    /// Of aggregates: all commitments under their round's epoch, in the tree's order, since the
    /// accused may no longer show them. Empty: not known.
    std::vector<protocol::SignedCommitment> epoch;
    /// Of aggregates with held deltas: the round before, from which these come.
    std::optional<HeldRound> held;
    /// Of aggregates with withdrawn deltas: of each, in their order, why it may be subtracted, as
    /// game::OuterWork::withdrawn() has it. Empty: not known.
    std::vector<std::optional<game::WithdrawnSource>> withdrawn;
    /// Games about it are not earlier; as long as no epoch is known, when it was filed. 0: not
    /// known.
    std::uint64_t from_block = 0;
    std::uint64_t epoch_block = 0;  ///< that holds the root of its round; 0: not known
    Digest salt;                    ///< of the challenger's announcement; else zero

    /// Claims with one name are one: a unit, and each conflict, report or piece of data about one,
    /// has a name of its own.
    [[nodiscard]] std::string name() const;
    friend bool operator==(const Claim&, const Claim&) = default;
};

/// The conflict that a claim is about. @pre check(claim). @errors kInvalidArgument: another
/// subject.
[[nodiscard]] Result<game::Conflict> conflict_of(const Claim& claim);
/// What a claim about withheld data opens its game with. @pre check(claim). @errors
/// kInvalidArgument: another subject.
[[nodiscard]] Result<game::WithheldEvidence> withheld_evidence_of(const Claim& claim);
/// Every blob that the unit is computed from. Not the dataset of an aggregate, nor the base state
/// of its held deltas: its deltas are there.
[[nodiscard]] std::vector<Digest> blobs_of(const Claim& claim);
/// Of an aggregate, what went in, as its game lists it.
[[nodiscard]] std::vector<game::OuterDelta> outer_deltas_of(const Claim& claim);

/// @pre check(claim).
[[nodiscard]] Bytes encode(const Claim& claim);
/// Takes what this version writes, and claims that earlier ones left on disk, which had the whole
/// record in all of them. @errors kMalformed, also for parts that do not belong together (check).
[[nodiscard]] Result<Claim> decode_claim(ByteView bytes);
/// Whether key, evidence and the parts of its subject belong together; nothing is asked of the
/// chain. @errors kInvalidArgument.
[[nodiscard]] Status check(const Claim& claim);

/// Claims on disk, one file each, written (fsync, rename) before anything is sent. Thread-safe: one
/// thread works on units and another one plays.
class ClaimStore {
  public:
    using Shared = std::shared_ptr<const Claim>;
    /// Reads every claim. @errors kIo; kMalformed naming a damaged file.
    static Result<std::unique_ptr<ClaimStore>> open(const std::filesystem::path& directory);

    /// Adds the claim, or replaces the one of its name. @errors kIo; those of check().
    Status save(const Claim& claim);
    /// Removes the claim of this one's name. @errors kIo.
    Status remove(const Claim& claim);
    /// Notes, on disk too, that there is nothing to challenge any more: the player forgets the
    /// claim of this one's name, but plays on if its game is announced already. No effect without
    /// such a claim. @errors kIo.
    Status withdraw(const Claim& claim);
    [[nodiscard]] bool is_withdrawn(const Claim& claim) const;
    [[nodiscard]] std::vector<Shared> list() const;
    /// The claim of this one's name; null: there is none.
    [[nodiscard]] Shared find(const Claim& claim) const;
    [[nodiscard]] bool has_any(Role role) const;
    /// Whether there is a claim of this one's name.
    [[nodiscard]] bool contains(const Claim& claim) const;
    /// The newest block that the player has seen; 0 before the first. Signatures made now are in no
    /// game before it.
    void note_head(std::uint64_t block) { head_ = block; }
    [[nodiscard]] std::uint64_t head() const { return head_; }
    /// Whether a claim's unit is computed from this blob.
    [[nodiscard]] bool needs(const Digest& blob) const;

  private:
    explicit ClaimStore(std::filesystem::path directory) : directory_(std::move(directory)) {}
    [[nodiscard]] std::filesystem::path path_of(const Claim& claim) const;
    [[nodiscard]] std::filesystem::path mark_of(const std::string& name) const;
    Status read_marks();
    const std::filesystem::path directory_;
    mutable std::mutex mutex_;
    std::vector<Shared> claims_;
    std::set<std::string> withdrawn_;  ///< names of claims
    std::atomic<std::uint64_t> head_ = 0;
};

}  // namespace gym::player
