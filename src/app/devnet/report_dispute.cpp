#include <algorithm>

#include "gym/chain/client.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/devnet/report.hpp"
#include "gym/player/game_log.hpp"
#include "gym/protocol/sampling.hpp"

namespace gym::devnet {
namespace {

/// The stake that was taken from `owner`, as the Stake contract says; absent: none.
Result<std::optional<contracts::Slashed>> find_slash(const ReportSources& sources,
                                                     const Address& owner, player::Blocks blocks) {
    const contracts::Stake stake(sources.deployment.stake);
    GYM_TRY(const auto logs,
            chain::find_all_logs(sources.chain, {stake.address(), {}, blocks.first, blocks.last}));
    for (const chain::Log& log : logs) {
        GYM_TRY(const auto event, stake.parse_event(log));
        const auto* slashed = event ? std::get_if<contracts::Slashed>(&*event) : nullptr;
        if (slashed != nullptr && slashed->owner == owner) return std::optional(*slashed);
    }
    return std::optional<contracts::Slashed>();
}

/// The game that proved a fault of `asserter` first.
Result<std::optional<contracts::FaultFound>> find_fault(const ReportSources& sources,
                                                        const contracts::DisputeGame& contract,
                                                        const Address& asserter,
                                                        player::Blocks blocks) {
    GYM_TRY(
        const auto logs,
        chain::find_all_logs(sources.chain, {contract.address(), {}, blocks.first, blocks.last}));
    std::map<Digest, Address> asserters;
    for (const chain::Log& log : logs) {
        GYM_TRY(const auto event, contract.parse_event(log));
        if (!event) continue;
        if (const auto* opened = std::get_if<contracts::Opened>(&*event))
            asserters[opened->game] = opened->asserter;
        const auto* fault = std::get_if<contracts::FaultFound>(&*event);
        if (fault != nullptr && asserters[fault->game] == asserter) return std::optional(*fault);
    }
    return std::optional<contracts::FaultFound>();
}

}  // namespace

std::uint64_t DisputeReport::burned_ppm() const {
    const auto ppm = burned.mul_div(Amount(kPpm), slashed);
    return ppm.ok() ? ppm->to_u64().value_or(0) : 0;  // nothing is taken yet
}

Result<std::optional<DisputeReport>> read_dispute(const ReportSources& sources) {
    using Found = std::optional<DisputeReport>;
    GYM_TRY(const auto head, sources.chain.block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    const player::Blocks blocks{sources.deployment.start_block, head->number};
    const contracts::DisputeGame contract(sources.deployment.dispute_game);
    GYM_TRY(const auto fault, find_fault(sources, contract, sources.cheater, blocks));
    if (!fault) return Found();
    DisputeReport out;
    out.game = fault->game;
    out.element = fault->element;
    out.claimed = fault->claimed;
    out.computed = fault->computed;
    GYM_TRY(const auto events, player::game_events(sources.chain, contract, fault->game, blocks));
    GYM_TRY(const auto cost, player::game_cost(sources.chain, events));
    out.transactions = cost.transactions;
    out.challenger_gas = cost.challenger_gas;
    out.worker_gas = cost.asserter_gas;
    GYM_TRY(const auto slash, find_slash(sources, sources.cheater, blocks));
    if (slash) {
        GYM_TRY(const Amount paid, slash->reward.plus(slash->compensation));
        GYM_TRY(out.slashed, slash->burned.plus(paid));
        out.burned = slash->burned;
        out.reward = slash->reward;
        out.finder = slash->finder;
    }
    return Found(out);
}

}  // namespace gym::devnet
