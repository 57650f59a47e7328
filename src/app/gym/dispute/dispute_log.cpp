#include "dispute/dispute_log.hpp"

#include <algorithm>
#include <cctype>

#include "gym/contracts/deployment.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/stake.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/withheld.hpp"

namespace gym::app {
namespace {

constexpr std::size_t kPrefixMin = 6;  // "0x" and two bytes
constexpr std::size_t kIdsShown = 5;   // of games that an argument could mean

/// The unit that the opening call of a game names.
std::optional<protocol::UnitKey> key_of(const contracts::Opened& opened) {
    const auto name = [](const protocol::UnitCommitment& says, const protocol::RoundTerms& record) {
        return protocol::UnitKey{record.job_id, record.round, says.slot, says.attempt};
    };
    if (const auto call = game::read_open(opened.data); call.ok())
        return name(call->evidence.commitment.commitment, call->evidence.record);
    if (const auto call = game::read_conflict(opened.data); call.ok())
        return name(call->conflict.commitment.commitment, call->conflict.record);
    if (const auto call = game::read_withheld(opened.data); call.ok()) {
        const game::WithheldEvidence& asked = call->evidence;
        if (asked.commitment) return name(asked.commitment->commitment, asked.record);
        return protocol::UnitKey{asked.record.job_id, asked.record.round, protocol::kAggregateSlot,
                                 0};
    }
    return std::nullopt;
}

/// Sorts events by the games that they belong to.
class Sorter {
  public:
    void take(const player::LoggedEvent& happened) {
        happened_ = &happened;
        std::visit(*this, happened.event);
    }
    DisputeLog log() && { return std::move(log_); }

    void operator()(const contracts::Announced& announced) {
        announcements_.insert_or_assign(announced.announcement, *happened_);
    }
    void operator()(const contracts::Opened& opened) {
        GameLog game;
        game.opened = opened;
        game.key = key_of(opened);
        if (const auto first = announcements_.find(opened.game); first != announcements_.end())
            game.course.push_back(first->second);
        game.course.push_back(*happened_);
        index_of_game_[opened.game] = log_.games.size();
        log_.games.push_back(std::move(game));
    }
    void operator()(const contracts::Moved& moved) { add(moved.game); }
    void operator()(const contracts::FaultFound& fault) {
        if (GameLog* game = add(fault.game)) game->fault = fault;
    }
    void operator()(const contracts::GameEnded& ended) {
        if (GameLog* game = add(ended.game)) game->ended = ended;
    }
    void operator()(const contracts::GasPaid& paid) {
        GameLog* const game = find(paid.game);
        if (game == nullptr) return;
        game->gas_paid_wei = game->gas_paid_wei.plus(paid.amount_wei).value_or(game->gas_paid_wei);
    }
    void operator()(const contracts::UnitFaulty& faulty) {
        log_.units[faulty.unit].faulty = faulty;
    }
    void operator()(const contracts::UnitSettled& settled) {
        log_.units[settled.unit].settled = settled;
        log_.units[settled.unit].settled_in = happened_->transaction;
    }
    template <class Other>
    void operator()(const Other& /*event*/) {}  // announcements without a game, ether taken out

  private:
    GameLog* find(const Digest& id) {
        const auto found = index_of_game_.find(id);
        return found == index_of_game_.end() ? nullptr : &log_.games[found->second];
    }
    GameLog* add(const Digest& id) {
        GameLog* const game = find(id);
        if (game != nullptr) game->course.push_back(*happened_);
        return game;
    }

    const player::LoggedEvent* happened_ = nullptr;
    std::map<Digest, std::size_t> index_of_game_;
    std::map<Digest, player::LoggedEvent> announcements_;
    DisputeLog log_;
};

bool is_meant(const GameLog& game, const std::string& prefix) {
    const auto registry_unit = game.registry_unit();
    return game.id().hex().starts_with(prefix) || game.chain_unit().hex().starts_with(prefix) ||
           (registry_unit && registry_unit->hex().starts_with(prefix));
}

Error ambiguous(const std::string& wanted, const std::vector<const GameLog*>& found) {
    std::string ids;
    for (std::size_t i = 0; i < std::min(found.size(), kIdsShown); ++i)
        ids += (i == 0 ? " " : ", ") + found[i]->id().hex();
    return fail(ErrorCode::kInvalidArgument, std::to_string(found.size()) +
                                                 " games or their units begin with " + wanted +
                                                 "; give one of the games' ids:" + ids +
                                                 (found.size() > kIdsShown ? ", ..." : ""));
}

}  // namespace

std::optional<Digest> GameLog::registry_unit() const {
    if (!key) return std::nullopt;
    return protocol::unit_id(*key);
}

Result<const GameLog*> find_game(const DisputeLog& log, const std::string& wanted) {
    std::string prefix = wanted;
    std::ranges::transform(prefix, prefix.begin(), [](unsigned char c) { return std::tolower(c); });
    if (prefix.size() < kPrefixMin || !prefix.starts_with("0x") ||
        prefix.find_first_not_of("0123456789abcdef", 2) != std::string::npos)
        return fail(ErrorCode::kInvalidArgument,
                    "'" + wanted +
                        "' is not an id: give the id of a game or unit, or at least its first four "
                        "digits, as in `gym dispute list` (0x1234...)");
    std::vector<const GameLog*> found;
    for (const GameLog& game : log.games)
        if (is_meant(game, prefix)) found.push_back(&game);
    if (found.size() == 1) return found.front();
    if (found.size() > 1) return ambiguous(wanted, found);
    return fail(ErrorCode::kNotFound, "no game and no disputed unit begins with " + wanted +
                                          "; `gym dispute list` shows all");
}

std::size_t ShownEvents::take(const GameLog& game) {
    std::vector<Digest> now;
    for (const player::LoggedEvent& happened : game.course)
        now.push_back(happened.transaction);
    const auto differs = std::ranges::mismatch(shown_, now);
    const auto first = static_cast<std::size_t>(differs.in2 - now.begin());
    shown_ = std::move(now);
    return first;
}

Result<std::vector<player::LoggedEvent>> DisputeReader::read_blocks(std::uint64_t first,
                                                                    std::uint64_t last) {
    std::vector<player::LoggedEvent> out;
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
    GYM_TRY(auto recent, read_blocks(next_block_, head->number));
    recent_gas_.clear();
    Sorter sorter;
    for (const auto* events : {&final_, &recent})
        for (const player::LoggedEvent& happened : *events)
            sorter.take(happened);
    return std::move(sorter).log();
}

Result<player::GameCost> DisputeReader::cost_of(const GameLog& game) {
    return player::game_cost(game.course, [this](const Digest& hash) { return gas_of(hash); });
}

Result<std::uint64_t> DisputeReader::gas_of(const Digest& transaction) {
    for (const auto* known : {&final_gas_, &recent_gas_})
        if (const auto gas = known->find(transaction); gas != known->end()) return gas->second;
    GYM_TRY(const auto receipt, client_.receipt(transaction));
    if (!receipt)
        return fail(ErrorCode::kUnavailable,
                    "the chain took transaction " + transaction.hex() +
                        " was just removed by a reorganisation: run the command again");
    (receipt->block_number < next_block_ ? final_gas_ : recent_gas_)[transaction] =
        receipt->gas_used;
    return receipt->gas_used;
}

Result<GameNow> game_now(chain::ChainClient& client, const contracts::Deployment& contracts,
                         const GameLog& game, const UnitLog& unit) {
    const contracts::DisputeGame contract(contracts.dispute_game);
    GameNow out;
    GYM_TRY(out.game, contract.game_of(client, game.id()));
    GYM_TRY(out.clocks, contract.clocks_of(client, game.id()));
    GYM_TRY(out.unit, contract.unit_of(client, game.opened.unit));
    if (!unit.settled_in) return out;
    // Stake logs in the same transaction how the stake was divided.
    GYM_TRY(const auto receipt, client.receipt(*unit.settled_in));
    if (!receipt) return out;
    const contracts::Stake stake(contracts.stake);
    for (const chain::Log& log : receipt->logs) {
        GYM_TRY(const auto event, stake.parse_event(log));
        const auto* slashed = event ? std::get_if<contracts::Slashed>(&*event) : nullptr;
        if (slashed != nullptr && slashed->owner == game.opened.asserter) out.slashed = *slashed;
    }
    return out;
}

}  // namespace gym::app
