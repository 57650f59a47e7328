#include "gym/game/line.hpp"

#include <string>

#include "rules_common.hpp"

namespace gym::game {

Status Line::play(const Move& move) {
    if (is_proof(move))
        return fail(ErrorCode::kConflict, std::string(name_of(move)) + " ends a game");
    return std::visit(
        [&](const auto& one) -> Status {
            if constexpr (requires { rules::decide(at_, one)->next; }) {
                auto decided = rules::decide(at_, one);
                if (!decided.ok()) return decided.error();
                moves_.push_back({at_, move, decided->next});
                at_ = decided->next;
                if (decided->step) step_ = decided->step;
                if (decided->op) op_ = decided->op;
                note(move);
            }
            return {};
        },
        move);
}

void Line::note(const Move& move) {
    if (const auto* declared = std::get_if<move::DeclareStates>(&move))
        states_root_ = declared->states_root;
    if (const auto* opened = std::get_if<move::OpenStep>(&move)) record_ = opened->record;
    if (const auto* posted = std::get_if<move::PostChunk>(&move)) chunk_ = posted->content;
}

}  // namespace gym::game
