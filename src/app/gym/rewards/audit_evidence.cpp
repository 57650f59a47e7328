#include "rewards/audit_evidence.hpp"

#include "gym/contracts/commitment_log.hpp"

namespace gym::app {
namespace {

using rewards::PublishedReport;
using rewards::PublishedRound;

class AuditEvidence final : public rewards::EvidenceSource {
  public:
    AuditEvidence(client::ApiClient api, chain::ChainClient& client, const Address& log)
        : api_(std::move(api)), client_(client), log_(log) {}

    Result<PublishedRound> round(const Digest& job_id, std::uint64_t round) override {
        GYM_TRY(const client::PublishedRound published, api_.round(job_id, round));
        PublishedRound out;
        out.record = published.record;
        out.aggregate = published.aggregate;
        out.evaluation = published.evaluation;
        out.beacon_block = published.beacon_block.value_or(0);
        out.drand_round = published.drand_round;
        GYM_TRY(out.commitments, api_.commitments(job_id, round));
        return out;
    }

    Result<rewards::RoundOnChain> on_chain(const rewards::FileRound& round,
                                           std::uint64_t beacon_block) override {
        rewards::RoundOnChain out;
        GYM_TRY(const auto posted, log_.round_of(client_, round.job_id, round.round));
        GYM_TRY(const auto epoch, log_.epoch_of(client_, posted.epoch));
        out.record_hash = posted.round_record_hash;
        out.commitments_root = epoch.commitments_root;
        out.count = epoch.count;
        out.posted_block = epoch.block_number;
        GYM_TRY(const auto draw, log_.draw_of(client_, posted.epoch));
        if (draw.round != 0) {
            out.drand_round = draw.round;
            out.beacon = draw.randomness;
            return out;
        }
        GYM_TRY(const auto header, client_.block(beacon_block));
        if (header) out.beacon = header->prevrandao;
        return out;
    }

    Result<std::vector<PublishedReport>> reports(const Digest& job_id,
                                                 std::uint64_t round) override {
        GYM_TRY(const auto reports, api_.reports(job_id, round));
        std::vector<PublishedReport> out;
        out.reserve(reports.size());
        for (const registry::PublishedReport& one : reports)
            out.push_back({one.committed, one.report});
        return out;
    }

    Result<std::vector<protocol::PublishedChallenge>> challenges(
        const Address& node, const rewards::UptimeSpan& span) override {
        return api_.challenges(node, span.from_ms, span.to_ms);
    }

  private:
    const client::ApiClient api_;
    chain::ChainClient& client_;
    const contracts::CommitmentLog log_;
};

}  // namespace

std::unique_ptr<rewards::EvidenceSource> make_audit_evidence(client::ApiClient api,
                                                             chain::ChainClient& client,
                                                             const Address& commitment_log) {
    return std::make_unique<AuditEvidence>(std::move(api), client, commitment_log);
}

}  // namespace gym::app
