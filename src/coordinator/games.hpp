#pragma once

#include "context.hpp"
#include "gym/registry/games.hpp"

namespace gym::coordinator {

/// Reads what is new in games on chain, about whatever units, and takes the consequences of proven
/// faults: the unit is slashed, its worker excluded, what else it has and is not final void. Of the
/// coordinator's own units the job is paused. Once a tick, for all jobs.
Status follow_games(const Context& context, TickSummary& summary);

/// How far games have been read; nothing yet: block 0. Absent: this network plays none.
Result<std::optional<registry::GameWatch>> game_watch(const Context& context);

/// Units that nobody disputed here and about which a game is open become disputed, once the base
/// state of the next round is made: a bond keeps no delta out of it. A unit that refuses is an
/// error of the summary, and keeps no other one waiting. @errors of the connection.
Status note_challenges(const Context& context, const registry::Job& job, TickSummary& summary);

/// What the chain says of a disputed unit.
enum class GameVerdict : std::uint8_t {
    kOpen,         ///< a game is played, or can still be opened, or a fault is about to be noted
    kUpheld,       ///< none proved a fault, be it on purpose, and none can be opened any more
    kNeverOpened,  ///< nor can one be any more
};
/// @param games of game_watch().
Result<GameVerdict> verdict_on(const Context& context, const registry::GameWatch& games,
                               const registry::Unit& unit);

}  // namespace gym::coordinator
