#include <algorithm>
#include <utility>

#include "gym/chain/client.hpp"
#include "gym/chain/rlp.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::chain {
namespace {

constexpr std::size_t kBloomBits = 2048;
constexpr std::size_t kEmbeddedMax = 31;  // a node shorter than a hash stands in its parent itself

/// A key's path in nibbles and its value, in the order of the paths.
struct Leaf {
    Bytes path;
    Bytes value;
};
using Leaves = std::span<const Leaf>;

Bytes nibbles(ByteView bytes) {
    Bytes out;
    for (const std::uint8_t byte : bytes) {
        out.push_back(byte >> 4);
        out.push_back(byte & 15);
    }
    return out;
}

/// Hex-prefix encoding: a flag for leaf and for odd length, then the path packed two nibbles a
/// byte.
RlpItem packed(ByteView path, bool is_leaf) {
    Bytes all{static_cast<std::uint8_t>((is_leaf ? 2 : 0) + path.size() % 2)};
    if (path.size() % 2 == 0) all.push_back(0);
    all.insert(all.end(), path.begin(), path.end());
    Bytes out;
    for (std::size_t i = 0; i < all.size(); i += 2)
        out.push_back(static_cast<std::uint8_t>(all[i] << 4 | all[i + 1]));
    return RlpItem::string(out);
}

RlpItem build(Leaves leaves, std::size_t depth);

/// How a parent refers to a child: the child itself if it is short, else its hash.
RlpItem reference(RlpItem node) {
    const Bytes encoded = rlp_encode(node);
    if (encoded.size() <= kEmbeddedMax) return node;
    return RlpItem::string(crypto::keccak256(encoded).view());
}

/// Children by the nibble at `depth`. No path ends here: RLP keys of one list are free of prefixes.
RlpItem branch(Leaves leaves, std::size_t depth) {
    std::vector<RlpItem> slots(17, RlpItem::string({}));
    for (std::size_t begin = 0; begin < leaves.size();) {
        GYM_ASSERT(leaves[begin].path.size() > depth, "no key is a prefix of another");
        const std::uint8_t nibble = leaves[begin].path[depth];
        std::size_t end = begin;
        while (end < leaves.size() && leaves[end].path[depth] == nibble)
            ++end;
        slots[nibble] = reference(build(leaves.subspan(begin, end - begin), depth + 1));
        begin = end;
    }
    return RlpItem::list(std::move(slots));
}

RlpItem build(Leaves leaves, std::size_t depth) {
    const ByteView first(leaves.front().path);
    if (leaves.size() == 1)
        return RlpItem::list(
            {packed(first.subspan(depth), true), RlpItem::string(leaves.front().value)});
    const ByteView last(leaves.back().path);  // sorted: what these two share, all share
    std::size_t shared = depth;
    while (shared < first.size() && shared < last.size() && first[shared] == last[shared])
        ++shared;
    if (shared == depth) return branch(leaves, depth);
    return RlpItem::list(
        {packed(first.subspan(depth, shared - depth), false), reference(branch(leaves, shared))});
}

Bytes encode_receipt(const ConsensusReceipt& receipt) {
    std::vector<RlpItem> logs;
    for (const Log& log : receipt.logs) {
        std::vector<RlpItem> topics;
        for (const Digest& topic : log.topics)
            topics.push_back(RlpItem::string(topic.view()));
        logs.push_back(
            RlpItem::list({RlpItem::string(log.address.view()), RlpItem::list(std::move(topics)),
                           RlpItem::string(log.data)}));
    }
    Bytes out = rlp_encode(RlpItem::list(
        {RlpItem::number(std::uint64_t{receipt.success}), RlpItem::number(receipt.cumulative_gas),
         RlpItem::string(receipt.bloom.view()), RlpItem::list(std::move(logs))}));
    if (receipt.type != 0) out.insert(out.begin(), receipt.type);
    return out;
}

}  // namespace

Digest receipts_root(const std::vector<ConsensusReceipt>& receipts) {
    if (receipts.empty()) return crypto::keccak256(rlp_encode(RlpItem::string({})));
    std::vector<Leaf> leaves;
    for (std::size_t i = 0; i < receipts.size(); ++i)
        leaves.push_back({nibbles(rlp_encode(RlpItem::number(i))), encode_receipt(receipts[i])});
    std::sort(leaves.begin(), leaves.end(),
              [](const Leaf& a, const Leaf& b) { return a.path < b.path; });
    return crypto::keccak256(rlp_encode(build(leaves, 0)));
}

bool bloom_may_contain(const Bloom& bloom, ByteView value) {
    const Digest hash = crypto::keccak256(value);
    for (std::size_t i = 0; i < 6; i += 2) {
        const std::size_t bit = (std::size_t{hash.data[i]} << 8 | hash.data[i + 1]) % kBloomBits;
        const std::uint8_t byte = bloom.data[Bloom::kSize - 1 - bit / 8];
        if ((byte >> (bit % 8) & 1) == 0) return false;
    }
    return true;
}

Status check_receipt(const BlockHeader& header, const std::vector<ConsensusReceipt>& receipts,
                     const Receipt& receipt) {
    const auto contradicts = [&](const std::string& what) {
        return fail(ErrorCode::kMismatch,
                    "the node's receipt of transaction " + receipt.transaction_hash.hex() +
                        " contradicts block " + std::to_string(header.number) + " (" +
                        header.hash.hex() + "): " + what);
    };
    if (receipts_root(receipts) != header.receipts_root)
        return contradicts("its receipts do not hash to the block's receipts root");
    const std::uint64_t at = receipt.transaction_index;
    if (at >= receipts.size())
        return contradicts("it has " + std::to_string(receipts.size()) + " transactions, not " +
                           std::to_string(at + 1));
    const ConsensusReceipt& there = receipts[at];
    if (there.success != receipt.success)
        return contradicts(there.success ? "there it succeeded" : "there it reverted");
    const std::uint64_t before = at == 0 ? 0 : receipts[at - 1].cumulative_gas;
    if (there.cumulative_gas - before != receipt.gas_used)
        return contradicts("there it used " + std::to_string(there.cumulative_gas - before) +
                           " gas, not " + std::to_string(receipt.gas_used));
    const bool same_logs =
        std::equal(there.logs.begin(), there.logs.end(), receipt.logs.begin(), receipt.logs.end(),
                   [](const Log& a, const Log& b) {
                       return a.address == b.address && a.topics == b.topics && a.data == b.data;
                   });
    return same_logs ? Status() : contradicts("there it has other logs");
}

}  // namespace gym::chain
