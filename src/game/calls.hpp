#pragma once

#include "gym/chain/abi.hpp"
#include "gym/common/bytes.hpp"

/// Functions of DisputeGame beside the moves.
namespace gym::game {

inline constexpr std::size_t kSelectorBytes = 4;

/// Of a text that is a signature.
chain::AbiSignature parsed_signature(const char* text);
/// @errors kNotFound: the call is another function's.
Status check_selector(const chain::AbiSignature& signature, ByteView calldata);

}  // namespace gym::game
