#include <array>

#include "gym/chain/follower_store.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::chain {
namespace {

constexpr std::array<std::pair<IntentState, std::string_view>, 7> kStates{{
    {IntentState::kQueued, "queued"},
    {IntentState::kSigned, "signed"},
    {IntentState::kDone, "done"},
    {IntentState::kReverted, "reverted"},
    {IntentState::kRejected, "rejected"},
    {IntentState::kCancelled, "cancelled"},
    {IntentState::kSuperseded, "superseded"},
}};

}  // namespace

std::string_view to_string(IntentState state) noexcept {
    for (const auto& [known, name] : kStates)
        if (known == state) return name;
    return "unknown";
}

Result<IntentState> parse_intent_state(std::string_view text) {
    for (const auto& [state, name] : kStates)
        if (name == text) return state;
    return fail(ErrorCode::kMalformed, "unknown intent state '" + std::string(text) + "'");
}

bool is_settled(IntentState state) noexcept {
    return state != IntentState::kQueued && state != IntentState::kSigned;
}

Digest LogKey::digest() const {
    const Amount chain(chain_id);
    const Amount index(log_index);
    const auto chain_word = chain.to_be32();
    const auto index_word = index.to_be32();
    return crypto::keccak256(
        {as_bytes("gym.chain.log"), chain_word, block_hash.view(), index_word});
}

}  // namespace gym::chain
