#include "gym/coordinator/adapters/evm_chain.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <variant>

#include "gym/chain/client.hpp"
#include "gym/chain/prevrandao.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/contracts/drand_beacon.hpp"
#include "gym/game/withheld.hpp"

namespace gym::coordinator {
namespace {

/// Most units without events that one pass asks about nonetheless.
constexpr std::size_t kAskedAgainMax = 8;
constexpr std::uint64_t kDelayMaxS = 400 * std::uint64_t{86'400};

/// What happened about a unit.
struct Happened {
    std::optional<std::uint64_t> opened;  ///< block of the first game that was opened
    bool asks_data = false;               ///< that game is about withheld data
};
/// Units about which something happened.
using Events = std::map<Digest, Happened>;

/// Takes the events that change how a unit stands, in their order on chain.
struct Collect {
    Events& units;
    std::uint64_t block;
    void operator()(const contracts::Opened& event) const {
        Happened& happened = units[event.unit];
        if (happened.opened) return;
        happened = {block, game::read_withheld(event.data).ok()};
    }
    void operator()(const contracts::FaultFound& event) const { units.try_emplace(event.unit); }
    void operator()(const contracts::GameEnded& event) const { units.try_emplace(event.unit); }
    void operator()(const contracts::UnitFaulty& event) const { units.try_emplace(event.unit); }
    template <class Other>
    void operator()(const Other& /*event*/) const {}
};

class EvmChain final : public ChainPort {
  public:
    EvmChain(chain::ChainClient& client, chain::TxManager& transactions,
             const EvmContracts& contracts, std::uint32_t confirmations, DrandRelays* relays)
        : client_(client),
          transactions_(transactions),
          log_(contracts.commitment_log),
          relays_(relays),
          confirmations_(confirmations) {
        if (contracts.dispute_game) games_.emplace(*contracts.dispute_game);
    }

    Status post_round(const RoundPost& record) override {
        const std::lock_guard lock(mutex_);
        return submit("round:" + record.job_id.hex() + ":" + std::to_string(record.round),
                      log_.post_round({record.job_id, record.round, record.head, record.origin}));
    }

    Status post_aggregate(const AggregatePost& aggregate) override {
        const std::lock_guard lock(mutex_);
        return submit("aggregate:" + aggregate.job_id.hex() + ":" + std::to_string(aggregate.round),
                      log_.post_aggregate(aggregate.job_id, aggregate.round, aggregate.commitment));
    }

    Status post_epoch(const EpochPost& epoch) override {
        const std::lock_guard lock(mutex_);
        return submit("epoch:" + std::to_string(epoch.epoch),
                      log_.post_epoch({epoch.epoch, epoch.job_id, epoch.round,
                                       epoch.commitments_root, epoch.count}));
    }

    Status tick() override {
        const std::lock_guard lock(mutex_);
        GYM_TRY(const chain::TickReport report, transactions_.tick());
        if (report.warnings.empty()) return {};
        return fail(ErrorCode::kUnavailable, report.warnings.front());
    }

    Result<bool> round_posted(const Digest& job_id, std::uint64_t round,
                              const Digest& record_hash) override {
        const std::lock_guard lock(mutex_);
        GYM_TRY(const auto at, deep_block());
        if (!at) return false;
        GYM_TRY(const auto stored, log_.round_of(client_, job_id, round, *at));
        if (stored.round_record_hash.is_zero()) return false;
        if (stored.round_record_hash == record_hash) return true;
        return fail(ErrorCode::kConflict,
                    "the chain holds record " + stored.round_record_hash.hex() + " for round " +
                        std::to_string(round) + ", ours is " + record_hash.hex());
    }

    Result<std::optional<std::uint64_t>> aggregate_block(const AggregatePost& aggregate) override {
        const std::lock_guard lock(mutex_);
        GYM_TRY(const auto at, deep_block());
        if (!at) return std::optional<std::uint64_t>();
        GYM_TRY(const auto stored,
                log_.aggregate_of(client_, aggregate.job_id, aggregate.round, *at));
        if (stored.unit.is_zero()) return std::optional<std::uint64_t>();
        if (stored.unit == aggregate.unit) return std::optional(stored.block_number);
        return fail(ErrorCode::kConflict, "the chain holds aggregate " + stored.unit.hex() +
                                              " of round " + std::to_string(aggregate.round) +
                                              ", ours is " + aggregate.unit.hex());
    }

    Result<std::optional<std::uint64_t>> epoch_block(const EpochPost& epoch) override {
        const std::lock_guard lock(mutex_);
        GYM_TRY(const auto at, deep_block());
        if (!at) return std::optional<std::uint64_t>();
        GYM_TRY(const auto stored, log_.epoch_of(client_, epoch.epoch, *at));
        if (stored.commitments_root.is_zero()) return std::optional<std::uint64_t>();
        if (stored.commitments_root == epoch.commitments_root && stored.count == epoch.count)
            return std::optional(stored.block_number);
        return fail(ErrorCode::kConflict, "the chain holds root " + stored.commitments_root.hex() +
                                              " for epoch " + std::to_string(epoch.epoch) +
                                              ", ours is " + epoch.commitments_root.hex());
    }

    Result<std::optional<Digest>> randomness(std::uint64_t block) override {
        const std::lock_guard lock(mutex_);
        GYM_TRY(const auto at, deep_block());
        if (!at || *at < block) return std::optional<Digest>();
        GYM_TRY(const auto header, client_.block(block));
        if (!header) return std::optional<Digest>();
        return std::optional(header->prevrandao);
    }

    Result<std::optional<std::uint64_t>> drand_round(const EpochPost& epoch) override {
        const std::lock_guard lock(mutex_);
        GYM_CHECK(find_drand());
        GYM_TRY(const auto at, deep_block());
        if (!drand_) return std::optional<std::uint64_t>();
        contracts::CommitmentLog::Draw draw;
        if (at) {
            GYM_TRY(draw, log_.draw_of(client_, epoch.epoch, *at));
        }
        if (draw.round == 0)
            return fail(ErrorCode::kUnavailable,
                        "epoch " + std::to_string(epoch.epoch) + " is not on chain");
        return std::optional(draw.round);
    }

    Result<std::optional<std::int64_t>> drand_delay_ms() override {
        const std::lock_guard lock(mutex_);
        GYM_CHECK(find_drand());
        if (!drand_) return std::optional<std::int64_t>();
        const std::uint64_t delay_s = drand_->schedule.delay_s + drand_->schedule.period_s;
        return std::optional(static_cast<std::int64_t>(std::min(delay_s, kDelayMaxS)) * 1'000);
    }

    Result<std::optional<Digest>> drand_randomness(std::uint64_t round) override {
        const std::lock_guard lock(mutex_);
        GYM_CHECK(find_drand());
        if (!drand_)
            return fail(ErrorCode::kConflict,
                        "CommitmentLog " + log_.address().hex() +
                            " names no drand chain, and a round waits for one");
        // A round has one signature: no reorganisation gives it another value.
        GYM_TRY(const Digest known, drand_->beacon.randomness_of(client_, round));
        if (!known.is_zero()) {
            signatures_.erase(round);
            return std::optional(known);
        }
        if (relays_ != nullptr) GYM_CHECK(prove(round));
        return std::optional<Digest>();
    }

    Result<std::optional<CommitmentNews>> commitments_since(
        const std::optional<std::uint64_t>& seen_block) override {
        const std::lock_guard lock(mutex_);
        GYM_TRY(const auto at, deep_block());
        if (!at || (seen_block && *at <= *seen_block)) return std::optional<CommitmentNews>();
        const Blocks blocks = blocks_behind(seen_block, *at);
        CommitmentNews news;
        news.seen_block = blocks.last;
        news.is_all = blocks.last == *at;
        // Anybody may fill blocks with them.
        GYM_TRY(const auto logs,
                chain::find_all_logs(client_, {log_.address(),
                                               {contracts::CommitmentLog::published_topic()},
                                               blocks.first,
                                               blocks.last}));
        for (const chain::Log& one : logs) {
            GYM_TRY(const auto event, log_.parse_event(one));
            const auto* posted =
                event ? std::get_if<contracts::CommitmentPosted>(&*event) : nullptr;
            if (posted != nullptr) news.published.push_back({posted->commitment, one.block_number});
        }
        return std::optional(std::move(news));
    }

    std::optional<Address> dispute_game() const override {
        return games_ ? std::optional(games_->address()) : std::nullopt;
    }

    Result<std::optional<std::uint64_t>> disputable_blocks() override {
        if (!games_) return std::optional<std::uint64_t>();
        const std::lock_guard lock(mutex_);
        GYM_TRY(const std::uint64_t window, window_blocks());
        GYM_TRY(const game::DisputeTerms terms, games_->terms(client_));
        const std::uint64_t lost = std::uint64_t{terms.announce_blocks} + confirmations_;
        return std::optional(window - std::min(window, lost));
    }

    Result<std::optional<GameNews>> games_since(const std::optional<std::uint64_t>& seen_block,
                                                const std::vector<Digest>& open) override {
        GYM_ASSERT(games_.has_value(), "this network plays games");
        const std::lock_guard lock(mutex_);
        GYM_TRY(const auto at, deep_block());
        if (!at || (seen_block && *at <= *seen_block)) return std::optional<GameNews>();
        const Blocks blocks = blocks_behind(seen_block, *at);
        GameNews news;
        news.seen_block = blocks.last;
        GYM_TRY(news.window_blocks, window_blocks());
        GYM_TRY(Events asked, units_in_logs(blocks.first, blocks.last));
        for (const Digest& unit : recent(asked, news.seen_block))
            asked.try_emplace(unit);
        for (const Digest& unit : next_of(open))
            asked.try_emplace(unit);
        for (const auto& [unit, happened] : asked) {
            GYM_TRY(const auto now, games_->unit_of(client_, unit, *at));
            news.units.push_back({unit, now.asserter, now.games, now.proven_at_s != 0,
                                  happened.opened, happened.asks_data});
        }
        return std::optional(std::move(news));
    }

  private:
    struct Blocks {
        std::uint64_t first = 0, last = 0;
    };
    /// What one look reads: from before the last one's end, as far as a reorganisation reaches.
    static Blocks blocks_behind(const std::optional<std::uint64_t>& seen, std::uint64_t deep) {
        const std::uint64_t next = seen ? *seen + 1 : deep;
        const std::uint64_t first = next - std::min(next, chain::kReorgBlocks);
        return {first, std::min(deep, first + chain::ChainClient::kBlocksPerQueryMax - 1)};
    }

    /// What the contract refused is tried again with each call, which says why it was refused.
    Status submit(const std::string& id, const contracts::ContractCall& call) {
        const auto known = transactions_.find(id);
        GYM_CHECK(transactions_.submit_idempotent(call.intent(id)));
        const bool refused = known.ok() && known->state == chain::IntentState::kRejected;
        if (!refused) return {};
        return fail(ErrorCode::kConflict, "the contract refuses to " + call.label + ": " +
                                              (known->outcome ? known->outcome->reason : ""));
    }

    struct Drand {
        contracts::DrandBeacon beacon;
        contracts::DrandBeacon::Schedule schedule;
    };

    /// Which randomness draws is fixed with the CommitmentLog.
    Status find_drand() {
        if (asked_for_drand_) return {};
        GYM_TRY(const Address address, log_.beacon(client_));
        if (address.is_zero()) {
            GYM_CHECK(chain::check_prevrandao(client_));
        } else {
            const contracts::DrandBeacon beacon(address);
            GYM_TRY(const auto schedule, beacon.schedule(client_));
            drand_ = {beacon, schedule};
        }
        asked_for_drand_ = true;
        return {};
    }

    /// Fetches the round's signature once it has begun, and has it proven on chain.
    Status prove(std::uint64_t round) {
        if (!signatures_.contains(round)) {
            GYM_TRY(const auto head, client_.block(chain::BlockTag::kLatest));
            if (!head || head->timestamp_s < drand_->schedule.begins_s(round)) return {};
            const auto accept = [&](ByteView signature) -> Status {
                GYM_CHECK(drand_->beacon.verify(client_, round, signature));
                return {};
            };
            GYM_TRY(signatures_[round], relays_->signature(round, accept));
        }
        return submit("drand:" + std::to_string(round),
                      drand_->beacon.prove(round, signatures_[round]));
    }

    Result<std::uint64_t> window_blocks() {
        if (!window_blocks_) {
            GYM_TRY(const auto opening, games_->opening(client_));
            if (opening.commitment_log != log_.address())
                return fail(ErrorCode::kConflict,
                            "the dispute game " + games_->address().hex() +
                                " is about commitments in " + opening.commitment_log.hex() +
                                ", this network's are in " + log_.address().hex());
            GYM_TRY(const std::uint64_t notice, games_->notice_blocks(client_));
            if (confirmations_ >= notice)
                return fail(ErrorCode::kConflict,
                            "`confirmations` is " + std::to_string(confirmations_) +
                                ": this network's coordinator has to take what workers publish " +
                                std::to_string(notice) +
                                " blocks before an epoch, and would see it too late; lower it");
            window_blocks_ = opening.window_blocks;
        }
        return *window_blocks_;
    }

    /// Units about which something happened: one query for all games of the network.
    Result<Events> units_in_logs(std::uint64_t first, std::uint64_t last) {
        GYM_TRY(const auto logs, client_.find_logs({games_->address(), {}, first, last}));
        Events out;
        for (const chain::Log& log : logs) {
            GYM_TRY(const auto event, games_->parse_event(log));
            if (event) std::visit(Collect{out, log.block_number}, *event);
        }
        return out;
    }

    /// Units with a log in `now`, and those whose log a reorganisation may have removed since.
    std::vector<Digest> recent(const Events& now, std::uint64_t seen_block) {
        for (const auto& [unit, happened] : now)
            logged_[unit] = seen_block;
        std::vector<Digest> out;
        for (const auto& [unit, block] : logged_)
            out.push_back(unit);
        std::erase_if(logged_, [&](const auto& last) {
            return last.second + chain::kReorgBlocks < seen_block;
        });
        return out;
    }

    /// Whatever changes how a unit stands leaves a log, so nothing new is to be heard of the others
    /// but after a reorganisation that is deeper than all that is looked at again: they take turns.
    std::vector<Digest> next_of(std::vector<Digest> open) {
        std::ranges::sort(open);
        const auto first = std::ranges::upper_bound(open, asked_last_);
        std::rotate(open.begin(), first, open.end());
        if (open.size() > kAskedAgainMax) open.resize(kAskedAgainMax);
        if (!open.empty()) asked_last_ = open.back();
        return open;
    }

    /// The newest block that counts; absent while the chain is shorter than the confirmations.
    Result<std::optional<std::uint64_t>> deep_block() {
        GYM_TRY(const auto head, client_.block(chain::BlockTag::kLatest));
        if (!head) return fail(ErrorCode::kUnavailable, "the node has no latest block");
        if (head->number < confirmations_) return std::optional<std::uint64_t>();
        return std::optional(head->number - confirmations_);
    }

    std::mutex mutex_;
    chain::ChainClient& client_;
    chain::TxManager& transactions_;
    contracts::CommitmentLog log_;
    std::optional<contracts::DisputeGame> games_;
    std::optional<std::uint64_t> window_blocks_;
    DrandRelays* relays_;
    std::optional<Drand> drand_;  ///< absent: prevrandao draws, or nobody has asked yet
    bool asked_for_drand_ = false;
    /// By round, those that are on their way to the chain.
    std::map<std::uint64_t, Bytes> signatures_;
    // Not durable on purpose: a new port looks at the last blocks again.
    std::map<Digest, std::uint64_t> logged_;  ///< by unit: how far was read when it had a log
    Digest asked_last_;                       ///< of those without one
    std::uint32_t confirmations_;
};

}  // namespace

std::unique_ptr<ChainPort> make_evm_chain(chain::ChainClient& client,
                                          chain::TxManager& transactions,
                                          const EvmContracts& contracts,
                                          std::uint32_t confirmations, DrandRelays* relays) {
    return std::make_unique<EvmChain>(client, transactions, contracts, confirmations, relays);
}

}  // namespace gym::coordinator
