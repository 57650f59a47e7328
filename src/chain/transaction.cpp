#include "gym/chain/transaction.hpp"

#include <algorithm>

#include "gym/chain/rlp.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::chain {
namespace {

constexpr std::uint8_t kType = 2;
constexpr std::size_t kFields = 9;
constexpr std::size_t kSignedFields = kFields + 3;

std::vector<RlpItem> fields_of(const Transaction& tx) {
    return {RlpItem::number(tx.chain_id),
            RlpItem::number(tx.nonce),
            RlpItem::number(tx.priority_fee_wei),
            RlpItem::number(tx.fee_max_wei),
            RlpItem::number(tx.gas_limit),
            RlpItem::string(tx.to ? tx.to->view() : ByteView()),
            RlpItem::number(tx.value_wei),
            RlpItem::string(tx.data),
            RlpItem::list({})};
}

Bytes envelope(std::vector<RlpItem> fields) {
    Bytes out = rlp_encode(RlpItem::list(std::move(fields)));
    out.insert(out.begin(), kType);
    return out;
}

Amount word_at(const crypto::Signature& signature, std::size_t offset) {
    std::array<std::uint8_t, 32> word{};
    std::copy_n(signature.data.begin() + static_cast<std::ptrdiff_t>(offset), 32, word.begin());
    return Amount::from_be32(word);
}

Error malformed(const char* why) {
    return fail(ErrorCode::kMalformed, std::string("transaction: ") + why);
}

Result<Transaction> parse_fields(const std::vector<RlpItem>& items) {
    Transaction tx;
    GYM_TRY(tx.chain_id, items[0].to_u64());
    GYM_TRY(tx.nonce, items[1].to_u64());
    GYM_TRY(tx.priority_fee_wei, items[2].to_amount());
    GYM_TRY(tx.fee_max_wei, items[3].to_amount());
    GYM_TRY(tx.gas_limit, items[4].to_u64());
    if (items[5].is_list || items[7].is_list) return malformed("a list in place of bytes");
    if (!items[5].bytes.empty()) {
        GYM_TRY(tx.to, Address::from(items[5].bytes));
    }
    GYM_TRY(tx.value_wei, items[6].to_amount());
    tx.data = items[7].bytes;
    if (!items[8].is_list || !items[8].items.empty())
        return malformed("an access list, which we never send");
    return tx;
}

Result<crypto::Signature> parse_signature(const std::vector<RlpItem>& items) {
    GYM_TRY(const std::uint64_t y_parity, items[kFields].to_u64());
    GYM_TRY(const Amount r, items[kFields + 1].to_amount());
    GYM_TRY(const Amount s, items[kFields + 2].to_amount());
    if (y_parity > 1) return malformed("y parity is neither 0 nor 1");
    crypto::Signature out;
    const auto r_bytes = r.to_be32();
    const auto s_bytes = s.to_be32();
    std::copy(r_bytes.begin(), r_bytes.end(), out.data.begin());
    std::copy(s_bytes.begin(), s_bytes.end(), out.data.begin() + 32);
    out.data[64] = static_cast<std::uint8_t>(27 + y_parity);
    return out;
}

}  // namespace

SignedTransaction sign_transaction(const Transaction& transaction, const crypto::PrivateKey& key) {
    std::vector<RlpItem> fields = fields_of(transaction);
    const crypto::Signature signature = key.sign_digest(crypto::keccak256(envelope(fields)));
    fields.push_back(RlpItem::number(std::uint64_t{signature.data[64]} - 27));
    fields.push_back(RlpItem::number(word_at(signature, 0)));
    fields.push_back(RlpItem::number(word_at(signature, 32)));
    SignedTransaction out;
    out.raw = envelope(std::move(fields));
    out.hash = crypto::keccak256(out.raw);
    return out;
}

Result<RecoveredTransaction> decode_transaction(ByteView raw) {
    if (raw.empty() || raw[0] != kType) return malformed("not of type 2");
    GYM_TRY(const RlpItem list, rlp_decode(raw.subspan(1)));
    if (!list.is_list || list.items.size() != kSignedFields)
        return malformed("not a list of 12 fields");
    RecoveredTransaction out;
    GYM_TRY(out.transaction, parse_fields(list.items));
    GYM_TRY(const crypto::Signature signature, parse_signature(list.items));
    const Digest digest = crypto::keccak256(envelope(fields_of(out.transaction)));
    GYM_TRY(out.from, crypto::recover_address(digest, signature));
    out.hash = crypto::keccak256(raw);
    return out;
}

Address created_address(const Address& from, std::uint64_t nonce) {
    const Bytes encoded =
        rlp_encode(RlpItem::list({RlpItem::string(from.view()), RlpItem::number(nonce)}));
    const Digest hash = crypto::keccak256(encoded);
    Address out;
    std::copy(hash.data.begin() + 12, hash.data.end(), out.data.begin());
    return out;
}

}  // namespace gym::chain
