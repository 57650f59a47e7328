#pragma once

#include "context.hpp"
#include "gym/registry/games.hpp"

namespace gym::coordinator {

/// How far games have been read; nothing yet: block 0. Absent: this network plays none.
Result<std::optional<registry::GameWatch>> game_watch(const Context& context);

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
