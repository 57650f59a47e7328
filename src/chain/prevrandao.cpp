#include "gym/chain/prevrandao.hpp"

#include <algorithm>
#include <set>

namespace gym::chain {
namespace {

enum class Weakness { kConstant, kKnownBefore, kNone };
struct KnownChain {
    std::uint64_t id;
    const char* name;
    Weakness weakness;
};
constexpr KnownChain kKnown[] = {
    {10, "OP Mainnet", Weakness::kKnownBefore},
    {56, "BNB Smart Chain", Weakness::kNone},
    {97, "BNB Smart Chain Testnet", Weakness::kNone},
    {130, "Unichain", Weakness::kKnownBefore},
    {137, "Polygon PoS", Weakness::kNone},
    {300, "zkSync Era Sepolia", Weakness::kConstant},
    {324, "zkSync Era", Weakness::kConstant},
    {480, "World Chain", Weakness::kKnownBefore},
    {1'101, "Polygon zkEVM", Weakness::kConstant},
    {2'442, "Polygon zkEVM Cardona", Weakness::kConstant},
    {5'000, "Mantle", Weakness::kKnownBefore},
    {8'453, "Base", Weakness::kKnownBefore},
    {34'443, "Mode", Weakness::kKnownBefore},
    {42'161, "Arbitrum One", Weakness::kConstant},
    {42'170, "Arbitrum Nova", Weakness::kConstant},
    {43'113, "Avalanche Fuji", Weakness::kNone},
    {43'114, "Avalanche C-Chain", Weakness::kNone},
    {59'144, "Linea", Weakness::kNone},
    {80'002, "Polygon Amoy", Weakness::kNone},
    {81'457, "Blast", Weakness::kKnownBefore},
    {84'532, "Base Sepolia", Weakness::kKnownBefore},
    {421'614, "Arbitrum Sepolia", Weakness::kConstant},
    {534'351, "Scroll Sepolia", Weakness::kConstant},
    {534'352, "Scroll", Weakness::kConstant},
    {7'777'777, "Zora", Weakness::kKnownBefore},
    {11'155'420, "OP Sepolia", Weakness::kKnownBefore},
};

const char* text_of(Weakness weakness) {
    switch (weakness) {
        case Weakness::kConstant:
            return "where it is always the same";
        case Weakness::kKnownBefore:
            return "where the sequencer knows it before, and blocks repeat the one of layer 1";
        case Weakness::kNone:
            return "whose consensus has none";
    }
    return "";
}

constexpr const char* kInstead =
    ": a party that knows it beforehand can cheat where nothing will be checked. Deploy with "
    "`randomness: drand` in contracts.yaml";

bool is_trivial(const Digest& value) {
    constexpr std::size_t kHalf = Digest::kSize / 2;
    const auto zero = [](std::uint8_t byte) { return byte == 0; };
    return std::all_of(value.data.begin(), value.data.begin() + kHalf, zero) ||
           std::all_of(value.data.begin() + kHalf, value.data.end(), zero);
}

Error refused(const std::string& what) {
    return fail(ErrorCode::kInvalidArgument, what + kInstead);
}

}  // namespace

std::optional<std::string> weak_prevrandao(std::uint64_t chain_id) {
    const auto* const known = std::ranges::find(kKnown, chain_id, &KnownChain::id);
    if (known == std::end(kKnown)) return std::nullopt;
    return std::string(known->name) + ", " + text_of(known->weakness);
}

Status check_prevrandao(ChainClient& client) {
    GYM_TRY(const std::uint64_t id, client.chain_id());
    const std::string name = "prevrandao of chain " + std::to_string(id) + " is not random";
    if (const auto why = weak_prevrandao(id)) return refused(name + " (" + *why + ")");
    GYM_TRY(const auto head, client.block(BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the node has no latest block");
    // The first block is made by hand.
    if (head->number < 2) return {};
    const auto count =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(head->number, kPrevrandaoBlocks));
    GYM_TRY(const auto blocks, client.blocks(head->number - count + 1, count));
    std::set<Digest> seen;
    for (const BlockHeader& block : blocks) {
        const std::string at =
            " (block " + std::to_string(block.number) + " has " + block.prevrandao.hex();
        if (is_trivial(block.prevrandao)) return refused(name + at + ")");
        if (!seen.insert(block.prevrandao).second)
            return refused(name + at + ", as one before it has)");
    }
    return {};
}

}  // namespace gym::chain
