#pragma once

#include "cli/network_options.hpp"
#include "gym/common/result.hpp"
#include "gym/plan/order_signer.hpp"

namespace gym::app {

/// Who signs a job's orders, and for which network.
struct OrderOptions {
    KeyOptions keys;
    ChainOptions chain;  ///< its deployment alone

    void add_to(CLI::App& command);
};

/// @errors those of the keystore and of ChainOptions::contracts().
[[nodiscard]] Result<plan::OrderSigner> open_order_signer(const OrderOptions& options);

}  // namespace gym::app
