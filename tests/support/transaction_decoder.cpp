#include "transaction_decoder.hpp"

#include <algorithm>
#include <vector>

#include "gym/crypto/keccak.hpp"
#include "rlp_decoder.hpp"

namespace gym::testing {
namespace {

constexpr std::uint8_t kType = 2;
constexpr std::size_t kFields = 9;
constexpr std::size_t kSignedFields = kFields + 3;

Error malformed(const char* why) {
    return fail(ErrorCode::kMalformed, std::string("transaction: ") + why);
}

Result<chain::Transaction> parse_fields(const std::vector<chain::RlpItem>& items) {
    chain::Transaction tx;
    GYM_TRY(tx.chain_id, to_u64(items[0]));
    GYM_TRY(tx.nonce, to_u64(items[1]));
    GYM_TRY(tx.priority_fee_wei, to_amount(items[2]));
    GYM_TRY(tx.fee_max_wei, to_amount(items[3]));
    GYM_TRY(tx.gas_limit, to_u64(items[4]));
    if (items[5].is_list || items[7].is_list) return malformed("a list in place of bytes");
    if (!items[5].bytes.empty()) {
        GYM_TRY(tx.to, Address::from(items[5].bytes));
    }
    GYM_TRY(tx.value_wei, to_amount(items[6]));
    tx.data = items[7].bytes;
    if (!items[8].is_list || !items[8].items.empty())
        return malformed("an access list, which we never send");
    return tx;
}

Result<crypto::Signature> parse_signature(const std::vector<chain::RlpItem>& items) {
    GYM_TRY(const std::uint64_t y_parity, to_u64(items[kFields]));
    GYM_TRY(const Amount r, to_amount(items[kFields + 1]));
    GYM_TRY(const Amount s, to_amount(items[kFields + 2]));
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

Result<RecoveredTransaction> decode_transaction(ByteView raw) {
    if (raw.empty() || raw[0] != kType) return malformed("not of type 2");
    GYM_TRY(const chain::RlpItem list, rlp_decode(raw.subspan(1)));
    if (!list.is_list || list.items.size() != kSignedFields)
        return malformed("not a list of 12 fields");
    RecoveredTransaction out;
    GYM_TRY(out.transaction, parse_fields(list.items));
    GYM_TRY(const crypto::Signature signature, parse_signature(list.items));
    const std::vector<chain::RlpItem> unsigned_fields(
        list.items.begin(), list.items.begin() + static_cast<std::ptrdiff_t>(kFields));
    Bytes envelope = chain::rlp_encode(chain::RlpItem::list(unsigned_fields));
    envelope.insert(envelope.begin(), kType);
    const Digest digest = crypto::keccak256(envelope);
    GYM_TRY(out.from, crypto::recover_address(digest, signature));
    out.hash = crypto::keccak256(raw);
    return out;
}

}  // namespace gym::testing
