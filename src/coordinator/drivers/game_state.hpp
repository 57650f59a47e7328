#pragma once

#include "context.hpp"
#include "gym/coordinator/decisions.hpp"
#include "gym/registry/games.hpp"

namespace gym::coordinator {

/// How far games have been read; nothing yet: block 0. Absent: this network plays none.
Result<std::optional<registry::GameWatch>> game_watch(const Context& context);

/// From the draw of a unit until the last game about it can be announced. Absent: this network
/// plays none. @errors as ChainPort.
Result<std::optional<std::int64_t>> dispute_window_ms(const Context& context);

/// The last block in which a game about a unit can be opened, if most of its window is over and
/// nobody has opened one; else absent. @param games of game_watch().
Result<std::optional<std::uint64_t>> last_call(const Context& context,
                                               const registry::GameWatch& games,
                                               const registry::Unit& unit);

/// State of a disputed unit on chain. @param games of game_watch().
Result<GameVerdict> verdict_on(const Context& context, const registry::GameWatch& games,
                               const registry::Unit& unit);

}  // namespace gym::coordinator
