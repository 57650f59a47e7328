#include "gym/game/transcript.hpp"

#include <string>

#include "rules_common.hpp"

namespace gym::game {

const Facts& GameTranscript::facts() const {
    const auto* facts = std::get_if<Facts>(&facts_);
    GYM_ASSERT(facts != nullptr, "a train unit's transcript");
    return *facts;
}

const OuterFacts& GameTranscript::outer_facts() const {
    const auto* facts = std::get_if<OuterFacts>(&facts_);
    GYM_ASSERT(facts != nullptr, "an aggregate's transcript");
    return *facts;
}

const DataRequest& GameTranscript::request() const {
    const auto* request = std::get_if<DataRequest>(&facts_);
    GYM_ASSERT(request != nullptr, "the transcript of a game about withheld data");
    return *request;
}

Status GameTranscript::play(const Move& move, const crypto::Eip712Domain* commitments) {
    if (is_proof(move))
        return fail(ErrorCode::kConflict, std::string(name_of(move)) + " ends a game");
    return std::visit(
        [&](const auto& one) -> Status {
            if constexpr (requires { rules::decide_any(at_, one, commitments)->next; }) {
                auto decided = rules::decide_any(at_, one, commitments);
                if (!decided.ok()) return decided.error();
                moves_.push_back({at_, move, decided->next});
                at_ = decided->next;
                if (decided->step) step_ = decided->step;
                if (decided->op) op_ = decided->op;
                if (decided->outer) outer_ = decided->outer;
                note(moves_.back().at, move);
            }
            return {};
        },
        move);
}

void GameTranscript::note(const Cursor& at, const Move& move) {
    if (const auto* declared = std::get_if<move::DeclareStates>(&move))
        states_root_ = declared->states_root;
    if (const auto* opened = std::get_if<move::OpenStep>(&move)) record_ = opened->record;
    if (const auto* posted = std::get_if<move::PostChunk>(&move)) chunk_ = posted->content;
    if (const auto* posted = std::get_if<move::PostColumn>(&move)) values_ = posted->values;
    if (const auto* posted = std::get_if<move::PostRow>(&move)) {
        auto values = rules::residuals_in(at, posted->op, posted->residual);
        GYM_ASSERT(values.ok(), "the rules have taken them");
        residuals_ = std::move(values).value();
    }
    if (const auto* shown = std::get_if<move::ShowIncluded>(&move)) commitment_ = shown->commitment;
    if (const auto* declared = std::get_if<move::DeclareOuter>(&move)) {
        record_ = declared->record;
        auto declared_deltas = read_declared(declared->slots, declared->held);
        GYM_ASSERT(declared_deltas.ok(), "the rules have taken them");
        included_ = std::move(declared_deltas).value();
        note_included(at_, declared->children);
    }
    if (const auto* answer = std::get_if<move::Answer>(&move); answer && at.stage == Stage::kOuter)
        note_included(at, answer->children);
}

void GameTranscript::note_included(const Cursor& answered, const std::vector<Digest>& children) {
    if (answered.leaves == 1) included_[0].root = answered.node;
    if (!rules::lists_leaves(answered, kAnswerLevelsMax)) return;
    const std::uint64_t first = answered.index << answered.height;
    for (std::size_t i = 0; i < children.size(); ++i)
        included_[first + i].root = children[i];
}

}  // namespace gym::game
