#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/unit.hpp"

namespace gym::protocol {

/// Why a unit ended or a node was excluded. The names are stable: programs branch on them.
enum class ReasonCode : std::uint8_t {
    kStepDiffers,     ///< re-execution differs first at a step
    kResultDiffers,   ///< all step records agree, a result field does not
    kEquivocation,    ///< two signed commitments for one unit
    kLateCommitment,  ///< no commitment by the deadline
    kNoReport,        ///< sampled, and no verifier reported in any draw
    kInputsLost,      ///< data of the coordinator's side is gone
    kWorkerExcluded,  ///< voided because the worker was excluded for another unit
    kFalseReport,     ///< a verifier's report was refuted
    kChallenged,      ///< a game about it was opened on chain
    kGameProved,      ///< a game on chain proved a fault that had not been reported here
};

/// The stable lower-case name ("step_differs").
[[nodiscard]] std::string_view to_string(ReasonCode code) noexcept;
/// @errors kMalformed for another name.
[[nodiscard]] Result<ReasonCode> parse_reason_code(std::string_view name);

/// Machine-readable code plus one sentence for people.
struct Reason {
    ReasonCode code = ReasonCode::kStepDiffers;
    std::string sentence;

    friend bool operator==(const Reason&, const Reason&) = default;
};

/// Names a unit in a sentence: "unit 2 of round 3" (its slot), or "the aggregate unit of round 3".
[[nodiscard]] std::string name_unit(const UnitKey& key);

/// "unit 2 of round 3: step 12 differs from re-execution (records root 0x.. committed, 0x..
/// recomputed)".
[[nodiscard]] Reason step_differs(const UnitKey& key, std::uint32_t step,
                                  const Digest& committed_root, const Digest& recomputed_root);
/// "unit 2 of round 3: the delta root differs from re-execution (0x.. committed, 0x.. recomputed)".
[[nodiscard]] Reason result_differs(const UnitKey& key, std::string_view field,
                                    const Digest& committed, const Digest& recomputed);
[[nodiscard]] Reason equivocation(const UnitKey& key, const Digest& first, const Digest& second);
/// The dispute's own code and sentence, then that no defence came, or that the referee found the
/// same.
[[nodiscard]] Reason no_defence(const Reason& dispute);
[[nodiscard]] Reason referee_ruled(const Reason& dispute);
/// ... then that no game was opened as long as one could be, so that the worker keeps its stake.
[[nodiscard]] Reason no_game(const Reason& ended);
/// ... then that the challengers lost their games, so that the worker keeps its stake.
[[nodiscard]] Reason games_lost(const Reason& ended);
/// ... then that the game on chain ended against the worker.
[[nodiscard]] Reason game_proved(const Reason& dispute);
/// Of a unit that was not disputed before.
[[nodiscard]] Reason game_proved(const UnitKey& key);
/// Of a unit that the coordinator does not know: `name` is the chain's for it.
[[nodiscard]] Reason game_proved_elsewhere(const Digest& name);
[[nodiscard]] Reason challenged(const UnitKey& key);
[[nodiscard]] Reason late_commitment(const UnitKey& key);
/// Of a late commitment, which is of the next round's epoch.
[[nodiscard]] Reason no_next_round(const UnitKey& key);
[[nodiscard]] Reason no_report(const UnitKey& key, std::uint32_t draws);
[[nodiscard]] Reason inputs_lost(const UnitKey& key, std::string_view what);
[[nodiscard]] Reason worker_excluded(const UnitKey& key, const UnitKey& cause);
/// The same for a fault that is in no unit that the coordinator knows.
[[nodiscard]] Reason worker_excluded(const UnitKey& key);
[[nodiscard]] Reason false_report(const UnitKey& key, const Address& verifier);

}  // namespace gym::protocol
