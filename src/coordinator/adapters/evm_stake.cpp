#include "gym/coordinator/adapters/evm_stake.hpp"

#include <map>
#include <mutex>
#include <vector>

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

    Result<std::map<Address, Amount>> active_stakes(std::span<const Address> workers) override {
        std::map<Address, Amount> out;
        std::vector<Address> unknown;
        const UnixMs now_ms = clock_.now_ms();
        {
            const std::lock_guard lock(mutex_);
            for (const Address& worker : workers) {
                const auto known = kept_.find(worker);
                if (known != kept_.end() && now_ms - known->second.read_at_ms < fresh_ms_)
                    out.emplace(worker, known->second.active);
                else
                    unknown.push_back(worker);
            }
        }
        if (unknown.empty()) return out;
        GYM_TRY(const auto holdings, stake_.stakes_of(client_, unknown));
        const std::lock_guard lock(mutex_);
        if (kept_.size() + unknown.size() > kKeptMax) kept_.clear();
        for (std::size_t i = 0; i < unknown.size(); ++i) {
            kept_.insert_or_assign(unknown[i], Kept{holdings[i].active, now_ms});
            out.emplace(unknown[i], holdings[i].active);
        }
        return out;
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
    std::map<Address, Kept> kept_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<StakePort> make_evm_stake(chain::ChainClient& client, const Address& stake,
                                          const Clock& clock, std::int64_t fresh_ms) {
    return std::make_unique<EvmStake>(client, stake, clock, fresh_ms);
}

}  // namespace gym::coordinator
