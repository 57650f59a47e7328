#pragma once

#include <cstdint>
#include <optional>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"

namespace gym::chain {

/// A transaction of type 2 (EIP-1559) with an empty access list.
struct Transaction {
    std::uint64_t chain_id = 0;
    std::uint64_t nonce = 0;
    Amount priority_fee_wei;  ///< max_priority_fee_per_gas
    Amount fee_max_wei;       ///< max_fee_per_gas
    std::uint64_t gas_limit = 0;
    std::optional<Address> to;  ///< absent: creates a contract
    Amount value_wei;
    Bytes data;
    friend bool operator==(const Transaction&, const Transaction&) = default;
};

struct SignedTransaction {
    Bytes raw;    ///< what eth_sendRawTransaction takes
    Digest hash;  ///< the transaction's identity on chain
};

/// Signs with `key`; deterministic. Thread-safe.
[[nodiscard]] SignedTransaction sign_transaction(const Transaction& transaction,
                                                 const crypto::PrivateKey& key);

/// Where a contract created by `from` with `nonce` lives.
[[nodiscard]] Address created_address(const Address& from, std::uint64_t nonce);

}  // namespace gym::chain
