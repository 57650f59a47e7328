#include "gym/node/chain_view.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "gym/chain/client.hpp"
#include "gym/chain/prevrandao.hpp"
#include "gym/contracts/commitment_log.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/node/backoff.hpp"

namespace gym::node {
namespace {

constexpr std::chrono::milliseconds kLookEvery{500};
// One attempt: whoever asks comes back, and a stop request must not wait for a dead chain.
constexpr chain::HttpOptions kViewHttp{.timeout_ms = 5'000, .attempts = 1};

class EvmChainView final : public ChainView {
  public:
    EvmChainView(const ChainViewConfig& config, std::unique_ptr<chain::ChainClient> client)
        : config_(config), client_(std::move(client)), log_(config.commitment_log) {}

    Status check() override {
        if (checked_) return {};
        GYM_TRY(const std::uint64_t id, named(client_->chain_id()));
        if (id != config_.chain_id)
            return fail(ErrorCode::kMismatch,
                        "chain_rpc " + config_.rpc_url + " serves chain " + std::to_string(id) +
                            ", the coordinator works on chain " + std::to_string(config_.chain_id));
        GYM_TRY(const Bytes code,
                named(client_->code(config_.commitment_log, chain::BlockTag::kLatest)));
        if (code.empty())
            return fail(ErrorCode::kNotFound,
                        "there is no contract at " + config_.commitment_log.hex() + " on chain " +
                            std::to_string(id) + ": is commitment_log right?");
        GYM_TRY(const Address beacon, named(log_.beacon(*client_)));
        by_drand_ = !beacon.is_zero();
        if (!by_drand_) GYM_CHECK(named(chain::check_prevrandao(*client_)));
        checked_ = true;
        return {};
    }

    Result<std::optional<Round>> round(const Digest& job_id, std::uint64_t round) override {
        GYM_CHECK(check());
        GYM_TRY(const auto stored, named(log_.round_of(*client_, job_id, round)));
        if (stored.round_record_hash.is_zero()) return std::optional<Round>();
        return std::optional(Round{stored.round_record_hash, stored.epoch});
    }

    Result<bool> has_aggregate(const Digest& job_id, std::uint64_t round) override {
        GYM_CHECK(check());
        GYM_TRY(const auto stored, named(log_.aggregate_of(*client_, job_id, round)));
        return !stored.unit.is_zero();
    }

    Result<std::optional<Epoch>> epoch(std::uint64_t epoch) override {
        GYM_CHECK(check());
        GYM_TRY(const auto stored, named(log_.epoch_of(*client_, epoch)));
        if (stored.commitments_root.is_zero()) return std::optional<Epoch>();
        Epoch out{stored.commitments_root, stored.count, stored.block_number};
        if (by_drand_) {
            GYM_TRY(const auto draw, named(log_.draw_of(*client_, epoch)));
            out.drand = Drand{draw.round, draw.randomness};
        }
        return std::optional(out);
    }

    Result<std::optional<Digest>> randomness(std::uint64_t block) override {
        GYM_CHECK(check());
        GYM_TRY(const auto header, named(client_->block(block)));
        if (!header) return std::optional<Digest>();
        return std::optional(header->prevrandao);
    }

    Result<bool> is_proven_faulty(const Digest& unit) override {
        GYM_CHECK(check());
        if (config_.dispute_game.is_zero())
            return fail(ErrorCode::kInvalidArgument, "the network names no contract of games");
        GYM_TRY(const game::UnitState known,
                named(contracts::DisputeGame(config_.dispute_game).unit_of(*client_, unit)));
        return known.proven_at_s != 0;
    }

  private:
    template <class T>
    Result<T> named(Result<T> answer) const {
        if (answer.ok()) return answer;
        return answer.error().in("the chain at " + config_.rpc_url);
    }

    const ChainViewConfig config_;
    const std::unique_ptr<chain::ChainClient> client_;
    const contracts::CommitmentLog log_;
    bool checked_ = false;
    bool by_drand_ = false;
};

}  // namespace

Result<std::unique_ptr<ChainView>> make_chain_view(const ChainViewConfig& config) {
    auto client = chain::make_http_client(config.rpc_url, kViewHttp);
    if (!client.ok()) return client.error().in("chain_rpc");
    return std::unique_ptr<ChainView>(std::make_unique<EvmChainView>(config, std::move(*client)));
}

namespace {

std::string name_of(const protocol::RoundHead& record) {
    return "round " + std::to_string(record.round) + " of job " + record.job_id.hex();
}

/// @errors kMismatch when another record is on chain.
Result<bool> is_posted(ChainView& chain, const protocol::RoundHead& record, const Digest& hash) {
    GYM_TRY(const auto posted, chain.round(record.job_id, record.round));
    if (!posted) return false;
    if (posted->record_hash == hash) {
        GYM_CHECK(check_record_before(chain, record));
        return true;
    }
    return fail(ErrorCode::kMismatch, "the coordinator serves a record of " + name_of(record) +
                                          " with hash " + hash.hex() + ", the chain holds " +
                                          posted->record_hash.hex() +
                                          ": nothing is computed for it");
}

bool may_answer_later(ErrorCode code) {
    return code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout;
}

/// The chain takes no other record: so much is known of one that somebody put there otherwise.
Status check_base(ChainView& chain, const protocol::RoundHead& record) {
    GYM_TRY(const bool made, chain.has_aggregate(record.job_id, record.round - 1));
    if (made == (record.included != 0)) return {};
    return fail(ErrorCode::kMismatch,
                "the record of " + name_of(record) + " says that " +
                    std::to_string(record.included) + " deltas made its base state, the chain " +
                    (made ? "holds an" : "holds no") +
                    " aggregate of the round before: nothing is computed for it");
}

}  // namespace

Status check_record_before(ChainView& chain, const protocol::RoundHead& record) {
    if (record.round < 2) return {};
    GYM_TRY(const auto before, chain.round(record.job_id, record.round - 1));
    if (before && before->record_hash == record.previous_record) return check_base(chain, record);
    return fail(ErrorCode::kMismatch, "the record of " + name_of(record) +
                                          " follows a record with hash " +
                                          record.previous_record.hex() + ", the chain holds " +
                                          (before ? before->record_hash.hex() : "none") +
                                          " for the round before: nothing is computed for it");
}

Status wait_for_round(ChainView& chain, Timer& timer, const protocol::RoundHead& record,
                      std::chrono::milliseconds wait_max, const std::stop_token& stop) {
    const Digest hash = protocol::hash(record);
    const auto deadline = timer.now() + wait_max;
    for (bool told = false;; told = true) {
        const auto posted = is_posted(chain, record, hash);
        if (posted.ok() && *posted) return {};
        if (!posted.ok() && !may_answer_later(posted.error().code)) return posted.error();
        const Error missing =
            posted.ok() ? fail(ErrorCode::kUnavailable,
                               "the record of " + name_of(record) + " is not on the chain yet")
                        : fail(ErrorCode::kUnavailable, posted.error().message);
        const auto left = deadline - timer.now();
        if (left <= Timer::Clock::duration::zero())
            return fail(ErrorCode::kUnavailable,
                        missing.message + ": nothing is computed before it is there");
        if (!told)
            spdlog::info("waiting: {} (at most {} s more)", missing.message,
                         std::chrono::ceil<std::chrono::seconds>(left).count());
        timer.wait(std::min<Timer::Clock::duration>(kLookEvery, left), stop);
        if (stop.stop_requested()) return fail(ErrorCode::kCancelled, "stopped");
    }
}

Result<std::unique_ptr<ChainView>> open_chain(const NodeConfig& config,
                                              const records::NetworkDescription& network) {
    Address contract = network.commitment_log;
    if (!config.commitment_log.empty()) {
        const auto pinned = Address::parse(config.commitment_log);
        if (!pinned.ok())
            return fail(ErrorCode::kInvalidArgument,
                        "commitment_log '" + config.commitment_log +
                            "' is not an address: " + pinned.error().message);
        contract = *pinned;
    }
    if (contract != network.commitment_log)
        return fail(ErrorCode::kMismatch, "the coordinator works with contract " +
                                              network.commitment_log.hex() +
                                              ", this node is set to " + contract.hex());
    if (config.chain_rpc.empty()) return std::unique_ptr<ChainView>();
    return make_chain_view({config.chain_rpc, network.chain_id, contract, network.dispute_game});
}

Status start_chain_checks(ChainView* chain, const records::NetworkDescription& network) {
    if (chain == nullptr) {
        spdlog::warn("no chain_rpc: the node believes the coordinator about the chain");
        return {};
    }
    Status checked = chain->check();
    const bool may_answer_later = !checked.ok() && (is_transient(checked.error().code) ||
                                                    checked.error().code == ErrorCode::kTimeout);
    if (!checked.ok() && !may_answer_later) return checked;
    if (!checked.ok())
        spdlog::warn("{}; nothing is computed until it answers", checked.error().message);
    spdlog::info("the coordinator is checked against contract {} on chain {}",
                 network.commitment_log.hex(), network.chain_id);
    return {};
}

}  // namespace gym::node
