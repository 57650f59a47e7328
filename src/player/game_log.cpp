#include "gym/player/game_log.hpp"

#include <algorithm>

#include "gym/contracts/dispute_game.hpp"
#include "gym/game/calldata.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/withheld.hpp"

namespace gym::player {
namespace {

class Replay {
  public:
    explicit Replay(const std::optional<game::EpochRoots>& epochs) : epochs_(epochs) {}
    void take(const contracts::DisputeEvent& event) { std::visit(*this, event); }
    UnitLog log() && { return std::move(log_); }

    void operator()(const contracts::Opened& opened) {
        GameRecord game;
        game.id = opened.game;
        game.unit = opened.unit;
        game.asserter = opened.asserter;
        game.challenger = opened.challenger;
        note(game, begin(game, opened));
        log_.games.push_back(std::move(game));
    }

    void operator()(const contracts::Moved& moved) {
        GameRecord* game = find(moved.game);
        if (game != nullptr && game->transcript) note(*game, move(*game->transcript, moved));
    }

    void operator()(const contracts::FaultFound& fault) {
        if (GameRecord* game = find(fault.game)) game->fault = fault;
    }

    void operator()(const contracts::GameEnded& ended) {
        if (GameRecord* game = find(ended.game)) game->ended = ended;
    }

    template <class Other>
    void operator()(const Other& /*event*/) {}  // money, and events that gameOf() covers

  private:
    Status begin(GameRecord& game, const contracts::Opened& opened) {
        const auto call = game::read_open(opened.data);
        // A conflict: such a game is over with its opening. One about withheld data has one move.
        if (!call.ok() && call.error().code == ErrorCode::kNotFound &&
            (game::read_conflict(opened.data).ok() || game::read_withheld(opened.data).ok()))
            return {};
        if (!call.ok()) return call.error();
        const protocol::UnitCommitment& says = call->evidence.commitment.commitment;
        if (says.slot == protocol::kAggregateSlot && !epochs_)
            return fail(ErrorCode::kUnavailable, "the epoch of the aggregate's round is not known");
        const game::UnitFacts facts = facts_of(opened, call->evidence);
        game.transcript.emplace(facts, game::start_of(opened.unit, facts));
        // As the contract does, and at once: of two games that wait at one position each has an
        // answer of its own, and which one leads on an opening depends on when it comes.
        const auto known = log_.answers.find(game::hash_of(game.transcript->at()));
        if (known != log_.answers.end()) GYM_CHECK(game.transcript->play(known->second));
        return {};
    }

    /// An epoch of the round before that came after the opening is not part of the game.
    game::UnitFacts facts_of(const contracts::Opened& opened,
                             const game::PostedEvidence& evidence) const {
        const game::EpochRoots epochs = epochs_.value_or(game::EpochRoots{});
        const game::UnitFacts facts = game::unit_facts_of(evidence, epochs);
        if (game::start_of(opened.unit, facts) == opened.cursor) return facts;
        return game::unit_facts_of(evidence, {epochs.own, {}});
    }

    Status move(game::GameTranscript& transcript, const contracts::Moved& moved) {
        GYM_TRY(const game::SentMove sent, game::read_call(moved.data));
        const Digest before = game::hash_of(sent.cursor);
        GYM_CHECK(log_.follow(transcript, before));
        GYM_CHECK(transcript.play(sent.move));
        if (moved.by_asserter) log_.answers.insert_or_assign(before, sent.move);
        return log_.follow(transcript, moved.position);
    }

    static void note(GameRecord& game, const Status& status) {
        if (status.ok()) return;
        game.unreadable = status.error().message;
        game.transcript.reset();
    }

    GameRecord* find(const Digest& id) {
        const auto found = std::ranges::find(log_.games, id, &GameRecord::id);
        return found == log_.games.end() ? nullptr : &*found;
    }

    std::optional<game::EpochRoots> epochs_;
    UnitLog log_;
};

}  // namespace

Status UnitLog::follow(game::GameTranscript& transcript, const Digest& position) const {
    while (game::hash_of(transcript.at()) != position) {
        const auto known = answers.find(game::hash_of(transcript.at()));
        if (known == answers.end())
            return fail(ErrorCode::kMismatch, "the logs do not lead to position " + position.hex());
        GYM_CHECK(transcript.play(known->second));
    }
    return {};
}

UnitLog replay(std::span<const LoggedEvent> events, const std::optional<game::EpochRoots>& epochs) {
    Replay replay(epochs);
    for (const LoggedEvent& logged : events)
        replay.take(logged.event);
    return std::move(replay).log();
}

Result<std::vector<LoggedEvent>> parse_events(const contracts::DisputeGame& contract,
                                              std::span<const chain::Log> logs) {
    std::vector<LoggedEvent> out;
    for (const chain::Log& log : logs) {
        GYM_TRY(auto event, contract.parse_event(log));
        if (event) out.push_back({std::move(*event), log.transaction_hash, log.block_number});
    }
    return out;
}

namespace {

Result<std::vector<LoggedEvent>> find_events(chain::ChainClient& client,
                                             const contracts::DisputeGame& contract,
                                             chain::LogQuery query) {
    GYM_TRY(const std::vector<chain::Log> logs, chain::find_all_logs(client, std::move(query)));
    return parse_events(contract, logs);
}

bool is_answer(const contracts::DisputeEvent& event) {
    const auto* moved = std::get_if<contracts::Moved>(&event);
    return moved != nullptr && moved->by_asserter;
}

bool is_of_a_side(const contracts::DisputeEvent& event) {
    return std::holds_alternative<contracts::Announced>(event) ||
           std::holds_alternative<contracts::Opened>(event) ||
           std::holds_alternative<contracts::Moved>(event) ||
           std::holds_alternative<contracts::FaultFound>(event);
}

}  // namespace

// The topics of IDisputeGame's events about games: their kind, the game, the unit.

std::vector<std::optional<Digest>> topics_of_unit(const Digest& unit) {
    return {{}, {}, unit};
}

Result<std::vector<LoggedEvent>> game_events(chain::ChainClient& client,
                                             const contracts::DisputeGame& contract,
                                             const Digest& game, Blocks blocks) {
    return find_events(client, contract,
                       {contract.address(), {{}, game}, blocks.first, blocks.last});
}

std::vector<GameTransaction> transactions_of(std::span<const LoggedEvent> events) {
    std::vector<GameTransaction> out;
    for (const LoggedEvent& logged : events) {
        if (!is_of_a_side(logged.event)) continue;
        auto known = std::ranges::find(out, logged.transaction, &GameTransaction::hash);
        if (known == out.end())
            known = out.insert(out.end(), {logged.transaction, logged.block_number, false});
        known->by_asserter = known->by_asserter || is_answer(logged.event);
    }
    return out;
}

Result<GameCost> game_cost(std::span<const LoggedEvent> events, const GasOf& gas_of) {
    GameCost cost;
    for (const GameTransaction& transaction : transactions_of(events)) {
        GYM_TRY(const std::uint64_t gas, gas_of(transaction.hash));
        ++cost.transactions;
        (transaction.by_asserter ? cost.asserter_gas : cost.challenger_gas) += gas;
    }
    return cost;
}

Result<GameCost> game_cost(chain::ChainClient& client, std::span<const LoggedEvent> events) {
    return game_cost(events, [&](const Digest& transaction) -> Result<std::uint64_t> {
        GYM_TRY(const auto receipt, client.receipt(transaction));
        if (!receipt)
            return fail(ErrorCode::kNotFound,
                        "the chain no longer has transaction " + transaction.hex());
        return receipt->gas_used;
    });
}

}  // namespace gym::player
