#pragma once

#include <cstdint>
#include <memory>

#include "gym/chain/client.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/common/bytes.hpp"
#include "gym/coordinator/chain_port.hpp"

namespace gym::coordinator {

/// The chain port over the CommitmentLog contract. What was posted is asked of the contract itself,
/// at the head less `confirmations` blocks. References must outlive it; calls are serialised.
[[nodiscard]] std::unique_ptr<ChainPort> make_evm_chain(chain::ChainClient& client,
                                                        chain::TxManager& transactions,
                                                        const Address& commitment_log,
                                                        std::uint32_t confirmations);

}  // namespace gym::coordinator
