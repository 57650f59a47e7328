#pragma once

#include <map>
#include <span>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::coordinator {

/// Workers' stakes. An interface, so that rules are tested without a chain.
class StakePort {
  public:
    virtual ~StakePort() = default;
    /// Stake that backs each worker's next unit: neither thawing nor withdrawn, whatever games are
    /// open.
    /// @errors kUnavailable or kTimeout when the chain does not answer, kNotFound without the
    /// contract.
    [[nodiscard]] virtual Result<std::map<Address, Amount>> active_stakes(
        std::span<const Address> workers) = 0;
    [[nodiscard]] Result<Amount> active_stake(const Address& worker) {
        GYM_TRY(const auto stakes, active_stakes({&worker, 1}));
        return stakes.at(worker);
    }
};

}  // namespace gym::coordinator
