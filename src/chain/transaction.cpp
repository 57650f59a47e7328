#include "gym/chain/transaction.hpp"

#include <algorithm>

#include "gym/chain/rlp.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::chain {
namespace {

constexpr std::uint8_t kType = 2;

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

Address created_address(const Address& from, std::uint64_t nonce) {
    const Bytes encoded =
        rlp_encode(RlpItem::list({RlpItem::string(from.view()), RlpItem::number(nonce)}));
    const Digest hash = crypto::keccak256(encoded);
    Address out;
    std::copy(hash.data.begin() + 12, hash.data.end(), out.data.begin());
    return out;
}

}  // namespace gym::chain
