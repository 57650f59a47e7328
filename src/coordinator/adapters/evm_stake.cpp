#include "gym/coordinator/adapters/evm_stake.hpp"

#include <map>
#include <mutex>

#include "gym/chain/client.hpp"
#include "gym/contracts/stake.hpp"

namespace gym::coordinator {
namespace {

/// Answers that are kept: more workers than any network has, and a bound for made-up addresses.
constexpr std::size_t kKeptMax = 100'000;

class EvmStake final : public StakePort {
  public:
    EvmStake(chain::ChainClient& client, const Address& stake, const Clock& clock,
             std::int64_t fresh_ms)
        : client_(client), stake_(stake), clock_(clock), fresh_ms_(fresh_ms) {}

    Result<Amount> active_stake(const Address& worker) override {
        const std::lock_guard lock(mutex_);
        const UnixMs now_ms = clock_.now_ms();
        const auto known = kept_.find(worker);
        if (known != kept_.end() && now_ms - known->second.read_at_ms < fresh_ms_)
            return known->second.active;
        GYM_TRY(const contracts::Stake::Holding holding, stake_.stake_of(client_, worker));
        if (kept_.size() >= kKeptMax) kept_.clear();
        kept_.insert_or_assign(worker, Kept{holding.active, now_ms});
        return holding.active;
    }

  private:
    struct Kept {
        Amount active;
        UnixMs read_at_ms = 0;
    };
    std::mutex mutex_;
    chain::ChainClient& client_;
    contracts::Stake stake_;
    const Clock& clock_;
    std::int64_t fresh_ms_;
    std::map<Address, Kept> kept_;
};

}  // namespace

std::unique_ptr<StakePort> make_evm_stake(chain::ChainClient& client, const Address& stake,
                                          const Clock& clock, std::int64_t fresh_ms) {
    return std::make_unique<EvmStake>(client, stake, clock, fresh_ms);
}

}  // namespace gym::coordinator
