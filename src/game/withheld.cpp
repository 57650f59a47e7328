#include "gym/game/withheld.hpp"

#include <algorithm>
#include <string>

#include "abi_codec.hpp"
#include "gym/commit/codec.hpp"
#include "gym/commit/merkle.hpp"
#include "rules_common.hpp"

namespace gym::game {
namespace {

const chain::AbiSignature& withheld_signature() {
    static const auto signature = abi::parsed_signature(
        "openWithheld(bytes,bytes,(bytes,bytes32[]),uint32,bytes32[],bytes32)");
    return signature;
}

Error other_parts(const char* what) {
    return fail(ErrorCode::kMalformed, std::string("a request for withheld data: ") + what);
}

/// The commitment of the evidence, which must be a worker's to a unit of the record's round.
Result<protocol::SignedCommitment> commitment_of(const WithheldEvidence& evidence) {
    if (!evidence.commitment) return other_parts("it lacks the commitment");
    const protocol::UnitCommitment& says = evidence.commitment->commitment;
    if (says.round_record != protocol::hash(evidence.record))
        return fail(ErrorCode::kMismatch, "the commitment names another round record");
    if (says.slot >= protocol::kSlotsMax)
        return fail(ErrorCode::kInvalidArgument,
                    "slot " + std::to_string(says.slot) + " is not a worker's");
    return *evidence.commitment;
}

Status check_posted(const PostedEpoch& epoch) {
    if (!epoch.tree.root.is_zero()) return {};
    return fail(ErrorCode::kNotFound, "the round has no posted epoch");
}

/// The epoch of the next round, for what is late.
Result<PostedEpoch> late_epoch(const WithheldEvidence& evidence, const PostedEpochs& epochs) {
    if (!evidence.record.accept_late)
        return fail(ErrorCode::kMismatch, "the round takes no late commitments");
    GYM_CHECK(check_posted(epochs.next));
    return epochs.next;
}

/// That the round fixes what the commitment says.
Status check_terms(const WithheldEvidence& evidence, const protocol::UnitCommitment& says,
                   const Address& signer) {
    GYM_TRY(const auto slot, protocol::open_slot(evidence.record, says.slot, evidence.slot));
    const auto field =
        rules::train_contradiction(says, evidence.record, slot ? &*slot : nullptr, signer);
    // No coordinator takes another attempt.
    if (says.attempt != 0)
        return fail(ErrorCode::kMismatch, "the commitment is to another attempt");
    if (!field) return {};
    return fail(ErrorCode::kMismatch, "field " + std::to_string(*field) +
                                          " of the commitment is not what its round fixes");
}

Result<WithheldFacts> facts_of_commitment(const crypto::Eip712Domain& domain,
                                          const WithheldEvidence& evidence,
                                          const PostedEpochs& epochs) {
    if (evidence.data.tensor != 0 || evidence.data.chunk != 0)
        return other_parts("a commitment has no chunks");
    if (evidence.index != 0 || !evidence.path.empty())
        return other_parts("there is no path to a commitment that is asked for");
    GYM_TRY(const protocol::SignedCommitment commitment, commitment_of(evidence));
    const protocol::UnitCommitment& says = commitment.commitment;
    WithheldFacts facts;
    DataRequest& request = facts.request;
    GYM_TRY(request.worker, rules::signer_of(domain, commitment));
    GYM_CHECK(check_terms(evidence, says, request.worker));
    facts.asserter = epochs.own.poster;
    request.root = epochs.own.tree.root;
    request.leaves = epochs.own.tree.leaves;
    if (evidence.record.accept_late) {
        GYM_TRY(const PostedEpoch next, late_epoch(evidence, epochs));
        facts.asserter = next.poster;
        request.next_root = next.tree.root;
        request.next_leaves = next.tree.leaves;
    }
    request.leaf = protocol::commitment_leaf(commitment);
    request.round_record = says.round_record;
    request.slot = says.slot;
    return facts;
}

Result<WithheldFacts> facts_of_delta(const crypto::Eip712Domain& domain,
                                     const WithheldEvidence& evidence, const PostedEpochs& epochs) {
    if (evidence.data.tensor != 0) return other_parts("a delta is one tensor");
    if (evidence.slot != protocol::SlotProof{}) return other_parts("it has a slot's terms");
    PostedEpoch epoch = epochs.own;
    if (evidence.data.what == Wanted::kLateDelta) {
        GYM_TRY(epoch, late_epoch(evidence, epochs));
    }
    GYM_TRY(const protocol::SignedCommitment commitment, commitment_of(evidence));
    GYM_CHECK(commit::merkle_verify(epoch.tree.root, {evidence.index, epoch.tree.leaves},
                                    protocol::commitment_leaf(commitment), evidence.path));
    WithheldFacts facts;
    facts.request.root = commitment.commitment.delta_root;
    GYM_TRY(facts.asserter, rules::signer_of(domain, commitment));
    return facts;
}

Result<WithheldFacts> facts_of_chunk(const WithheldEvidence& evidence, const PostedEpochs& epochs) {
    if (evidence.commitment || evidence.index != 0 || !evidence.path.empty() ||
        evidence.slot != protocol::SlotProof{})
        return other_parts("the record alone says what a round begins with");
    WithheldFacts facts;
    facts.asserter = epochs.own.poster;
    switch (evidence.data.what) {
        case Wanted::kBase:
            facts.request.root = evidence.record.base_state_root;
            return facts;
        case Wanted::kOuter:
            facts.request.root = evidence.record.momentum_root;
            return facts;
        case Wanted::kDataset:
            facts.request.root = evidence.record.dataset_root;
            return facts;
        default:
            return other_parts("nobody stands for such data");
    }
}

Result<WithheldFacts> facts_of(const crypto::Eip712Domain& domain, const WithheldEvidence& evidence,
                               const PostedEpochs& epochs) {
    GYM_CHECK(check_posted(epochs.own));
    if (evidence.data.what == Wanted::kCommitment)
        return facts_of_commitment(domain, evidence, epochs);
    if (is_of_delta(evidence.data.what)) return facts_of_delta(domain, evidence, epochs);
    return facts_of_chunk(evidence, epochs);
}

/// The first argument: what is asked for, then the commitment.
Status read_request(ByteView bytes, WithheldEvidence& evidence) {
    const std::size_t size = std::min(bytes.size(), kWithheldDataBytes);
    GYM_TRY(evidence.data, decode_withheld_data(bytes.first(size)));
    if (size == bytes.size()) return {};
    GYM_TRY(evidence.commitment, rules::read_commitment(bytes.subspan(size)));
    return {};
}

Result<WithheldCall> withheld_call(const std::vector<chain::AbiValue>& values) {
    WithheldCall call;
    GYM_TRY(const Bytes request, values.at(0).bytes());
    GYM_CHECK(read_request(request, call.evidence));
    GYM_TRY(const Bytes record, values.at(1).bytes());
    GYM_TRY(call.evidence.record, protocol::decode_round_head(record));
    GYM_CHECK(abi::Type<protocol::SlotProof>::read(values.at(2), call.evidence.slot));
    GYM_CHECK(abi::Type<std::uint32_t>::read(values.at(3), call.evidence.index));
    GYM_CHECK(abi::Type<std::vector<Digest>>::read(values.at(4), call.evidence.path));
    GYM_TRY(call.salt, values.at(5).digest());
    return call;
}

}  // namespace

Bytes encode(const WithheldData& data) {
    commit::Encoder out;
    out.u8(static_cast<std::uint8_t>(data.what)).u32(data.tensor).u64(data.chunk);
    return out.take();
}

Result<WithheldData> decode_withheld_data(ByteView bytes) {
    commit::Decoder in(bytes);
    WithheldData data;
    GYM_TRY(const std::uint8_t what, in.u8());
    data.what = static_cast<Wanted>(what);
    GYM_TRY(data.tensor, in.u32());
    GYM_TRY(data.chunk, in.u64());
    GYM_CHECK(in.expect_end());
    return data;
}

WithheldEvidence ask_for_commitment(const protocol::SignedCommitment& commitment,
                                    const protocol::UnitRecord& record) {
    WithheldEvidence evidence;
    evidence.data.what = Wanted::kCommitment;
    evidence.commitment = commitment;
    evidence.record = record;
    evidence.slot = protocol::proof_of(record);
    return evidence;
}

WithheldEvidence ask_for_delta(const Evidence& shown, std::uint64_t chunk) {
    WithheldEvidence evidence;
    evidence.data = {shown.late ? Wanted::kLateDelta : Wanted::kDelta, 0, chunk};
    evidence.commitment = shown.commitment;
    evidence.record = shown.record;
    evidence.index = shown.index;
    evidence.path = shown.path;
    return evidence;
}

WithheldEvidence ask_for_chunk(const WithheldData& data, const protocol::RoundHead& record) {
    WithheldEvidence evidence;
    evidence.data = data;
    evidence.record = record;
    return evidence;
}

Result<WithheldFacts> withheld_facts_of(const crypto::Eip712Domain& domain,
                                        const WithheldEvidence& evidence,
                                        const PostedEpochs& epochs) {
    GYM_TRY(WithheldFacts facts, facts_of(domain, evidence, epochs));
    if (facts.request.root.is_zero()) return other_parts("its root is zero");
    facts.request.what = evidence.data.what;
    facts.request.tensor = evidence.data.tensor;
    facts.request.chunk = evidence.data.chunk;
    facts.unit = unit_name(hash_of(facts.request), facts.asserter);
    return facts;
}

Bytes encode_withheld(const WithheldEvidence& evidence, const Digest& salt) {
    Bytes request = encode(evidence.data);
    if (evidence.commitment) {
        const Bytes commitment = protocol::encode(*evidence.commitment);
        request.insert(request.end(), commitment.begin(), commitment.end());
    }
    auto call = withheld_signature().encode_call(
        {std::move(request), protocol::encode(evidence.record),
         abi::Type<protocol::SlotProof>::value(evidence.slot), std::uint64_t{evidence.index},
         abi::Type<std::vector<Digest>>::value(evidence.path), salt});
    GYM_ASSERT(call.ok(), "evidence has the types of openWithheld()");
    return std::move(call).value();
}

Result<WithheldCall> read_withheld(ByteView calldata) {
    GYM_CHECK(abi::check_selector(withheld_signature(), calldata));
    GYM_TRY(const auto values, chain::abi_read_calldata(withheld_signature().inputs, calldata));
    return withheld_call(values);
}

}  // namespace gym::game
