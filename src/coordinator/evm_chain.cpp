#include "gym/coordinator/evm_chain.hpp"

#include <mutex>
#include <string>

#include "gym/chain/contracts.hpp"
#include "gym/chain/dispute_contracts.hpp"

namespace gym::coordinator {
namespace {

class EvmChain final : public ChainPort {
  public:
    EvmChain(chain::ChainClient& client, chain::TxManager& transactions,
             const EvmContracts& contracts, std::uint32_t confirmations)
        : client_(client),
          transactions_(transactions),
          log_(contracts.commitment_log),
          confirmations_(confirmations) {
        if (contracts.dispute_game) games_.emplace(*contracts.dispute_game);
    }

    Status post_round(const Digest& job_id, std::uint64_t round,
                      const Digest& record_hash) override {
        const std::lock_guard lock(mutex_);
        return submit("round:" + job_id.hex() + ":" + std::to_string(round),
                      log_.post_round(job_id, round, record_hash));
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

    Result<std::optional<GameVerdict>> games_about(const Digest& unit,
                                                   std::uint64_t epoch_block) override {
        using Found = std::optional<GameVerdict>;
        if (!games_) return Found();
        const std::lock_guard lock(mutex_);
        GYM_TRY(const auto at, deep_block());
        if (!at) return Found(GameVerdict::kOpen);
        GYM_TRY(const auto state, games_->unit_of(client_, unit, *at));
        if (state.proven_at_s != 0) return Found(GameVerdict::kFaulty);
        if (!window_blocks_) {
            GYM_TRY(const auto opening, games_->opening(client_));
            window_blocks_ = opening.window_blocks;
        }
        if (state.games > 0 || *at <= epoch_block + *window_blocks_)
            return Found(GameVerdict::kOpen);
        const bool played = state.asserter != Address();
        return Found(played ? GameVerdict::kUpheld : GameVerdict::kNeverOpened);
    }

  private:
    Status submit(const std::string& id, const chain::ContractCall& call) {
        GYM_TRY(const chain::Intent intent, transactions_.submit(call.intent(id)));
        if (!chain::is_settled(intent.state) || intent.state == chain::IntentState::kDone)
            return {};
        return fail(ErrorCode::kConflict,
                    call.label + ": " + (intent.outcome ? intent.outcome->reason : "not sent"));
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
    chain::CommitmentLog log_;
    std::optional<chain::DisputeGame> games_;
    std::optional<std::uint64_t> window_blocks_;
    std::uint32_t confirmations_;
};

}  // namespace

std::unique_ptr<ChainPort> make_evm_chain(chain::ChainClient& client,
                                          chain::TxManager& transactions,
                                          const EvmContracts& contracts,
                                          std::uint32_t confirmations) {
    return std::make_unique<EvmChain>(client, transactions, contracts, confirmations);
}

}  // namespace gym::coordinator
