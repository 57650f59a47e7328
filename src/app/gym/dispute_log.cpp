#include "dispute_log.hpp"

#include <algorithm>

namespace gym::app {
namespace {

/// Transactions of one game that are asked for: more than any game has.
constexpr std::size_t kGasAskedMax = 1'000;

/// The game that an event belongs to; nullptr for events of units, announcements and money.
GameLog* game_of(DisputeLog& log, const std::map<Digest, std::size_t>& index, const Digest& id) {
    const auto found = index.find(id);
    return found == index.end() ? nullptr : &log.games[found->second];
}

Bytes selector_of(ByteView call) {
    const ByteView selector = call.first(std::min<std::size_t>(4, call.size()));
    return {selector.begin(), selector.end()};
}

/// An announcement's log says nothing but what was announced.
Bytes announce_selector() {
    return selector_of(chain::DisputeGame({}).announce({}).data);
}

}  // namespace

Result<std::vector<DisputeReader::Entry>> DisputeReader::read_blocks(std::uint64_t first,
                                                                     std::uint64_t last) {
    std::vector<Entry> out;
    if (first > last) return out;
    chain::LogQuery query;
    query.address = game_.address();
    query.first_block = first;
    query.last_block = last;
    GYM_TRY(const auto logs, chain::find_all_logs(client_, query));
    for (const chain::Log& log : logs) {
        GYM_TRY(auto event, game_.parse_event(log));
        if (event) out.push_back({std::move(*event), log.transaction_hash, log.block_number});
    }
    return out;
}

void DisputeReader::add(DisputeLog& log, const Entry& entry,
                        std::map<Digest, std::size_t>& index_of_game,
                        std::map<Digest, GameTransaction>& announcements) {
    const auto spend = [&](GameLog& game, ByteView call, bool by_asserter) {
        game.transactions.push_back(
            {entry.transaction, selector_of(call), entry.block_number, by_asserter, 0});
    };
    if (const auto* announced = std::get_if<chain::Announced>(&entry.event)) {
        announcements[announced->announcement] = {entry.transaction, announce_selector(),
                                                  entry.block_number, false, 0};
    } else if (const auto* opened = std::get_if<chain::Opened>(&entry.event)) {
        GameLog game;
        game.opened = *opened;
        game.opened_block = entry.block_number;
        if (const auto first = announcements.find(opened->game); first != announcements.end())
            game.transactions.push_back(first->second);
        spend(game, opened->data, false);
        index_of_game[opened->game] = log.games.size();
        log.games.push_back(std::move(game));
    } else if (const auto* moved = std::get_if<chain::Moved>(&entry.event)) {
        if (GameLog* game = game_of(log, index_of_game, moved->game)) {
            game->moves.push_back({*moved, entry.transaction, entry.block_number});
            spend(*game, moved->data, moved->by_asserter);
        }
    } else if (const auto* fault = std::get_if<chain::FaultFound>(&entry.event)) {
        if (GameLog* game = game_of(log, index_of_game, fault->game)) {
            game->fault = *fault;
            // An opening that proves a fault by itself is counted already.
            if (game->transactions.back().hash != entry.transaction)
                spend(*game, fault->move, false);
        }
    } else if (const auto* ended = std::get_if<chain::GameEnded>(&entry.event)) {
        if (GameLog* game = game_of(log, index_of_game, ended->game)) game->ended = *ended;
    } else if (const auto* paid = std::get_if<chain::GasPaid>(&entry.event)) {
        if (GameLog* game = game_of(log, index_of_game, paid->game))
            game->gas_paid_wei =
                game->gas_paid_wei.plus(paid->amount_wei).value_or(game->gas_paid_wei);
    } else if (const auto* faulty = std::get_if<chain::UnitFaulty>(&entry.event)) {
        log.units[faulty->unit].faulty = *faulty;
    } else if (const auto* settled = std::get_if<chain::UnitSettled>(&entry.event)) {
        log.units[settled->unit].settled = *settled;
        log.units[settled->unit].settled_in = entry.transaction;
    }
}

Result<DisputeLog> DisputeReader::read() {
    // Finality before the head: what is read later can only be further on.
    GYM_TRY(const auto finalized, client_.block(chain::BlockTag::kFinalized));
    GYM_TRY(const auto head, client_.block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    if (finalized && finalized->number >= next_block_) {
        GYM_TRY(auto more, read_blocks(next_block_, finalized->number));
        std::move(more.begin(), more.end(), std::back_inserter(final_));
        next_block_ = finalized->number + 1;
    }
    GYM_TRY(const auto recent, read_blocks(next_block_, head->number));
    DisputeLog out;
    std::map<Digest, std::size_t> index_of_game;
    std::map<Digest, GameTransaction> announcements;
    for (const Entry& entry : final_)
        add(out, entry, index_of_game, announcements);
    for (const Entry& entry : recent)
        add(out, entry, index_of_game, announcements);
    return out;
}

Status DisputeReader::read_gas(GameLog& game) {
    std::size_t asked = 0;
    for (GameTransaction& transaction : game.transactions) {
        const auto known = gas_of_.find(transaction.hash);
        if (known != gas_of_.end()) {
            transaction.gas_used = known->second;
            continue;
        }
        if (++asked > kGasAskedMax) break;
        GYM_TRY(const auto receipt, client_.receipt(transaction.hash));
        if (!receipt) continue;  // a reorganisation took it back just now
        transaction.gas_used = receipt->gas_used;
        if (receipt->block_number < next_block_) gas_of_[transaction.hash] = receipt->gas_used;
    }
    return {};
}

Result<GameNow> game_now(chain::ChainClient& client, const chain::Deployment& contracts,
                         const GameLog& game, const UnitLog& unit) {
    const chain::DisputeGame contract(contracts.dispute_game);
    GameNow out;
    GYM_TRY(out.game, contract.game_of(client, game.id()));
    GYM_TRY(out.clocks, contract.clocks_of(client, game.id()));
    GYM_TRY(out.unit, contract.unit_of(client, game.opened.unit));
    if (!unit.settled_in) return out;
    // Stake says in the same transaction who got what.
    GYM_TRY(const auto receipt, client.receipt(*unit.settled_in));
    if (!receipt) return out;
    const chain::Stake stake(contracts.stake);
    for (const chain::Log& log : receipt->logs) {
        GYM_TRY(const auto event, stake.parse_event(log));
        const auto* slashed = event ? std::get_if<chain::Slashed>(&*event) : nullptr;
        if (slashed != nullptr && slashed->owner == game.opened.asserter) out.slashed = *slashed;
    }
    return out;
}

}  // namespace gym::app
