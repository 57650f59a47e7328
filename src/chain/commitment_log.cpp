#include "bindings.hpp"
#include "gym/chain/contracts.hpp"

namespace gym::chain {
namespace {

const Declaration kRoundPosted = Declaration::of(
    "RoundPosted(bytes32 indexed jobId, uint64 indexed round, bytes32 roundRecordHash)");
const Declaration kEpochPosted = Declaration::of(
    "EpochPosted(uint64 indexed epoch, bytes32 indexed jobId, uint64 indexed round, "
    "bytes32 commitmentsRoot, uint32 count)");
const Declaration kCommitmentPosted = Declaration::of(
    "CommitmentPosted(bytes32 indexed jobId, uint64 indexed round, address indexed sender, "
    "bytes commitment)");

}  // namespace

ContractCall CommitmentLog::post_round(const Digest& job_id, std::uint64_t round,
                                       const Digest& round_record_hash) const {
    return make_call(address_, "postRound(bytes32,uint64,bytes32)",
                     {job_id, round, round_record_hash},
                     "post round " + std::to_string(round) + " of job " + job_id.hex());
}

ContractCall CommitmentLog::post_epoch(const EpochPosted& epoch) const {
    return make_call(address_, "postEpoch(uint64,bytes32,uint64,bytes32,uint32)",
                     {epoch.epoch, epoch.job_id, epoch.round, epoch.commitments_root,
                      std::uint64_t{epoch.count}},
                     "post the commitments of epoch " + std::to_string(epoch.epoch));
}

ContractCall CommitmentLog::post_commitment(const Digest& job_id, std::uint64_t round,
                                            ByteView commitment) const {
    return make_call(
        address_, "postCommitment(bytes32,uint64,bytes)",
        {job_id, round, Bytes(commitment.begin(), commitment.end())},
        "post a commitment for round " + std::to_string(round) + " of job " + job_id.hex());
}

Result<CommitmentLog::Round> CommitmentLog::round_of(ChainClient& client, const Digest& job_id,
                                                     std::uint64_t round, const BlockId& at) const {
    GYM_TRY(const auto values, call_view(client, address_, at, "roundOf(bytes32,uint64)",
                                         {job_id, round}, "_(bytes32,uint64)"));
    Round out;
    GYM_TRY(out.round_record_hash, values[0].digest());
    GYM_TRY(out.epoch, values[1].u64());
    return out;
}

Result<CommitmentLog::Epoch> CommitmentLog::epoch_of(ChainClient& client, std::uint64_t epoch,
                                                     const BlockId& at) const {
    GYM_TRY(const auto values, call_view(client, address_, at, "epochOf(uint64)", {epoch},
                                         "_(bytes32,uint32,uint64)"));
    Epoch out;
    GYM_TRY(out.commitments_root, values[0].digest());
    GYM_TRY(const std::uint64_t count, values[1].u64());
    out.count = static_cast<std::uint32_t>(count);  // the codec holds it to 32 bits
    GYM_TRY(out.block_number, values[2].u64());
    return out;
}

std::vector<Digest> CommitmentLog::topics() {
    return {kRoundPosted.signature.hash(), kEpochPosted.signature.hash(),
            kCommitmentPosted.signature.hash()};
}

Result<std::optional<CommitmentEvent>> CommitmentLog::parse_event(const Log& log) const {
    using Out = std::optional<CommitmentEvent>;
    if (is_event(kRoundPosted, address_, log)) {
        GYM_TRY(const auto values, decode_event(kRoundPosted, log));
        RoundPosted event;
        GYM_TRY(event.job_id, values[0].digest());
        GYM_TRY(event.round, values[1].u64());
        GYM_TRY(event.round_record_hash, values[2].digest());
        return Out(event);
    }
    if (is_event(kEpochPosted, address_, log)) {
        GYM_TRY(const auto values, decode_event(kEpochPosted, log));
        EpochPosted event;
        GYM_TRY(event.epoch, values[0].u64());
        GYM_TRY(event.job_id, values[1].digest());
        GYM_TRY(event.round, values[2].u64());
        GYM_TRY(event.commitments_root, values[3].digest());
        GYM_TRY(const std::uint64_t count, values[4].u64());
        event.count = static_cast<std::uint32_t>(count);  // the codec holds it to 32 bits
        return Out(event);
    }
    if (is_event(kCommitmentPosted, address_, log)) {
        GYM_TRY(const auto values, decode_event(kCommitmentPosted, log));
        CommitmentPosted event;
        GYM_TRY(event.job_id, values[0].digest());
        GYM_TRY(event.round, values[1].u64());
        GYM_TRY(event.sender, values[2].address());
        GYM_TRY(event.commitment, values[3].bytes());
        return Out(std::move(event));
    }
    return Out();
}

}  // namespace gym::chain
