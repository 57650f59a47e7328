#include "wallet/deposit_credit.hpp"

#include <chrono>
#include <thread>

namespace gym::app {
namespace {

constexpr std::chrono::milliseconds kPollEvery{500};

}  // namespace

DepositCredit::DepositCredit(const ApiOptions& api, const Address& owner) : owner_(owner) {
    if (const auto url = api.named_url()) {
        api_.emplace(client::ApiClient({.url = *url, .key = {}}));
        before_ = available();
    }
}

std::optional<Amount> DepositCredit::available() const {
    const auto account = api_->account(owner_);
    return account.ok() ? std::optional((*account)->available) : std::nullopt;
}

std::optional<bool> DepositCredit::wait(const Amount& amount, std::uint64_t wait_s) const {
    if (!before_ || wait_s == 0) return std::nullopt;
    const auto wanted = sum_of(*before_, amount);
    if (!wanted) return std::nullopt;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(wait_s);
    for (;;) {
        const auto now = available();
        if (!now) return false;
        if (*now >= *wanted) return true;
        if (std::chrono::steady_clock::now() >= end) return false;
        std::this_thread::sleep_for(kPollEvery);
    }
}

}  // namespace gym::app
