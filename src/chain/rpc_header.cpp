#include "gym/chain/rlp.hpp"
#include "gym/crypto/keccak.hpp"
#include "rpc_parse.hpp"

// A header's hash commits to all of its fields. A node that changes one (an empty bloom filter, so
// that no one looks for logs) has to change the hash, and then the parent links and finality give
// it away.

namespace gym::chain {
namespace {

constexpr std::size_t kExtraDataBytesMax = 32;

enum class Kind { kDigest, kAddress, kBloom, kNumber, kNonce, kExtra };

struct Member {
    const char* name;
    Kind kind;
};

/// In the order of the hash: the yellow paper's, then one group for each later fork.
constexpr Member kMembers[] = {
    {"parentHash", Kind::kDigest},
    {"sha3Uncles", Kind::kDigest},
    {"miner", Kind::kAddress},
    {"stateRoot", Kind::kDigest},
    {"transactionsRoot", Kind::kDigest},
    {"receiptsRoot", Kind::kDigest},
    {"logsBloom", Kind::kBloom},
    {"difficulty", Kind::kNumber},
    {"number", Kind::kNumber},
    {"gasLimit", Kind::kNumber},
    {"gasUsed", Kind::kNumber},
    {"timestamp", Kind::kNumber},
    {"extraData", Kind::kExtra},
    {"mixHash", Kind::kDigest},
    {"nonce", Kind::kNonce},
    {"baseFeePerGas", Kind::kNumber},
};
constexpr Member kLaterMembers[] = {
    {"withdrawalsRoot", Kind::kDigest},        // EIP-4895
    {"blobGasUsed", Kind::kNumber},            // EIP-4844
    {"excessBlobGas", Kind::kNumber},          // EIP-4844
    {"parentBeaconBlockRoot", Kind::kDigest},  // EIP-4788
    {"requestsHash", Kind::kDigest},           // EIP-7685
};

template <class Fixed>
Result<RlpItem> fixed_item(const Fields& fields, const char* name) {
    GYM_TRY(const Fixed value, fields.fixed<Fixed>(name));
    return RlpItem::string(value.view());
}

Result<RlpItem> item(const Fields& fields, const Member& member) {
    using Nonce = FixedBytes<8, struct HeaderNonceTag>;
    switch (member.kind) {
        case Kind::kDigest:
            return fixed_item<Digest>(fields, member.name);
        case Kind::kAddress:
            return fixed_item<Address>(fields, member.name);
        case Kind::kBloom:
            return fixed_item<Bloom>(fields, member.name);
        case Kind::kNonce:
            return fixed_item<Nonce>(fields, member.name);
        case Kind::kNumber: {
            GYM_TRY(const Amount value, fields.amount(member.name));
            return RlpItem::number(value);
        }
        case Kind::kExtra: {
            GYM_TRY(const Bytes value, fields.bytes(member.name));
            if (value.size() > kExtraDataBytesMax)
                return fail(ErrorCode::kMalformed, "the node's reply: block.extraData is too long");
            return RlpItem::string(value);
        }
    }
    return fail(ErrorCode::kInternal, "a header's member of no kind");
}

Result<Digest> hash_of(const Fields& fields) {
    std::vector<RlpItem> items;
    for (const Member& member : kMembers) {
        GYM_TRY(RlpItem next, item(fields, member));
        items.push_back(std::move(next));
    }
    for (const Member& member : kLaterMembers) {
        if (fields.absent(member.name)) break;
        GYM_TRY(RlpItem next, item(fields, member));
        items.push_back(std::move(next));
    }
    return crypto::keccak256(rlp_encode(RlpItem::list(std::move(items))));
}

}  // namespace

Result<BlockHeader> parse_header(const boost::json::value& value, bool verify_hash) {
    GYM_TRY(const Fields fields, Fields::of(value, "block"));
    BlockHeader out;
    GYM_TRY(out.number, fields.u64("number"));
    GYM_TRY(out.hash, fields.fixed<Digest>("hash"));
    GYM_TRY(out.parent_hash, fields.fixed<Digest>("parentHash"));
    GYM_TRY(out.prevrandao, fields.fixed<Digest>("mixHash"));
    GYM_TRY(out.timestamp_s, fields.u64("timestamp"));
    GYM_TRY(out.base_fee_wei, fields.amount("baseFeePerGas"));
    GYM_TRY(out.gas_limit, fields.u64("gasLimit"));
    GYM_TRY(out.gas_used, fields.u64("gasUsed"));
    GYM_TRY(out.logs_bloom, fields.fixed<Bloom>("logsBloom"));
    GYM_TRY(out.receipts_root, fields.fixed<Digest>("receiptsRoot"));
    if (!verify_hash) return out;
    GYM_TRY(const Digest hash, hash_of(fields));
    if (hash != out.hash)
        return fail(ErrorCode::kMismatch,
                    "the node's header of block " + std::to_string(out.number) +
                        " does not hash to its block hash " + out.hash.hex() + " but to " +
                        hash.hex() +
                        ": a field is altered, or the chain's headers have fields that this "
                        "version does not know");
    return out;
}

}  // namespace gym::chain
