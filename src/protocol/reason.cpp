#include "gym/protocol/reason.hpp"

namespace gym::protocol {
namespace {

std::string committed_and_recomputed(const Digest& committed, const Digest& recomputed) {
    return committed.hex() + " committed, " + recomputed.hex() + " recomputed";
}

}  // namespace

std::string_view to_string(ReasonCode code) noexcept {
    switch (code) {
        case ReasonCode::kStepDiffers:
            return "step_differs";
        case ReasonCode::kResultDiffers:
            return "result_differs";
        case ReasonCode::kEquivocation:
            return "equivocation";
        case ReasonCode::kLateCommitment:
            return "late_commitment";
        case ReasonCode::kNoReport:
            return "no_report";
        case ReasonCode::kInputsLost:
            return "inputs_lost";
        case ReasonCode::kWorkerExcluded:
            return "worker_excluded";
        case ReasonCode::kFalseReport:
            return "false_report";
        case ReasonCode::kChallenged:
            return "challenged";
        case ReasonCode::kGameProved:
            return "game_proved";
    }
    return "unknown";
}

Result<ReasonCode> parse_reason_code(std::string_view name) {
    for (const ReasonCode code :
         {ReasonCode::kStepDiffers, ReasonCode::kResultDiffers, ReasonCode::kEquivocation,
          ReasonCode::kLateCommitment, ReasonCode::kNoReport, ReasonCode::kInputsLost,
          ReasonCode::kWorkerExcluded, ReasonCode::kFalseReport, ReasonCode::kChallenged,
          ReasonCode::kGameProved})
        if (name == to_string(code)) return code;
    return fail(ErrorCode::kMalformed, "no reason is called '" + std::string(name) + "'");
}

std::string name_unit(const UnitKey& key) {
    const std::string round = " of round " + std::to_string(key.round);
    if (key.slot == kAggregateSlot) return "the aggregate unit" + round;
    if (key.slot == kEvaluateSlot) return "the evaluation unit" + round;
    return "unit " + std::to_string(key.slot) + round;
}

Reason step_differs(const UnitKey& key, std::uint32_t step, const Digest& committed_root,
                    const Digest& recomputed_root) {
    return {ReasonCode::kStepDiffers,
            name_unit(key) + ": step " + std::to_string(step) +
                " differs from re-execution (records root " +
                committed_and_recomputed(committed_root, recomputed_root) + ")"};
}

Reason result_differs(const UnitKey& key, std::string_view field, const Digest& committed,
                      const Digest& recomputed) {
    return {ReasonCode::kResultDiffers, name_unit(key) + ": the " + std::string(field) +
                                            " differs from re-execution (" +
                                            committed_and_recomputed(committed, recomputed) + ")"};
}

Reason equivocation(const UnitKey& key, const Digest& first, const Digest& second) {
    return {ReasonCode::kEquivocation, name_unit(key) +
                                           ": the worker signed two different commitments (" +
                                           first.hex() + " and " + second.hex() + ")"};
}

Reason no_defence(const Reason& dispute) {
    return {dispute.code, dispute.sentence + ", and the worker did not defend it"};
}

Reason referee_ruled(const Reason& dispute) {
    return {dispute.code, dispute.sentence + ", and the referee found the same"};
}

Reason no_game(const Reason& ended) {
    return {ended.code, ended.sentence +
                            "; no game about it was opened before its window on chain had passed, "
                            "so no stake is taken"};
}

Reason games_lost(const Reason& ended) {
    return {ended.code, ended.sentence +
                            "; its challengers lost every game about it on chain, so no stake is "
                            "taken"};
}

Reason game_proved(const Reason& dispute) {
    return {dispute.code, dispute.sentence + ", and its game on chain ended against the worker"};
}

Reason game_proved(const UnitKey& key) {
    return {ReasonCode::kGameProved, name_unit(key) + ": a game on chain proved a fault"};
}

Reason game_proved_elsewhere(const Digest& name) {
    return {ReasonCode::kGameProved, "a game on chain proved a fault in " + name.hex() +
                                         ", which is not a unit of this coordinator"};
}

Reason challenged(const UnitKey& key) {
    return {ReasonCode::kChallenged, name_unit(key) + ": a game about it was opened on chain"};
}

Reason late_commitment(const UnitKey& key) {
    return {ReasonCode::kLateCommitment, name_unit(key) + ": no commitment by the deadline"};
}

Reason no_next_round(const UnitKey& key) {
    return {ReasonCode::kLateCommitment,
            name_unit(key) +
                ": its commitment came after its deadline, and the job ended before "
                "another round could take it"};
}

Reason no_report(const UnitKey& key, std::uint32_t draws) {
    return {ReasonCode::kNoReport,
            name_unit(key) + ": no verifier reported in " + std::to_string(draws) + " draws"};
}

Reason inputs_lost(const UnitKey& key, std::string_view what) {
    return {ReasonCode::kInputsLost,
            name_unit(key) + ": the coordinator lost " + std::string(what)};
}

Reason worker_excluded(const UnitKey& key, const UnitKey& cause) {
    return {ReasonCode::kWorkerExcluded, name_unit(key) + ": void, because " + name_unit(cause) +
                                             " of this worker was rejected"};
}

Reason worker_excluded(const UnitKey& key) {
    return {ReasonCode::kWorkerExcluded,
            name_unit(key) + ": void, because a fault of this worker was proven"};
}

Reason false_report(const UnitKey& key, const Address& verifier) {
    return {ReasonCode::kFalseReport, name_unit(key) + ": the report of verifier " +
                                          verifier.hex() + " was refuted by re-execution"};
}

}  // namespace gym::protocol
