#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/crypto/key.hpp"

/// What the owner of a job signs before money is spent (docs/PROTOCOL.md, "Orders"): EIP-712
/// structures in the domain of the chain and the JobEscrow that holds the money. Pure functions.
namespace gym::records {

/// The network whose money an order spends.
struct OrderNetwork {
    std::uint64_t chain_id = 0;
    Address escrow;

    friend bool operator==(const OrderNetwork&, const OrderNetwork&) = default;
};
/// name "Gym JobEscrow", version "1", the chain, the contract.
[[nodiscard]] crypto::Eip712Domain order_domain(const OrderNetwork& network);

/// JobOrder(address owner,bytes32 spec,bytes32[] datasets,uint256 budget,uint256 pricePerPflop,
/// uint256 maxDataPrice,bytes32 nonce,uint64 expiry)
struct JobOrder {
    Address owner;
    Digest spec;                   ///< spec_digest() of the job's text
    std::vector<Digest> datasets;  ///< roots, in the order of the text
    Amount budget_wei;
    Amount price_wei_per_pflop;
    Amount max_data_price_wei;   ///< for a million tokens of text
    Digest nonce;                ///< order_nonce(); an owner uses each once
    std::uint64_t expiry_s = 0;  ///< Unix seconds; the order is not accepted later
};
/// JobFunding(address owner,bytes32 job,uint256 amount,bytes32 nonce,uint64 expiry): more budget.
struct JobFunding {
    Address owner;
    Digest job;
    Amount amount_wei;
    Digest nonce;
    std::uint64_t expiry_s = 0;
};

/// SHA-256 of the job's text, byte for byte as it is submitted.
[[nodiscard]] Digest spec_digest(std::string_view text);
/// SHA-256 of the request's idempotency key: what is sent twice is one order.
[[nodiscard]] Digest order_nonce(std::string_view idempotency_key);

/// What a JobOrder repeats of its text, so that the signature can be checked before the text is
/// read.
struct OrderTerms {
    std::vector<Digest> datasets;  ///< roots, in the order of the text
    Amount budget_wei;
    Amount price_wei_per_pflop;
    Amount max_data_price_wei;

    friend bool operator==(const OrderTerms&, const OrderTerms&) = default;
};
/// The order that these terms, a text and the request that brings it make. Without an expiry.
[[nodiscard]] JobOrder job_order(const OrderTerms& terms, std::string_view text,
                                 const Address& owner, const Digest& nonce);

/// What is signed.
[[nodiscard]] Digest order_digest(const OrderNetwork& network, const JobOrder& order);
[[nodiscard]] Digest order_digest(const OrderNetwork& network, const JobFunding& funding);

/// What goes along with a request whose other members the receiver knows from the request itself.
struct OrderSeal {
    OrderNetwork network;
    std::uint64_t expiry_s = 0;
    crypto::Signature signature;

    friend bool operator==(const OrderSeal&, const OrderSeal&) = default;
};

/// What goes along with a job's text.
struct SealedTerms {
    OrderTerms terms;
    OrderSeal seal;
};

/// Signs with the owner's key, whose address must be the order's owner (GYM_ASSERT).
[[nodiscard]] OrderSeal seal_order(const OrderNetwork& network, const JobOrder& order,
                                   const crypto::PrivateKey& key);
[[nodiscard]] OrderSeal seal_order(const OrderNetwork& network, const JobFunding& funding,
                                   const crypto::PrivateKey& key);

/// How long ahead an order may expire, and how long ours are valid.
inline constexpr std::uint64_t kOrderLifetimeSecondsMax = 604'800;  // a week
inline constexpr std::uint64_t kOrderLifetimeSeconds = 3'600;

/// That the seal is the owner's over this order on this network. Says nothing about time.
/// @errors kMismatch for another chain or escrow, kPermissionDenied for another signer: naming
/// both.
[[nodiscard]] Status check_seal(const OrderNetwork& network, const JobOrder& order,
                                const OrderSeal& seal);
[[nodiscard]] Status check_seal(const OrderNetwork& network, const JobFunding& funding,
                                const OrderSeal& seal);
/// @errors kInvalidArgument for an order that has expired, or would be valid for too long.
[[nodiscard]] Status check_expiry(const OrderSeal& seal, UnixMs now_ms);

}  // namespace gym::records
