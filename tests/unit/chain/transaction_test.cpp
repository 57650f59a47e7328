#include "gym/chain/transaction.hpp"

#include <gtest/gtest.h>

#include "ethereum_vectors.hpp"
#include "rlp_decoder.hpp"
#include "transaction_decoder.hpp"

namespace gym::chain {
namespace {

Amount amount_at(const boost::json::value& vector, const char* name) {
    return Amount::parse(testing::text_at(vector, name)).value();
}

Transaction transaction_from(const boost::json::value& vector) {
    Transaction tx;
    tx.chain_id = amount_at(vector, "chain_id").to_u64().value();
    tx.nonce = amount_at(vector, "nonce").to_u64().value();
    tx.priority_fee_wei = amount_at(vector, "priority_fee_wei");
    tx.fee_max_wei = amount_at(vector, "fee_max_wei");
    tx.gas_limit = amount_at(vector, "gas_limit").to_u64().value();
    if (!vector.as_object().at("to").is_null()) tx.to = testing::fixed_at<Address>(vector, "to");
    tx.value_wei = amount_at(vector, "value_wei");
    tx.data = testing::bytes_at(vector, "data");
    return tx;
}

TEST(Transaction, SignedBytesAndHashAgreeWithCast) {
    for (const auto& vector : testing::ethereum_vectors().at("transactions").as_array()) {
        const auto key = crypto::PrivateKey::parse(testing::text_at(vector, "key")).value();
        const SignedTransaction made = sign_transaction(transaction_from(vector), key);
        EXPECT_EQ(to_hex0x(made.raw), testing::text_at(vector, "raw"));
        EXPECT_EQ(made.hash.hex(), testing::text_at(vector, "hash"));
    }
}

TEST(Transaction, DecodesToContentAndSender) {
    for (const auto& vector : testing::ethereum_vectors().at("transactions").as_array()) {
        const auto recovered =
            testing::decode_transaction(testing::bytes_at(vector, "raw")).value();
        EXPECT_EQ(recovered.transaction, transaction_from(vector));
        EXPECT_EQ(crypto::to_checksum(recovered.from), testing::text_at(vector, "from"));
        EXPECT_EQ(recovered.hash.hex(), testing::text_at(vector, "hash"));
    }
}

TEST(Transaction, AFlippedBitNeverKeepsContentAndSender) {
    const auto& vector = testing::ethereum_vectors().at("transactions").as_array().at(2);
    const auto good = testing::decode_transaction(testing::bytes_at(vector, "raw")).value();
    Bytes raw = testing::bytes_at(vector, "raw");
    for (std::size_t bit = 0; bit < raw.size() * 8; ++bit) {
        raw[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
        const auto decoded = testing::decode_transaction(raw);
        EXPECT_FALSE(decoded.ok() && decoded->from == good.from &&
                     decoded->transaction == good.transaction)
            << "bit " << bit;
        raw[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    }
}

TEST(Transaction, RefusesOtherTypesAndAccessLists) {
    EXPECT_FALSE(testing::decode_transaction({}).ok());
    EXPECT_FALSE(testing::decode_transaction(Bytes{0x01, 0xc0}).ok());
    EXPECT_FALSE(testing::decode_transaction(Bytes{0x02, 0xc0}).ok());
    const auto& vector = testing::ethereum_vectors().at("transactions").as_array().at(0);
    const Bytes raw = testing::bytes_at(vector, "raw");
    RlpItem fields = testing::rlp_decode(ByteView(raw).subspan(1)).value();
    fields.items[8] = RlpItem::list({RlpItem::list({})});
    Bytes altered = rlp_encode(fields);
    altered.insert(altered.begin(), 2);
    EXPECT_EQ(testing::decode_transaction(altered).error().code, ErrorCode::kMalformed);
}

TEST(Transaction, ContractAddressesAgreeWithCast) {
    for (const auto& vector : testing::ethereum_vectors().at("transactions").as_array())
        EXPECT_EQ(crypto::to_checksum(created_address(testing::fixed_at<Address>(vector, "from"),
                                                      amount_at(vector, "nonce").to_u64().value())),
                  testing::text_at(vector, "created"));
}

}  // namespace
}  // namespace gym::chain
