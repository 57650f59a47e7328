#pragma once

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
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

}  // namespace gym::coordinator
