#pragma once

#include <string>

#include "cli/network_options.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/records/order.hpp"

namespace gym::app {

/// Who signs a job's orders, and for which network. The network comes from a file that the user
/// chose, never from the API: whoever names the escrow names the money.
struct OrderOptions {
    KeyOptions keys;
    ChainOptions chain;  ///< its deployment alone

    void add_to(CLI::App& command);
};

/// The owner's key and the network whose money its orders spend.
struct OrderSigner {
    crypto::PrivateKey key;
    records::OrderNetwork network;

    /// Of a job's text as it is submitted. @errors those of registry::parse_submitted_spec().
    [[nodiscard]] Result<records::OrderSeal> seal_job(const std::string& yaml,
                                                      const std::string& idempotency_key,
                                                      UnixMs now_ms) const;
    [[nodiscard]] records::OrderSeal seal_funding(const Digest& job, const Amount& amount,
                                                  const std::string& idempotency_key,
                                                  UnixMs now_ms) const;
};
/// @errors those of the keystore and of ChainOptions::contracts().
[[nodiscard]] Result<OrderSigner> open_order_signer(const OrderOptions& options);

}  // namespace gym::app
