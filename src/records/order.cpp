#include "gym/records/order.hpp"

#include <string>

#include "gym/commit/sha256.hpp"
#include "gym/common/assert.hpp"

namespace gym::records {
namespace {

std::string name_of(const OrderNetwork& network) {
    return "chain " + std::to_string(network.chain_id) + ", JobEscrow " + network.escrow.hex();
}

template <class Order>
OrderSeal seal(const OrderNetwork& network, const Order& order, const crypto::PrivateKey& key) {
    GYM_ASSERT(key.address() == order.owner, "an order is signed by its owner");
    return {network, order.expiry_s, key.sign_digest(order_digest(network, order))};
}

template <class Order>
Status check(const OrderNetwork& network, Order order, const OrderSeal& seal) {
    if (seal.network != network)
        return fail(ErrorCode::kMismatch, "the order is signed for " + name_of(seal.network) +
                                              ", this network is " + name_of(network) +
                                              ": check --deployment and --api");
    order.expiry_s = seal.expiry_s;
    const auto signer = crypto::recover_address(order_digest(network, order), seal.signature);
    if (signer.ok() && *signer == order.owner) return {};
    return fail(
        ErrorCode::kPermissionDenied,
        "the order is not signed by its owner " + order.owner.hex() + ": " +
            (signer.ok() ? "over this very request, the signature is that of " + signer->hex()
                         : "its signature is not one") +
            "; sign with the owner's keystore (--keystore)");
}

}  // namespace

crypto::Eip712Domain order_domain(const OrderNetwork& network) {
    return {"Gym JobEscrow", "1", network.chain_id, network.escrow};
}

Digest spec_digest(std::string_view text) {
    return commit::sha256(as_bytes(text));
}

Digest order_nonce(std::string_view idempotency_key) {
    return commit::sha256(as_bytes(idempotency_key));
}

JobOrder job_order(const OrderTerms& terms, std::string_view text, const Address& owner,
                   const Digest& nonce) {
    return {.owner = owner,
            .spec = spec_digest(text),
            .datasets = terms.datasets,
            .budget_wei = terms.budget_wei,
            .price_wei_per_pflop = terms.price_wei_per_pflop,
            .max_data_price_wei = terms.max_data_price_wei,
            .nonce = nonce};
}

Digest order_digest(const OrderNetwork& network, const JobOrder& order) {
    Bytes datasets;
    datasets.reserve(order.datasets.size() * sizeof(Digest));
    for (const Digest& root : order.datasets)
        datasets.insert(datasets.end(), root.data.begin(), root.data.end());
    crypto::StructHasher hasher(
        "JobOrder(address owner,bytes32 spec,bytes32[] datasets,uint256 budget,uint256 "
        "pricePerPflop,uint256 maxDataPrice,bytes32 nonce,uint64 expiry)");
    hasher.address(order.owner).bytes32(order.spec).bytes(datasets).uint256(order.budget_wei);
    hasher.uint256(order.price_wei_per_pflop).uint256(order.max_data_price_wei);
    hasher.bytes32(order.nonce).uint(order.expiry_s);
    return crypto::typed_data_digest(order_domain(network), hasher.finish());
}

Digest order_digest(const OrderNetwork& network, const JobFunding& funding) {
    crypto::StructHasher hasher(
        "JobFunding(address owner,bytes32 job,uint256 amount,bytes32 nonce,uint64 expiry)");
    hasher.address(funding.owner).bytes32(funding.job).uint256(funding.amount_wei);
    hasher.bytes32(funding.nonce).uint(funding.expiry_s);
    return crypto::typed_data_digest(order_domain(network), hasher.finish());
}

OrderSeal seal_order(const OrderNetwork& network, const JobOrder& order,
                     const crypto::PrivateKey& key) {
    return seal(network, order, key);
}
OrderSeal seal_order(const OrderNetwork& network, const JobFunding& funding,
                     const crypto::PrivateKey& key) {
    return seal(network, funding, key);
}

Status check_seal(const OrderNetwork& network, const JobOrder& order, const OrderSeal& seal) {
    return check(network, order, seal);
}
Status check_seal(const OrderNetwork& network, const JobFunding& funding, const OrderSeal& seal) {
    return check(network, funding, seal);
}

Status check_expiry(const OrderSeal& seal, UnixMs now_ms) {
    const auto now_s = static_cast<std::uint64_t>(now_ms / 1000);
    if (seal.expiry_s < now_s)
        return fail(ErrorCode::kInvalidArgument,
                    "the order expired at " + std::to_string(seal.expiry_s) + ", it is " +
                        std::to_string(now_s) + " (Unix seconds): sign it again");
    if (seal.expiry_s - now_s <= kOrderLifetimeSecondsMax) return {};
    return fail(ErrorCode::kInvalidArgument,
                "the order expires in " + std::to_string(seal.expiry_s - now_s) +
                    " s, more than the " + std::to_string(kOrderLifetimeSecondsMax) +
                    " that are allowed");
}

}  // namespace gym::records
