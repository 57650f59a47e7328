#include "gym/game/withdrawn.hpp"

#include "gym/commit/codec.hpp"
#include "rules_common.hpp"

namespace gym::game {
namespace {

constexpr std::size_t kCommitmentBytes = 226;

}  // namespace

Bytes encode(const WithdrawnEvidence& evidence) {
    commit::Encoder out;
    out.raw(protocol::encode(evidence.commitment)).fixed(evidence.unit);
    out.raw(evidence.own).raw(evidence.listing);
    return out.take();
}

Result<WithdrawnEvidence> decode_withdrawn_evidence(ByteView bytes) {
    commit::Decoder in(bytes);
    WithdrawnEvidence out;
    GYM_TRY(const ByteView commitment, in.raw(kCommitmentBytes));
    GYM_TRY(out.commitment, rules::read_commitment(commitment));
    GYM_TRY(out.unit, in.digest());
    GYM_TRY(const ByteView own, in.raw(protocol::kRoundHeadBytes));
    GYM_TRY(const ByteView listing, in.raw(protocol::kRoundHeadBytes));
    GYM_CHECK(in.expect_end());
    out.own.assign(own.begin(), own.end());
    out.listing.assign(listing.begin(), listing.end());
    return out;
}

}  // namespace gym::game
