#include "audit_evidence.hpp"

#include <boost/json.hpp>

#include "api_json.hpp"
#include "api_request.hpp"
#include "gym/contracts/commitment_log.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;
using namespace api_json;
using rewards::PublishedReport;
using rewards::PublishedRound;

constexpr std::size_t kPageItems = 1000;
/// More than a round of the most slots has of anything, and a node is asked in two months.
constexpr std::size_t kPagesMax = 1000;

PublishedReport report_of(const json::object& object) {
    PublishedReport out;
    out.committed = fixed_of<Digest>(object, "committed");
    protocol::Report& report = out.report;
    report.unit = fixed_of<Digest>(object, "unit");
    report.draw = number_of<std::uint32_t>(object, "draw");
    report.verifier = fixed_of<Address>(object, "verifier");
    report.records_root = fixed_of<Digest>(object, "records_root");
    report.final_state_root = fixed_of<Digest>(object, "final_state_root");
    report.delta_root = fixed_of<Digest>(object, "delta_root");
    report.trace = fixed_of<Digest>(object, "trace");
    report.challenge_signature = fixed_of<crypto::Signature>(object, "challenge_signature");
    report.salt = fixed_of<Digest>(object, "salt");
    return out;
}

protocol::PublishedChallenge challenge_of(const json::object& object) {
    protocol::PublishedChallenge out;
    out.challenge = {fixed_of<Digest>(object, "nonce"), number_of<UnixMs>(object, "issued_at_ms"),
                     number_of<UnixMs>(object, "deadline_ms")};
    if (!object.at("answered_at_ms").is_null())
        out.answered_at_ms = number_of<UnixMs>(object, "answered_at_ms");
    if (!object.at("signature").is_null())
        out.signature = fixed_of<crypto::Signature>(object, "signature");
    out.withdrawn = object.at("withdrawn").as_bool();
    return out;
}

class AuditEvidence final : public rewards::EvidenceSource {
  public:
    AuditEvidence(std::string url, chain::ChainClient& client, const Address& log)
        : url_(std::move(url)), client_(client), log_(log) {}

    Result<PublishedRound> round(const Digest& job_id, std::uint64_t round) override {
        const std::string path = path_of(job_id, round);
        GYM_TRY(const json::value answer, api_get(url_, path));
        PublishedRound out;
        GYM_TRY(out, read_answer("round", [&] {
                    const json::object& object = answer.as_object();
                    PublishedRound read;
                    read.record = bytes_of(object, "record");
                    if (!object.at("beacon_block").is_null())
                        read.beacon_block = number_of(object, "beacon_block");
                    if (!object.at("aggregate").is_null())
                        read.aggregate = bytes_of(object, "aggregate");
                    return read;
                }));
        GYM_TRY(out.commitments,
                list<Bytes>(path + "/commitments?", "commitments", [](const json::object& object) {
                    return bytes_of(object, "commitment");
                }));
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
        GYM_TRY(const auto header, client_.block(beacon_block));
        if (header) out.beacon = header->prevrandao;
        return out;
    }

    Result<std::vector<PublishedReport>> reports(const Digest& job_id,
                                                 std::uint64_t round) override {
        return list<PublishedReport>(path_of(job_id, round) + "/reports?", "reports", report_of);
    }

    Result<std::vector<protocol::PublishedChallenge>> challenges(
        const Address& node, const rewards::UptimeSpan& span) override {
        return list<protocol::PublishedChallenge>(
            "/v1/nodes/" + node.hex() + "/challenges?from_ms=" + std::to_string(span.from_ms) +
                "&to_ms=" + std::to_string(span.to_ms) + "&",
            "challenges", challenge_of);
    }

  private:
    static std::string path_of(const Digest& job_id, std::uint64_t round) {
        return "/v1/jobs/" + job_id.hex() + "/rounds/" + std::to_string(round);
    }

    /// All pages of a list; `path` ends where parameters go on.
    template <class T, class Read>
    Result<std::vector<T>> list(const std::string& path, const char* name, Read&& read) {
        std::vector<T> out;
        for (std::size_t page = 0; page < kPagesMax; ++page) {
            GYM_TRY(const json::value answer,
                    api_get(url_, path + "offset=" + std::to_string(page * kPageItems) +
                                      "&limit=" + std::to_string(kPageItems)));
            GYM_TRY(const std::size_t count, read_answer(name, [&] {
                        const json::array& items = answer.as_object().at(name).as_array();
                        for (const json::value& item : items)
                            out.push_back(read(item.as_object()));
                        return items.size();
                    }));
            if (count < kPageItems) return out;
        }
        return fail(ErrorCode::kOutOfRange,
                    "gym-api has more " + std::string(name) + " than a round can have");
    }

    const std::string url_;
    chain::ChainClient& client_;
    const contracts::CommitmentLog log_;
};

}  // namespace

std::unique_ptr<rewards::EvidenceSource> make_audit_evidence(std::string api_url,
                                                             chain::ChainClient& client,
                                                             const Address& commitment_log) {
    return std::make_unique<AuditEvidence>(std::move(api_url), client, commitment_log);
}

}  // namespace gym::app
