#include <algorithm>
#include <array>

#include "rules_common.hpp"

// contracts/src/dispute/TreeRules.sol: down the trees, and from the unit to a step.
namespace gym::game::rules {
namespace {

Error other_digest(const Digest& given, const Digest& expected) {
    return fail(ErrorCode::kMismatch,
                "the last state is " + given.hex() + ", committed to is " + expected.hex());
}

/// Both lists of children, and the last state where they end in it: it is committed to.
Status answer_twins(Cursor& next, const Facts& facts, std::span<const Digest> records,
                    std::span<const Digest> states) {
    GYM_CHECK(check_children(next, next.node, records, kTwinLevelsMax));
    GYM_CHECK(check_children(next, next.twin, states, kTwinLevelsMax));
    next.answered = true;
    if (!lists_leaves(next, kTwinLevelsMax)) return {};
    if (next.index < (next.leaves - 1) >> next.height) return {};
    const Digest& last = states.empty() ? next.twin : states.back();
    if (last != facts.final_state_root) return other_digest(last, facts.final_state_root);
    return {};
}

bool is_one_of(Stage stage, std::initializer_list<Stage> stages) {
    return std::ranges::find(stages, stage) != stages.end();
}

/// Link and state before a step: the unit's beginning, or leaves of the two trees.
Status set_before(StepFrame& frame, const Facts& facts, const StepPick& to) {
    const Pick& before = to.before;
    if (to.after.index == 0) {
        if (before != Pick{}) return fail(ErrorCode::kMalformed, "nothing comes before step 0");
        frame.state_before = facts.initial_state_root;
        return {};
    }
    const std::uint64_t step = to.after.index - 1;
    if (before.index != step) return fail(ErrorCode::kOutOfRange, "not the step before");
    frame.hash_before = before.node;
    frame.state_before = before.twin;
    GYM_CHECK(check_not_zero(before.node));
    GYM_CHECK(check_not_zero(before.twin));
    GYM_CHECK(
        commit::merkle_verify(facts.records_root, {step, facts.steps}, before.node, before.path));
    return commit::merkle_verify(to.states_root, {step, facts.steps}, before.twin,
                                 before.twin_path);
}

}  // namespace

Result<Step> decide(const Cursor& c, const move::DeclareStates& m) {
    GYM_CHECK(expect(c, Stage::kUnit, false));
    const Digest facts_hash = hash_of(m.facts);
    GYM_CHECK(check_frame(c, facts_hash));
    GYM_CHECK(check_not_zero(m.states_root));
    GYM_TRY(Cursor next, root_of(Stage::kSteps, m.facts.records_root, m.facts.steps,
                                 steps_frame(facts_hash, m.states_root)));
    next.twin = m.states_root;
    GYM_CHECK(answer_twins(next, m.facts, m.records, m.states));
    return Step{next};
}

Result<Step> decide(const Cursor& c, const move::AnswerSteps& m) {
    GYM_CHECK(expect(c, Stage::kSteps, false));
    GYM_CHECK(check_frame(c, steps_frame(hash_of(m.facts), m.states_root)));
    Cursor next = c;
    GYM_CHECK(answer_twins(next, m.facts, m.records, m.states));
    return Step{next};
}

Result<Step> decide(const Cursor& c, const move::Answer& m) {
    // A chunk is answered with its bytes.
    if (c.height == 0 ||
        !is_one_of(c.stage, {Stage::kTrace, Stage::kState, Stage::kGradients, Stage::kPrimitives,
                             Stage::kChunks, Stage::kOuter, Stage::kOuterState}))
        return wrong_stage(c);
    GYM_CHECK(check_children(c, c.node, m.children, kAnswerLevelsMax));
    Cursor next = c;
    next.answered = true;
    return Step{next};
}

Result<Step> decide(const Cursor& c, const move::PickNode& m) {
    if (!is_one_of(c.stage,
                   {Stage::kSteps, Stage::kTrace, Stage::kState, Stage::kGradients,
                    Stage::kPrimitives, Stage::kChunks, Stage::kOuter, Stage::kOuterState}))
        return wrong_stage(c);
    const Pick& to = m.to;
    // Leaves have moves of their own, but chunks.
    const bool leaf = to.path.size() == c.height;
    if (to.path.empty() || (leaf && c.stage != Stage::kChunks))
        return fail(ErrorCode::kMalformed, "a path of this length leads to no node to pick");
    GYM_CHECK(check_below(c, c.node, {to.index, to.node, to.path}));
    Cursor next = c;
    next.height = static_cast<std::uint8_t>(c.height - to.path.size());
    next.index = to.index;
    next.node = to.node;
    next.answered = false;
    if (c.stage == Stage::kSteps) {
        if (to.twin_path.size() != to.path.size())
            return fail(ErrorCode::kMalformed, "the paths of records and states differ in length");
        GYM_CHECK(check_below(c, c.twin, {to.index, to.twin, to.twin_path}));
        next.twin = to.twin;
    } else if (!to.twin.is_zero() || !to.twin_path.empty()) {
        return fail(ErrorCode::kMalformed, "only steps have two trees");
    }
    return Step{next};
}

Result<Step> decide(const Cursor& c, const move::PickStep& m) {
    GYM_CHECK(expect(c, Stage::kSteps, true));
    const Digest facts_hash = hash_of(m.facts);
    GYM_CHECK(check_frame(c, steps_frame(facts_hash, m.to.states_root)));
    const Pick& after = m.to.after;
    GYM_CHECK(check_leaf_pick(c, after));
    GYM_CHECK(check_leaf_below(c, c.twin, {after.index, after.twin, after.twin_path}));
    StepFrame frame;
    frame.facts = facts_hash;
    frame.program = m.facts.trace_root;
    frame.step = static_cast<std::uint32_t>(after.index);
    frame.hash_after = after.node;
    frame.state_after = after.twin;
    GYM_CHECK(set_before(frame, m.facts, m.to));
    Cursor next;
    next.stage = Stage::kStep;
    next.node = frame.hash_after;
    next.twin = frame.state_after;
    next.frame = hash_of(frame);
    return Step{next, frame};
}

}  // namespace gym::game::rules
