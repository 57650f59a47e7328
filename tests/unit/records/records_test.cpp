#include <gtest/gtest.h>

#include "gym/records/codec.hpp"
#include "gym/records/network.hpp"
#include "gym/records/node.hpp"

namespace gym::records {
namespace {

Digest digest(std::uint8_t fill) {
    Digest out;
    out.data.fill(fill);
    return out;
}

template <class Record>
Bytes bytes_of(const Record& record) {
    commit::Encoder out;
    encode(record, out);
    return out.take();
}

TEST(RecordsTest, UnitKeysKeepTheirBytes) {
    const protocol::UnitKey key{digest(1), 2, 3, 4};
    const Bytes bytes = bytes_of(key);
    EXPECT_EQ(to_hex(bytes),
              to_hex(digest(1).view()) + "0000000000000002" + "00000003" + "00000004")
        << "journals on disk have these";
    commit::Decoder in(bytes);
    EXPECT_EQ(decode_unit_key(in).value(), key);
    EXPECT_TRUE(in.expect_end().ok());
}

TEST(RecordsTest, UnitInputsRoundTripWithAndWithoutTheirOptionalBlobs) {
    UnitInputs inputs;
    inputs.program_blob = digest(1);
    inputs.base_state_blob = digest(2);
    const std::size_t bare = bytes_of(inputs).size();
    EXPECT_EQ(bare, 32U + 1 + 32 + 1);
    for (const bool all : {false, true}) {
        if (all) {
            inputs.dataset_blob = digest(3);
            inputs.momentum_blob = digest(4);
        }
        const Bytes bytes = bytes_of(inputs);
        EXPECT_EQ(bytes.size(), bare + (all ? 64 : 0));
        commit::Decoder in(bytes);
        EXPECT_EQ(decode_unit_inputs(in).value(), inputs);
        EXPECT_TRUE(in.expect_end().ok());
    }
}

TEST(RecordsTest, TheStepsToABaseStateAreNotKept) {
    UnitInputs inputs;
    inputs.program_blob = digest(1);
    const Bytes bytes = bytes_of(inputs);
    inputs.base_steps = {{digest(2), digest(3)}};
    EXPECT_EQ(bytes_of(inputs), bytes) << "journals on disk have these";
    commit::Decoder in(bytes);
    EXPECT_TRUE(decode_unit_inputs(in)->base_steps.empty());
}

TEST(RecordsTest, APresenceByteIsZeroOrOne) {
    Bytes bytes = bytes_of(std::optional(digest(1)));
    bytes[0] = 2;
    commit::Decoder in(bytes);
    EXPECT_EQ(decode_optional_digest(in).error().code, ErrorCode::kMalformed);
}

TEST(RecordsTest, InclusionReceiptsRoundTripAndAreBounded) {
    const InclusionReceipt receipt{4, digest(1), 1, 3, {digest(2), digest(3)}};
    Bytes bytes = bytes_of(receipt);
    EXPECT_EQ(bytes.size(), 8U + 32 + 8 + 8 + 4 + 64);
    commit::Decoder in(bytes);
    EXPECT_EQ(decode_inclusion_receipt(in).value(), receipt);
    InclusionReceipt tall = receipt;
    tall.siblings.assign(kSiblingsMax + 1, digest(9));
    bytes = bytes_of(tall);
    commit::Decoder long_path(bytes);
    EXPECT_EQ(decode_inclusion_receipt(long_path).error().code, ErrorCode::kMalformed);
    bytes = bytes_of(receipt);
    bytes.pop_back();
    commit::Decoder cut(bytes);
    EXPECT_EQ(decode_inclusion_receipt(cut).error().code, ErrorCode::kMalformed);
}

TEST(RecordsTest, RolesHaveStableNames) {
    for (const NodeRole role : {NodeRole::kWorker, NodeRole::kVerifier})
        EXPECT_EQ(parse_node_role(to_string(role)).value(), role);
    EXPECT_EQ(parse_node_role("referee").error().code, ErrorCode::kMalformed);
}

TEST(RecordsTest, ATaskNamesItsUnitByItsKey) {
    TrainTask train;
    train.unit = {digest(1), 2, 3, 0};
    VerifyTask verify;
    verify.unit = train.unit;
    verify.commitment.commitment.kind = protocol::UnitKind::kAggregate;
    EXPECT_EQ(train.unit_id(), protocol::unit_id(train.unit));
    EXPECT_EQ(verify.unit_id(), train.unit_id());
    EXPECT_EQ(verify.kind(), protocol::UnitKind::kAggregate);
}

TEST(RecordsTest, SignaturesOfOneNetworkMeanNothingOnAnother) {
    NetworkDescription network;
    network.chain_id = 1;
    NetworkDescription other = network;
    other.commitment_log.data[0] = 1;
    EXPECT_NE(crypto::domain_separator(network.domain()), crypto::domain_separator(other.domain()));
}

}  // namespace
}  // namespace gym::records
