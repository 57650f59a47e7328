#pragma once

#include <cstdint>
#include <memory>

#include "gym/chain/client.hpp"
#include "gym/common/clock.hpp"
#include "gym/coordinator/stake_port.hpp"

namespace gym::coordinator {

/// Over the Stake contract at the head of the chain. An answer is kept for `fresh_ms`, so that many
/// rounds and questions do not become as many calls. References must outlive it; thread-safe.
[[nodiscard]] std::unique_ptr<StakePort> make_evm_stake(chain::ChainClient& client,
                                                        const Address& stake, const Clock& clock,
                                                        std::int64_t fresh_ms);

}  // namespace gym::coordinator
