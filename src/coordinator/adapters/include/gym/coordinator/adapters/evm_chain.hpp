#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "gym/chain/client.hpp"
#include "gym/chain/tx_manager.hpp"
#include "gym/common/bytes.hpp"
#include "gym/coordinator/adapters/drand_relays.hpp"
#include "gym/coordinator/chain_port.hpp"

namespace gym::coordinator {

struct EvmContracts {
    Address commitment_log;
    std::optional<Address> dispute_game;  ///< absent: the network plays no games
};

/// The chain port over CommitmentLog and DisputeGame. Posted records are read back from the
/// contract itself, at the head less `confirmations` blocks. References must outlive it; calls are
/// serialised.
/// @param relays of the drand chain, where the CommitmentLog names a DrandBeacon: the port proves
/// on chain what they give. Without them it waits until somebody else does.
[[nodiscard]] std::unique_ptr<ChainPort> make_evm_chain(chain::ChainClient& client,
                                                        chain::TxManager& transactions,
                                                        const EvmContracts& contracts,
                                                        std::uint32_t confirmations,
                                                        DrandRelays* relays = nullptr);

}  // namespace gym::coordinator
