#pragma once

#include "gym/rewards/settlement_chain.hpp"

namespace gym::testing {

/// A chain that locks every order at once, for tests that end there.
class LockingChain final : public rewards::SettlementChain {
  public:
    using Status = Result<rewards::OrderStatus>;
    Status lock(const std::string&, const registry::StoredOrder&) override {
        return rewards::OrderStatus{rewards::OrderState::kDone, ""};
    }
    Status unlock(const std::string&, const rewards::UnlockOrder&) override { return absent(); }
    Status release(const std::string&, const rewards::ReleaseOrder&) override { return absent(); }
    Status submit_root(const std::string&, const rewards::RootOrder&) override { return absent(); }
    Status show_leaf(const std::string&, const rewards::LeafOrder&) override { return absent(); }
    Result<rewards::Holdings> holdings(std::uint64_t) override { return absent(); }
    Result<rewards::PayoutLimits> limits() override { return absent(); }

  private:
    static Error absent() { return fail(ErrorCode::kUnavailable, "the test has no contracts"); }
};

}  // namespace gym::testing
