#pragma once

#include <functional>
#include <string>
#include <vector>

#include "faulty_work.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/rerun_work.hpp"
#include "gym/game/rules.hpp"
#include "gym/game/strategy.hpp"
#include "must.hpp"
#include "sample_unit.hpp"

/// Two players of one game in one process, with the rules between them.
namespace gym::game::testing {

using dispute::testing::kSamples;
using dispute::testing::SampleUnit;

using gym::testing::must;

inline std::unique_ptr<RerunWork> rerun(const SampleUnit& unit, RerunWorkOptions options = {}) {
    return must(RerunWork::create(unit.unit(), std::move(options)));
}

/// The asserter's commitment by its run, under a round record that is right.
inline Facts facts_of(const SampleUnit& unit, UnitWork& asserter, const Digest& initial_root) {
    const dispute::UnitStates* states = must(asserter.states());
    Facts facts;
    facts.records_root = engine::records_root(states->records);
    facts.final_state_root = states->state_roots.back();
    facts.delta_root = must(asserter.delta())->root();
    facts.job_seed = unit.spec.job_seed;
    facts.trace_root = dispute::trace_root(unit.trace.header);
    facts.initial_state_root = initial_root;
    facts.dataset_root = unit.spec.dataset_root;
    facts.round = unit.spec.round;
    facts.slot = unit.spec.slot;
    facts.steps = unit.spec.steps;
    facts.checkpoint_every = unit.spec.checkpoint_every;
    return facts;
}

inline GameTranscript transcript_of(const UnitFacts& facts) {
    return {facts, start_of(engine::testing::seed_of("a unit"), facts)};
}

using Player = std::function<Result<Move>(const GameTranscript&)>;

template <class Work>
Player asserter_of(Work& work) {
    return [&work](const GameTranscript& transcript) { return plan_answer(work, transcript); };
}
template <class Work>
Player challenger_of(Work& work) {
    return [&work](const GameTranscript& transcript) { return plan_challenge(work, transcript); };
}

struct Outcome {
    enum class End { kProof, kAsserterSilent, kChallengerSilent };
    End end = End::kProof;
    std::string moves;
    std::size_t count = 0;
    Finding finding;
    Error reason;
    Move last;
};

inline constexpr std::size_t kMovesMax = 60;

/// Plays until a proof or until a side has no move. Both sides' moves are held to the rules.
/// @param commitments as of decide().
inline Outcome play(GameTranscript transcript, const Player& asserter, const Player& challenger,
                    const crypto::Eip712Domain* commitments = nullptr) {
    Outcome outcome;
    while (outcome.count < kMovesMax) {
        const bool challenges = transcript.at().answered;
        Result<Move> move = challenges ? challenger(transcript) : asserter(transcript);
        if (!move.ok()) {
            outcome.end =
                challenges ? Outcome::End::kChallengerSilent : Outcome::End::kAsserterSilent;
            outcome.reason = move.error();
            return outcome;
        }
        outcome.moves += std::string(name_of(*move)) + " ";
        ++outcome.count;
        EXPECT_EQ(is_answer(*move), !challenges);
        outcome.last = *move;
        if (is_proof(*move)) {
            outcome.finding = std::get<Finding>(must(decide(transcript.at(), *move, commitments)));
            return outcome;
        }
        const Status played = transcript.play(*move);
        EXPECT_TRUE(played.ok()) << (played.ok() ? "" : played.error().message);
        if (!played.ok()) return outcome;
    }
    ADD_FAILURE() << "a game without an end: " << outcome.moves;
    return outcome;
}

}  // namespace gym::game::testing
