#include <algorithm>

#include "gym/contracts/stake.hpp"
#include "stake_command.hpp"

// Stake.sol says of a pool of thawing stake only how much is in it. What a thaw has of it follows
// from the owner's events: shares are in them, and a slash that empties the pool makes the shares
// of before worthless.

namespace gym::app {
namespace {

struct Thaw {
    contracts::ThawStarted started;
    bool worthless = false;
};

/// Plays Stake.sol's account of one owner.
class Pool {
  public:
    Status take(const contracts::StakeEvent& event) { return std::visit(*this, event); }

    Status operator()(const contracts::Staked& staked) { return add(active_, staked.amount); }
    Status operator()(const contracts::ThawStarted& started) {
        thaws_.push_back({started});
        GYM_CHECK(subtract(active_, started.amount));
        return add(thawing_, started.amount);
    }
    Status operator()(const contracts::StakeWithdrawn& withdrawn) {
        return subtract(thawing_, withdrawn.amount);
    }
    Status operator()(const contracts::Slashed& slashed) {
        Amount taken = slashed.burned;
        GYM_CHECK(add(taken, slashed.reward));
        GYM_CHECK(add(taken, slashed.compensation));
        const Amount from_active = std::min(taken, active_);
        GYM_CHECK(subtract(active_, from_active));
        GYM_CHECK(subtract(taken, from_active));
        GYM_CHECK(subtract(thawing_, taken));
        if (!thawing_.is_zero()) return {};
        for (Thaw& thaw : thaws_)
            thaw.worthless = true;
        return {};
    }
    Status operator()(const contracts::LocksChanged& /*changed*/) { return {}; }

    /// withdraw() takes one after another and rounds down; the last gets what is left.
    Result<std::vector<OpenThaw>> open(std::uint64_t count) && {
        if (count > thaws_.size())
            return fail(ErrorCode::kMismatch, "the chain's logs have " +
                                                  std::to_string(thaws_.size()) + " thaws, " +
                                                  std::to_string(count) + " are open");
        thaws_.erase(thaws_.begin(), thaws_.end() - static_cast<std::ptrdiff_t>(count));
        Amount shares;
        for (const Thaw& thaw : thaws_)
            if (!thaw.worthless) GYM_CHECK(add(shares, thaw.started.shares));
        std::vector<OpenThaw> out;
        for (const Thaw& thaw : thaws_) {
            Amount worth;
            if (!thaw.worthless) {
                GYM_TRY(worth, thaw.started.shares == shares
                                   ? Result<Amount>(thawing_)
                                   : thawing_.mul_div(thaw.started.shares, shares));
                GYM_CHECK(subtract(thawing_, worth));
                GYM_CHECK(subtract(shares, thaw.started.shares));
            }
            out.push_back({thaw.started.amount, worth, thaw.started.available_at_s});
        }
        return out;
    }

  private:
    static Status add(Amount& sum, const Amount& more) {
        GYM_TRY(sum, sum.plus(more));
        return {};
    }
    static Status subtract(Amount& from, const Amount& amount) {
        const auto left = from.minus(amount);
        if (!left.ok())
            return fail(ErrorCode::kMismatch, "the chain's logs of this stake are not all there");
        from = *left;
        return {};
    }

    Amount active_, thawing_;
    std::vector<Thaw> thaws_;
};

}  // namespace

Result<std::vector<OpenThaw>> open_thaws(std::span<const contracts::StakeEvent> events,
                                         std::uint64_t count) {
    Pool pool;
    for (const contracts::StakeEvent& event : events)
        GYM_CHECK(pool.take(event));
    return std::move(pool).open(count);
}

}  // namespace gym::app
