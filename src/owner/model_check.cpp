#include "gym/owner/model_check.hpp"

#include <optional>

#include "gym/contracts/commitment_log.hpp"
#include "gym/crypto/key.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"

namespace gym::owner {
namespace {

/// A round's record whose hash is the one on chain.
struct Recorded {
    protocol::RoundRecord record;
    Digest hash;
    std::optional<Bytes> aggregate;  ///< as gym-api shows it
};

Error differs(const std::string& what, const Digest& ours, const std::string& whose,
              const Digest& theirs) {
    return fail(ErrorCode::kMismatch, what + " has the root " + ours.hex() + ", " + whose + " " +
                                          theirs.hex() + ": the download is not what was trained");
}

class ModelCheck {
  public:
    ModelCheck(const client::ApiClient& api, chain::ChainClient& chain,
               const contracts::Deployment& deployment, const client::JobModel& model,
               const ModelRoots& roots)
        : api_(api),
          chain_(chain),
          deployment_(deployment),
          log_(deployment.commitment_log),
          model_(model),
          roots_(roots) {}

    Result<std::string> run() {
        GYM_TRY(const std::uint64_t chain_id, chain_.chain_id());
        if (chain_id != deployment_.chain_id)
            return fail(ErrorCode::kMismatch, "--chain is chain " + std::to_string(chain_id) +
                                                  ", the deployment is on chain " +
                                                  std::to_string(deployment_.chain_id));
        GYM_TRY(const auto next, recorded(model_.round + 1));
        if (next) return check_base(*next, model_.round + 1);
        if (model_.round == 0)
            return fail(ErrorCode::kNotFound,
                        "no round of the job is on chain yet, so nothing there names its initial "
                        "weights");
        GYM_TRY(const auto own, recorded(model_.round));
        if (!own)
            return fail(ErrorCode::kNotFound, "round " + std::to_string(model_.round) +
                                                  " of the job is not on chain: is this the "
                                                  "network of the deployment?");
        return check_result(*own);
    }

  private:
    [[nodiscard]] std::string name_of(std::uint64_t round) const {
        return "the record of round " + std::to_string(round) + " on chain";
    }
    [[nodiscard]] std::string where(const Recorded& round) const {
        return "(hash " + round.hash.hex() + " in CommitmentLog " + log_.address().hex() +
               " of chain " + std::to_string(deployment_.chain_id) + ")";
    }

    /// Absent while it is not on chain. @errors kMismatch for another record than that on chain.
    Result<std::optional<Recorded>> recorded(std::uint64_t round) {
        using Out = std::optional<Recorded>;
        GYM_TRY(const auto posted, log_.round_of(chain_, model_.job, round));
        if (posted.round_record_hash.is_zero()) return Out();
        GYM_TRY(const client::PublishedRound published, api_.round(model_.job, round));
        const Digest hash = protocol::hash_round_head(published.record);
        if (hash != posted.round_record_hash)
            return fail(ErrorCode::kMismatch,
                        "gym-api's record of round " + std::to_string(round) + " has the hash " +
                            hash.hex() + ", the chain has " + posted.round_record_hash.hex());
        GYM_TRY(auto record, protocol::decode_round_record(published.record));
        if (record.job_id != model_.job || record.round != round)
            return fail(ErrorCode::kMismatch, name_of(round) + " is of another job or round");
        if (record.program_root != roots_.program)
            return differs("the program", roots_.program, name_of(round) + " names",
                           record.program_root);
        return Out(Recorded{std::move(record), hash, published.aggregate});
    }

    Result<std::string> check_base(const Recorded& next, std::uint64_t round) {
        if (next.record.base_state_root != roots_.state)
            return differs("the state", roots_.state, name_of(round) + " names",
                           next.record.base_state_root);
        return "program and weights have the roots that " + name_of(round) + " begins from " +
               where(next);
    }

    /// By what the coordinator signed about the round.
    Result<std::string> check_result(const Recorded& own) {
        if (!own.aggregate) {
            if (own.record.base_state_root != roots_.state)
                return differs("the state", roots_.state,
                               "the round has no result, and " + name_of(model_.round) + " names",
                               own.record.base_state_root);
            return "program and weights have the roots in " + name_of(model_.round) + " " +
                   where(own) + "; the round itself changed nothing";
        }
        GYM_TRY(const auto result, protocol::decode_signed_commitment(*own.aggregate));
        const protocol::UnitCommitment& claim = result.commitment;
        if (claim.kind != protocol::UnitKind::kAggregate || claim.round_record != own.hash)
            return fail(ErrorCode::kMismatch,
                        "the coordinator's result that gym-api shows is of another round");
        if (claim.final_state_root != roots_.state)
            return differs("the state", roots_.state, "the coordinator signed",
                           claim.final_state_root);
        GYM_TRY(const Address signer, signer_of(result));
        return "program and weights have the roots that coordinator " + signer.hex() +
               " signed as the result of round " + std::to_string(model_.round) +
               ", whose record is on chain " + where(own) +
               "; verifiers may dispute that result until the round is closed";
    }

    Result<Address> signer_of(const protocol::SignedCommitment& result) {
        const auto domain =
            protocol::signing_domain(deployment_.chain_id, deployment_.commitment_log);
        GYM_TRY(const Address signer,
                crypto::recover_address(protocol::signing_digest(domain, result.commitment),
                                        result.signature));
        GYM_TRY(const bool entitled, log_.is_coordinator(chain_, signer));
        if (entitled) return signer;
        return fail(ErrorCode::kMismatch, "the result of the round is signed by " + signer.hex() +
                                              ", which is no coordinator of CommitmentLog " +
                                              log_.address().hex());
    }

    const client::ApiClient& api_;
    chain::ChainClient& chain_;
    const contracts::Deployment& deployment_;
    const contracts::CommitmentLog log_;
    const client::JobModel& model_;
    const ModelRoots& roots_;
};

}  // namespace

Result<std::string> check_on_chain(const client::ApiClient& api, chain::ChainClient& chain,
                                   const contracts::Deployment& deployment,
                                   const client::JobModel& model, const ModelRoots& roots) {
    return ModelCheck(api, chain, deployment, model, roots).run();
}

}  // namespace gym::owner
