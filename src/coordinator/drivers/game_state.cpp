#include "drivers/game_state.hpp"

#include <algorithm>

#include "gym/game/evidence.hpp"

namespace gym::coordinator {

using registry::GameWatch;

Result<std::optional<GameWatch>> game_watch(const Context& context) {
    const auto contract = context.deps.chain.dispute_game();
    if (!contract) return std::optional<GameWatch>();
    GYM_TRY(const auto watch, context.transact([&](db::Transaction& tx) {
        return registry::find_game_watch(tx, *contract);
    }));
    return std::optional(watch.value_or(GameWatch{*contract, 0, 0}));
}

Result<std::optional<std::int64_t>> dispute_window_ms(const Context& context) {
    GYM_TRY(const auto blocks, context.deps.chain.disputable_blocks());
    if (!blocks) return std::optional<std::int64_t>();
    GYM_TRY(const auto drand_ms, context.deps.chain.drand_delay_ms());
    // 10^9 blocks are more than a contract's window can be.
    const auto window_ms =
        static_cast<std::int64_t>(std::min<std::uint64_t>(*blocks, 1'000'000'000)) *
        context.options.block_time_ms;
    const std::int64_t drawn_ms = drand_ms.value_or(
        std::int64_t{context.options.beacon_delay_blocks} * context.options.block_time_ms);
    return std::optional(window_ms - std::min(window_ms, drawn_ms));
}

namespace {

/// What the registry knows of a unit on chain.
struct OnChain {
    std::uint64_t from_block = 0;  ///< of its window
    std::optional<registry::DisputedUnit> known;
};

/// Absent until its window has begun.
Result<std::optional<OnChain>> on_chain(const Context& context, const GameWatch& games,
                                        const registry::Unit& unit) {
    return context.transact([&](db::Transaction& tx) -> Result<std::optional<OnChain>> {
        GYM_TRY(const auto from_block, registry::window_block(tx, unit.id));
        GYM_TRY(const auto stored, registry::find_commitment(tx, unit.id));
        if (!stored || !from_block) return std::optional<OnChain>();
        OnChain out{*from_block, {}};
        GYM_TRY(const Digest name, game::unit_of(context.options.domain, stored->commitment));
        GYM_TRY(out.known, registry::find_disputed_unit(tx, games.contract, name));
        return std::optional(out);
    });
}

}  // namespace

Result<GameVerdict> verdict_on(const Context& context, const GameWatch& games,
                               const registry::Unit& unit) {
    GYM_TRY(const auto here, on_chain(context, games, unit));
    return here ? verdict_of(games, here->from_block, here->known) : GameVerdict::kOpen;
}

Result<std::optional<std::uint64_t>> last_call(const Context& context, const GameWatch& games,
                                               const registry::Unit& unit) {
    GYM_TRY(const auto here, on_chain(context, games, unit));
    if (!here || here->known) return std::optional<std::uint64_t>();
    const std::uint64_t last = here->from_block + games.window_blocks;
    const bool is_late = games.seen_block + games.window_blocks / 4 >= last;
    return is_late ? std::optional(last) : std::nullopt;
}

}  // namespace gym::coordinator
