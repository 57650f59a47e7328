#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/network_options.hpp"

namespace gym::app {

/// Waits until the books of gym-api show a deposit, so that a job can be submitted right after it.
class DepositCredit {
  public:
    /// Reads what `owner` has before the deposit. Without a gym-api, or if it does not answer,
    /// nothing is waited for.
    DepositCredit(const ApiOptions& api, const Address& owner);

    /// @return true once `amount` more is available; false if it is not within `wait_s` seconds or
    /// gym-api stops to answer; absent where nothing could be compared or `wait_s` is 0.
    [[nodiscard]] std::optional<bool> wait(const Amount& amount, std::uint64_t wait_s) const;

  private:
    [[nodiscard]] std::optional<Amount> available() const;

    std::optional<client::ApiClient> api_;
    Address owner_;
    std::optional<Amount> before_;
};

}  // namespace gym::app
