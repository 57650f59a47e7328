#include "gym/contracts/commitment_log.hpp"

#include "bindings.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::contracts {
namespace {

const std::vector<EventBinding<CommitmentEvent>>& events() {
    static const std::vector<EventBinding<CommitmentEvent>> all = {
        event_of<CommitmentEvent>(
            "RoundPosted(bytes32 indexed jobId, uint64 indexed round, bytes32 roundRecordHash)",
            &RoundPosted::job_id, &RoundPosted::round, &RoundPosted::round_record_hash),
        event_of<CommitmentEvent>("AggregatePosted(bytes32 indexed jobId, uint64 indexed round, "
                                  "address indexed signer, bytes32 unit, bytes commitment)",
                                  &AggregatePosted::job_id, &AggregatePosted::round,
                                  &AggregatePosted::signer, &AggregatePosted::unit,
                                  &AggregatePosted::commitment),
        event_of<CommitmentEvent>("EpochPosted(uint64 indexed epoch, bytes32 indexed jobId, uint64 "
                                  "indexed round, bytes32 commitmentsRoot, uint32 count)",
                                  &EpochPosted::epoch, &EpochPosted::job_id, &EpochPosted::round,
                                  &EpochPosted::commitments_root, &EpochPosted::count),
        event_of<CommitmentEvent>("CommitmentPosted(bytes32 indexed jobId, uint64 indexed round, "
                                  "address indexed sender, bytes commitment)",
                                  &CommitmentPosted::job_id, &CommitmentPosted::round,
                                  &CommitmentPosted::sender, &CommitmentPosted::commitment),
    };
    return all;
}

}  // namespace

ContractCall CommitmentLog::post_round(const RoundHead& record) const {
    return make_call(
        address_, "postRound(bytes,bytes)", {record.head, record.origin},
        "post round " + std::to_string(record.round) + " of job " + record.job_id.hex());
}

ContractCall CommitmentLog::post_aggregate(const Digest& job_id, std::uint64_t round,
                                           ByteView commitment) const {
    return make_call(
        address_, "postAggregate(bytes32,uint64,bytes)",
        {job_id, round, Bytes(commitment.begin(), commitment.end())},
        "post the aggregate of round " + std::to_string(round) + " of job " + job_id.hex());
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
        "publish a commitment to round " + std::to_string(round) + " of job " + job_id.hex());
}

Result<CommitmentLog::Round> CommitmentLog::round_of(chain::ChainClient& client,
                                                     const Digest& job_id, std::uint64_t round,
                                                     const chain::BlockId& at) const {
    GYM_TRY(const auto values, call_view(client, address_, at, "roundOf(bytes32,uint64)",
                                         {job_id, round}, "_(bytes32,uint64)"));
    Round out;
    GYM_CHECK(read_all(values, out.round_record_hash, out.epoch));
    return out;
}

Result<CommitmentLog::Aggregate> CommitmentLog::aggregate_of(chain::ChainClient& client,
                                                             const Digest& job_id,
                                                             std::uint64_t round,
                                                             const chain::BlockId& at) const {
    GYM_TRY(const auto values, call_view(client, address_, at, "aggregateOf(bytes32,uint64)",
                                         {job_id, round}, "_(bytes32,uint64)"));
    Aggregate out;
    GYM_CHECK(read_all(values, out.unit, out.block_number));
    return out;
}

Result<CommitmentLog::Epoch> CommitmentLog::epoch_of(chain::ChainClient& client,
                                                     std::uint64_t epoch,
                                                     const chain::BlockId& at) const {
    GYM_TRY(const auto values, call_view(client, address_, at, "epochOf(uint64)", {epoch},
                                         "_(bytes32,uint32,uint64)"));
    Epoch out;
    GYM_CHECK(read_all(values, out.commitments_root, out.count, out.block_number));
    return out;
}

Result<Address> CommitmentLog::poster_of(chain::ChainClient& client, std::uint64_t epoch,
                                         const chain::BlockId& at) const {
    GYM_TRY(const auto values,
            call_view(client, address_, at, "posterOf(uint64)", {epoch}, "_(address)"));
    Address out;
    GYM_CHECK(read_all(values, out));
    return out;
}

Result<std::uint64_t> CommitmentLog::published_at(chain::ChainClient& client, const Digest& leaf,
                                                  const chain::BlockId& at) const {
    GYM_TRY(const auto values,
            call_view(client, address_, at, "publishedAt(bytes32)", {leaf}, "_(uint256)"));
    std::uint64_t out = 0;
    GYM_CHECK(read_all(values, out));
    return out;
}

Result<Address> CommitmentLog::beacon(chain::ChainClient& client) const {
    auto source = view_address(client, address_, "beacon()");
    if (source.ok() || source.error().code != ErrorCode::kConflict) return source;
    return fail(ErrorCode::kConflict,
                "CommitmentLog " + address_.hex() +
                    " names no source of randomness: an older gym deployed it, deploy its "
                    "network anew");
}

Result<CommitmentLog::Draw> CommitmentLog::draw_of(chain::ChainClient& client, std::uint64_t epoch,
                                                   const chain::BlockId& at) const {
    GYM_TRY(const auto values,
            call_view(client, address_, at, "drawOf(uint64)", {epoch}, "_(uint64,bytes32)"));
    Draw out;
    GYM_CHECK(read_all(values, out.round, out.randomness));
    return out;
}

Result<bool> CommitmentLog::is_coordinator(chain::ChainClient& client, const Address& account,
                                           const chain::BlockId& at) const {
    GYM_TRY(const auto values,
            call_view(client, address_, at, "hasRole(bytes32,address)",
                      {crypto::keccak256_text("COORDINATOR_ROLE"), account}, "_(bool)"));
    bool out = false;
    GYM_CHECK(read_all(values, out));
    return out;
}

Digest CommitmentLog::published_topic() {
    return topics().back();
}

std::vector<Digest> CommitmentLog::topics() {
    return topics_of(events());
}

Result<std::optional<CommitmentEvent>> CommitmentLog::parse_event(const chain::Log& log) const {
    return find_event(events(), address_, log);
}

}  // namespace gym::contracts
