#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "gym/engine/fault_injection.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/planner.hpp"
#include "gym/game/rerun_work.hpp"
#include "gym/game/rules.hpp"
#include "sample_unit.hpp"

/// Two players of one game in one process, with the rules between them.
namespace gym::game::testing {

using dispute::testing::kSamples;
using dispute::testing::SampleUnit;

template <class T>
T must(Result<T> result) {
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    return std::move(result).value();
}

/// A bit of what one op writes in one step is flipped, whenever the step is run.
struct Fault {
    std::uint64_t step = 0;
    std::uint32_t op = 0;
    std::uint64_t output = 0;  ///< modulo the op's outputs
    std::uint64_t bit = 0;     ///< modulo the output's bits
    friend std::ostream& operator<<(std::ostream& to, const Fault& fault) {
        return to << "step " << fault.step << ", op " << fault.op << ", output " << fault.output
                  << ", bit " << fault.bit;
    }
};

/// A unit's rerun in which every call is answered by `work`; the base of players that lie.
class WorkOf : public UnitWork {
  public:
    explicit WorkOf(UnitWork& work) : work_(work) {}
    [[nodiscard]] const dispute::TraceProgram& trace() const override { return work_.trace(); }
    [[nodiscard]] const dispute::TraceTrees& records() const override { return work_.records(); }
    Result<const dispute::UnitStates*> states() override { return work_.states(); }
    Result<const dispute::StepTrace*> step(std::uint32_t step) override { return work_.step(step); }
    Result<const std::vector<Digest>*> primitives(std::uint32_t step, std::uint32_t leaf) override {
        return work_.primitives(step, leaf);
    }
    Result<const dispute::TensorTrace*> tensor(std::uint32_t step, std::uint32_t leaf,
                                               std::uint32_t primitive) override {
        return work_.tensor(step, leaf, primitive);
    }
    Result<const dispute::TracedTensor*> windows(std::uint32_t step) override {
        return work_.windows(step);
    }
    Result<const dispute::TracedTensor*> delta() override { return work_.delta(); }
    Result<SlotElement> slot_element(std::uint32_t slot, std::uint64_t element) override {
        return work_.slot_element(slot, element);
    }
    Result<dispute::ChunksOpening> dataset_chunk(std::uint64_t token) override {
        return work_.dataset_chunk(token);
    }
    [[nodiscard]] std::uint64_t dataset_tokens() const override { return work_.dataset_tokens(); }

  protected:
    UnitWork& work_;
};

/// A worker whose device has a fault.
class FaultyWork final : public WorkOf {
    template <class Call>
    std::invoke_result_t<Call> faulty(Call call) {
        std::uint64_t output = 0;  // of the op that is running
        engine::set_fault_hook([this, output](std::uint64_t run, std::uint32_t op,
                                              std::span<std::uint8_t> bytes) mutable {
            if (run != fault_.step || op != fault_.op) {
                output = 0;
            } else if (output++ == output_) {
                const std::uint64_t bit = fault_.bit % (bytes.size() * 8);
                bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
            }
        });
        auto result = call();
        engine::set_fault_hook({});
        return result;
    }

  public:
    FaultyWork(UnitWork& work, const Fault& fault, std::uint64_t outputs)
        : WorkOf(work), fault_(fault), output_(fault.output % outputs) {}
    Result<const dispute::UnitStates*> states() override {
        return faulty([&] { return work_.states(); });
    }
    Result<const dispute::StepTrace*> step(std::uint32_t step) override {
        return faulty([&] { return work_.step(step); });
    }
    Result<const std::vector<Digest>*> primitives(std::uint32_t step, std::uint32_t leaf) override {
        return faulty([&] { return work_.primitives(step, leaf); });
    }
    Result<const dispute::TensorTrace*> tensor(std::uint32_t step, std::uint32_t leaf,
                                               std::uint32_t primitive) override {
        return faulty([&] { return work_.tensor(step, leaf, primitive); });
    }
    Result<const dispute::TracedTensor*> delta() override {
        return faulty([&] { return work_.delta(); });
    }

  private:
    Fault fault_;
    std::uint64_t output_;
};

inline std::unique_ptr<RerunWork> rerun(const SampleUnit& unit, RerunWorkOptions options = {}) {
    return must(RerunWork::create(unit.unit(), std::move(options)));
}

/// What the asserter commits to by its run, under a round record that is right.
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

inline Line line_of(const Facts& facts) {
    return {facts, start_of(engine::testing::seed_of("a unit"), facts)};
}

using Player = std::function<Result<Move>(const Line&)>;

inline Player asserter_of(UnitWork& work) {
    return [&work](const Line& line) { return plan_answer(work, line); };
}
inline Player challenger_of(UnitWork& work) {
    return [&work](const Line& line) { return plan_challenge(work, line); };
}

struct Outcome {
    enum class End { proof, asserter_silent, challenger_silent };
    End end = End::proof;
    std::string moves;
    std::size_t count = 0;
    Finding finding;
    Error reason;
    Move last;
};

inline constexpr std::size_t kMovesMax = 60;

/// Plays until a proof or until a side has no move. Both sides' moves are held to the rules.
inline Outcome play(Line line, const Player& asserter, const Player& challenger) {
    Outcome outcome;
    while (outcome.count < kMovesMax) {
        const bool challenges = line.at().answered;
        Result<Move> move = challenges ? challenger(line) : asserter(line);
        if (!move.ok()) {
            outcome.end =
                challenges ? Outcome::End::challenger_silent : Outcome::End::asserter_silent;
            outcome.reason = move.error();
            return outcome;
        }
        outcome.moves += std::string(name_of(*move)) + " ";
        ++outcome.count;
        EXPECT_EQ(is_answer(*move), !challenges);
        outcome.last = *move;
        if (is_proof(*move)) {
            outcome.finding = std::get<Finding>(must(decide(line.at(), *move)));
            return outcome;
        }
        const Status played = line.play(*move);
        EXPECT_TRUE(played.ok()) << (played.ok() ? "" : played.error().message);
        if (!played.ok()) return outcome;
    }
    ADD_FAILURE() << "a game without an end: " << outcome.moves;
    return outcome;
}

}  // namespace gym::game::testing
