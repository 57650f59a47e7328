#pragma once

#include <string>

#include "gym/chain/intent_store.hpp"

namespace gym::chain {

/// An intent as messages name it.
inline std::string named(const Intent& intent) {
    return "intent '" + intent.request.id + "' (" + intent.request.label + ")";
}

/// True for failures that pass by themselves.
inline bool try_later(const Error& error) {
    return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout;
}

}  // namespace gym::chain
