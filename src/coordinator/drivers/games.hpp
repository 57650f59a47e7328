#pragma once

#include "context.hpp"
#include "gym/registry/games.hpp"

namespace gym::coordinator {

/// Reads what is new in games on chain, about whatever units, and takes the consequences of proven
/// faults: the unit is slashed, its worker excluded, what else it has and is not final void. Of the
/// coordinator's own units the job is paused. Once a tick, for all jobs.
Status follow_games(const Context& context, TickSummary& summary);

/// Units that are not disputed here and about which a game is open become disputed, once the base
/// state of the next round is made: a bond keeps no delta out of it. A unit that refuses is an
/// error of the summary, and keeps no other one waiting. @errors of the connection.
Status note_challenges(const Context& context, const registry::Job& job, TickSummary& summary);

}  // namespace gym::coordinator
