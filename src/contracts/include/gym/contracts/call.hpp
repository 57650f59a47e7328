#pragma once

#include <string>
#include <vector>

#include "gym/chain/intent_store.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"

// Bindings of the contracts in contracts/src, which contracts/README.md describes: one class each
// with its calls as data to send, its views and its events. Amounts are base units of the token.
// Views: @errors as ChainClient; kConflict with the decoded revert; kNotFound if there is no
// contract at the address. Events: nullopt for a log of another kind or contract, @errors
// kMalformed for a log that has the kind but not the form.
namespace gym::contracts {

/// A contract call that waits for a sender.
struct ContractCall {
    Address to;
    Bytes data;
    std::string label;
    Amount value_wei = {};

    [[nodiscard]] chain::IntentRequest intent(std::string id) const;
};

/// Turns revert data of our contracts (and Error(string), Panic(uint256)) into
/// "InsufficientBalance(owner=0x.., balance=5, amount=6)"; unknown data into its hexadecimal form.
[[nodiscard]] std::string describe_revert(ByteView revert_data);

/// Every custom error that describe_revert knows, as signatures with parameter names.
[[nodiscard]] const std::vector<std::string>& known_errors();

}  // namespace gym::contracts
