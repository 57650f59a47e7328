#pragma once

#include <vector>

#include "gym/chain/follower_store.hpp"
#include "gym/chain/intent_store.hpp"

// Shared by both stores: how topics are kept in one column, and the rules that need no database.

namespace gym::chain_store {

/// Topics joined, 32 bytes each.
inline Bytes join_topics(const std::vector<Digest>& topics) {
    Bytes out;
    for (const Digest& topic : topics)
        out.insert(out.end(), topic.data.begin(), topic.data.end());
    return out;
}

inline std::vector<Digest> split_topics(ByteView joined) {
    std::vector<Digest> out;
    for (; joined.size() >= Digest::kSize; joined = joined.subspan(Digest::kSize))
        out.push_back(Digest::from(joined.first(Digest::kSize)).value());
    return out;
}

/// True if `again` asks for the same thing as what is stored under its id; the label may differ.
inline bool same_request(const chain::IntentRequest& stored, const chain::IntentRequest& again) {
    return stored.to == again.to && stored.value_wei == again.value_wei &&
           stored.data == again.data && stored.gas_limit == again.gas_limit;
}

inline Error other_request(const std::string& id) {
    return fail(ErrorCode::kConflict,
                "intent '" + id + "' exists with another recipient, value, data or gas limit");
}

inline Error no_intent(const std::string& id) {
    return fail(ErrorCode::kNotFound, "no intent '" + id + "'");
}

inline Error not_in_state(const std::string& id, const char* expected) {
    return fail(ErrorCode::kConflict, "intent '" + id + "' is no longer " + expected);
}

/// A repeat of the settlement that is stored, or a contradiction to it.
inline Status check_settled(const chain::Intent& intent, const chain::Outcome& outcome) {
    if (intent.state == outcome.state && intent.outcome &&
        intent.outcome->transaction_hash == outcome.transaction_hash)
        return {};
    return fail(ErrorCode::kConflict, "intent '" + intent.request.id + "' is settled as " +
                                          std::string(chain::to_string(intent.state)));
}

/// `blocks` must be a chain of its own that continues at `tip`. @errors kConflict.
inline Status check_continues(const std::optional<chain::FollowedBlock>& tip,
                              const std::vector<chain::BlockWithLogs>& blocks) {
    const chain::FollowedBlock* before = tip ? &*tip : nullptr;
    for (const chain::BlockWithLogs& entry : blocks) {
        const chain::FollowedBlock& block = entry.block;
        if (before != nullptr &&
            (block.number != before->number + 1 || block.parent_hash != before->hash))
            return fail(ErrorCode::kConflict, "block " + std::to_string(block.number) +
                                                  " does not follow the stored tip");
        before = &block;
    }
    return {};
}

}  // namespace gym::chain_store
