#pragma once

#include <cstdint>
#include <memory>

#include "gym/chain/client.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"

namespace gym::coordinator {

/// What a worker stands to lose. An interface, so that rules are tested without a chain.
class StakePort {
  public:
    virtual ~StakePort() = default;
    /// What backs the worker's next unit: neither thawing nor withdrawn; open games do not matter.
    /// @errors kUnavailable or kTimeout when the chain does not answer, kNotFound without the
    /// contract.
    [[nodiscard]] virtual Result<Amount> active_stake(const Address& worker) = 0;
};

/// Over the Stake contract at the head of the chain. An answer is kept for `fresh_ms`, so that many
/// rounds and questions do not become as many calls. References must outlive it; thread-safe.
[[nodiscard]] std::unique_ptr<StakePort> make_evm_stake(chain::ChainClient& client,
                                                        const Address& stake, const Clock& clock,
                                                        std::int64_t fresh_ms);

}  // namespace gym::coordinator
