#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/chain/abi.hpp"
#include "gym/chain/client.hpp"
#include "gym/chain/contracts.hpp"

// What every contract binding is made of. The signatures come from the bindings' own sources, so
// one that does not parse, or arguments that do not fit, are broken invariants and not errors.

namespace gym::chain {

/// An event or error as Solidity writes it: "Released(uint64 indexed epoch, address indexed owner,
/// uint256 amount)". A tuple is written with parentheses and without spaces: "(uint8,bytes32) a".
struct Declaration {
    AbiSignature signature;
    std::vector<std::string> names;
    std::vector<bool> indexed;

    static Declaration of(std::string_view text);
};

[[nodiscard]] Bytes call_data(std::string_view function, const std::vector<AbiValue>& arguments);
[[nodiscard]] ContractCall make_call(const Address& to, std::string_view function,
                                     const std::vector<AbiValue>& arguments, std::string label);

/// Calls a view and decodes its `outputs` ("(uint64,bytes32)"). @errors as stated in contracts.hpp.
[[nodiscard]] Result<std::vector<AbiValue>> call_view(ChainClient& client, const Address& contract,
                                                      const BlockId& at, std::string_view function,
                                                      const std::vector<AbiValue>& arguments,
                                                      std::string_view outputs);
/// A view with one uint256 or narrower output.
[[nodiscard]] Result<Amount> view_amount(ChainClient& client, const Address& contract,
                                         const BlockId& at, std::string_view function,
                                         const std::vector<AbiValue>& arguments);

/// The event's values in the order of its declaration. @errors kMalformed. The log's topic 0 fits
/// already.
[[nodiscard]] Result<std::vector<AbiValue>> decode_event(const Declaration& event, const Log& log);
/// True if `log` is this event of `contract`.
[[nodiscard]] bool is_event(const Declaration& event, const Address& contract, const Log& log);

}  // namespace gym::chain
