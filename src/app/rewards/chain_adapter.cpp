#include "chain_adapter.hpp"

#include <optional>

#include "gym/common/overloaded.hpp"
#include "gym/contracts/call.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/job_escrow.hpp"
#include "gym/contracts/rewards_distributor.hpp"

namespace gym::app {
namespace {

using rewards::ChainEvent;
using rewards::OrderState;
using rewards::OrderStatus;
using What = decltype(ChainEvent::what);

chain::FollowerOptions follower_options(const contracts::Deployment& deployment) {
    chain::FollowerOptions options;
    options.chain_id = deployment.chain_id;
    options.start_block = deployment.start_block;
    options.filter.addresses = {deployment.escrow, deployment.distributor};
    options.filter.topics = contracts::JobEscrow::topics();
    const auto more = contracts::RewardsDistributor::topics();
    options.filter.topics.insert(options.filter.topics.end(), more.begin(), more.end());
    return options;
}

What translate(const contracts::EscrowEvent& event) {
    return std::visit(Overloaded{[](const contracts::Deposited& e) -> What {
                                     return rewards::Deposited{e.owner, e.amount};
                                 },
                                 [](const contracts::Released& e) -> What {
                                     return rewards::Released{e.epoch, e.owner, e.amount};
                                 },
                                 [](const contracts::WithdrawalRequested& e) -> What {
                                     return rewards::WithdrawalRequested{e.owner, e.amount};
                                 },
                                 [](const contracts::Locked& e) -> What {
                                     return rewards::Locked{e.owner, e.amount};
                                 },
                                 [](const contracts::LockedOwn& e) -> What {
                                     return rewards::LockedOwn{e.owner, e.amount};
                                 },
                                 [](const contracts::Unlocked& e) -> What {
                                     return rewards::Unlocked{e.owner, e.amount, e.total};
                                 },
                                 [](const contracts::Withdrawn& e) -> What {
                                     return rewards::Withdrawn{e.owner, e.amount};
                                 },
                                 [](const contracts::ExitRequested& e) -> What {
                                     return rewards::ExitRequested{e.owner, e.available_at_s};
                                 }},
                      event);
}

/// Nothing for what moves no money and changes no epoch.
std::optional<What> translate(const contracts::DistributorEvent& event) {
    using Maybe = std::optional<What>;
    return std::visit(
        Overloaded{[](const contracts::RootSubmitted& e) -> Maybe {
                       return rewards::RootSubmitted{e.epoch, e.root, e.active_at_s};
                   },
                   [](const contracts::RootDisabled& e) -> Maybe {
                       return rewards::RootDisabled{e.epoch};
                   },
                   [](const contracts::LeafDemanded& e) -> Maybe {
                       return rewards::LeafDemanded{e.epoch, e.earner};
                   },
                   [](const contracts::LeafShown& e) -> Maybe {
                       return rewards::LeafShown{e.epoch, e.earner};
                   },
                   [](const contracts::Claimed& e) -> Maybe {
                       return rewards::Claimed{e.earner, e.amount};
                   },
                   [](const contracts::RecipientSet&) -> Maybe { return std::nullopt; }},
        event);
}

}  // namespace

ContractChain::ContractChain(chain::ChainClient& client, chain::TxManager& manager,
                             const contracts::Deployment& deployment)
    : client_(client),
      manager_(manager),
      token_(deployment.chain_id, deployment.token),
      escrow_(deployment.escrow),
      distributor_(deployment.distributor) {}

Result<OrderStatus> ContractChain::bring(const std::string& id, const contracts::ContractCall& call,
                                         const Asks& asks) {
    std::string refusal;
    const auto stored = manager_.find(id);
    if (!stored.ok() && stored.error().code != ErrorCode::kNotFound) return stored.error();
    const bool on_its_way = stored.ok() && !chain::is_settled(stored->state);
    if (stored.ok() && !on_its_way) {
        if (stored->state == chain::IntentState::kDone) return OrderStatus{OrderState::kDone, ""};
        // A node that kept a receipt back made it look as if a stranger had taken the nonce, or
        // another attempt was faster: what the contract says decides.
        if (asks.happened) {
            GYM_TRY(const bool happened, asks.happened());
            if (happened) return OrderStatus{OrderState::kDone, ""};
        }
    }
    if (!on_its_way && asks.ends) {
        GYM_TRY(std::string why, asks.ends());
        if (!why.empty()) return OrderStatus{OrderState::kRefused, std::move(why)};
    }
    if (stored.ok() && !on_its_way) {
        const std::string reason = stored->outcome ? stored->outcome->reason : "";
        if (stored->state != chain::IntentState::kRejected)
            return OrderStatus{OrderState::kFailed, std::string(chain::to_string(stored->state)) +
                                                        (reason.empty() ? "" : ": " + reason)};
        refusal = reason;
    }
    if (!on_its_way && asks.forbids) {
        GYM_TRY(std::string reason, asks.forbids());
        if (!reason.empty()) return OrderStatus{OrderState::kWaiting, std::move(reason)};
    }
    // A call that the contract would not take now is queued again: it waits for its turn (a root
    // that is still pending, an interval that has not passed).
    GYM_CHECK(manager_.submit(call.intent(id)));
    return OrderStatus{OrderState::kWaiting, refusal};
}

Result<bool> ContractChain::is_released(const rewards::ReleaseOrder& order) {
    for (const auto& [owner, amount] : order.spent) {
        GYM_TRY(const Amount released,
                escrow_.released_of(client_, order.epoch, owner, chain::BlockTag::kFinalized));
        if (released != amount) return false;
    }
    return true;
}

Result<std::string> ContractChain::above_caps(const rewards::ReleaseOrder& order) {
    GYM_TRY(const rewards::PayoutLimits caps, limits());
    GYM_TRY(const auto state, escrow_.release_state(client_));
    Amount total = state.first == order.epoch ? state.second : Amount();
    for (const auto& [owner, amount] : order.spent) {
        GYM_TRY(total, total.plus(amount));
        if (amount > caps.owner_release)
            return owner.hex() + " spent " + amount.to_string() + " wei, an epoch may release " +
                   caps.owner_release.to_string() +
                   " of one owner: nothing is sent until an admin raises JobEscrow's " +
                   "ownerReleaseCap";
    }
    if (total > caps.release)
        return "owners spent " + total.to_string() + " wei, an epoch may release " +
               caps.release.to_string() +
               ": nothing is sent until an admin raises JobEscrow's releaseCap";
    return std::string();
}

Result<bool> ContractChain::is_posted(const rewards::RootOrder& order) {
    for (const auto& read : {&contracts::RewardsDistributor::pending_root,
                             &contracts::RewardsDistributor::active_root}) {
        GYM_TRY(const auto root, (distributor_.*read)(client_, chain::BlockTag::kFinalized));
        if (root.epoch == order.epoch && root.root == order.root) return true;
    }
    return false;
}

Result<OrderStatus> ContractChain::release(const std::string& id,
                                           const rewards::ReleaseOrder& order) {
    return bring(id, escrow_.release(order.epoch, order.spent),
                 {[&] { return is_released(order); }, [&] { return above_caps(order); }, {}});
}

Result<OrderStatus> ContractChain::submit_root(const std::string& id,
                                               const rewards::RootOrder& order) {
    contracts::RootSubmitted root;
    root.epoch = order.epoch;
    root.root = order.root;
    root.total_cumulative = order.total_cumulative;
    root.epoch_file_root = order.epoch_file_root;
    return bring(id, distributor_.submit_root(root), {[&] { return is_posted(order); }, {}, {}});
}

Result<bool> ContractChain::is_locked(const registry::StoredOrder& order, chain::BlockTag at) {
    GYM_TRY(const Amount locked,
            std::visit([&](const auto& terms) { return escrow_.lock_of(client_, terms, at); },
                       order.terms));
    return !locked.is_zero();
}

/// Asked while nothing of the order is on its way, so that a refusal is for ever.
Result<std::string> ContractChain::never_locked(const registry::StoredOrder& order) {
    GYM_TRY(const bool happened, is_locked(order, chain::BlockTag::kLatest));
    if (happened) return std::string();
    GYM_TRY(const auto head, client_.block(chain::BlockTag::kLatest));
    if (!head) return fail(ErrorCode::kUnavailable, "the chain has no latest block");
    if (head->timestamp_s > order.seal.expiry_s)
        return std::string("it expired before the chain locked its money");
    GYM_TRY(const Amount held, escrow_.balance_of(client_, order.owner()));
    GYM_TRY(const Amount locked, escrow_.locked_of(client_, order.owner()));
    GYM_TRY(const Amount free, held.minus(locked));
    if (order.amount() <= free) return std::string();
    return "JobEscrow has " + free.to_tokens() + " GYM of its owner that are not locked, " +
           order.amount().to_tokens() + " were ordered";
}

Result<OrderStatus> ContractChain::lock(const std::string& id, const registry::StoredOrder& order) {
    return bring(
        id,
        std::visit([&](const auto& terms) { return escrow_.lock(terms, order.seal.signature); },
                   order.terms),
        {[&] { return is_locked(order, chain::BlockTag::kFinalized); },
         {},
         [&] { return never_locked(order); }});
}

Result<OrderStatus> ContractChain::unlock(const std::string& id,
                                          const rewards::UnlockOrder& order) {
    return bring(id, escrow_.unlock(order.totals), {});
}

Result<OrderStatus> ContractChain::show_leaf(const std::string& id,
                                             const rewards::LeafOrder& order) {
    // Accounting ends a demand, from the contract's events.
    return bring(id,
                 distributor_.show_leaf(order.epoch,
                                        {order.payout.earner, order.payout.cumulative, order.path}),
                 {});
}

Result<rewards::Holdings> ContractChain::holdings(std::uint64_t block) {
    rewards::Holdings holdings;
    holdings.block = block;
    GYM_TRY(holdings.escrow, escrow_.total_balance(client_, block));
    GYM_TRY(holdings.distributor, token_.balance_of(client_, distributor_.address(), block));
    GYM_TRY(holdings.claimed, distributor_.total_claimed(client_, block));
    GYM_TRY(holdings.locked, escrow_.total_locked(client_, block));
    return holdings;
}

Result<rewards::PayoutLimits> ContractChain::limits() {
    rewards::PayoutLimits limits;
    GYM_TRY(limits.release, escrow_.release_cap(client_));
    GYM_TRY(limits.owner_release, escrow_.owner_release_cap(client_));
    GYM_TRY(limits.growth, distributor_.growth_limit(client_));
    return limits;
}

ChainFeed::ChainFeed(chain::ChainClient& client, chain::FollowerStore& store,
                     const contracts::Deployment& deployment)
    : escrow_(deployment.escrow),
      distributor_(deployment.distributor),
      follower_(
          client, store, follower_options(deployment),
          [this](const chain::LogKey& key, const chain::Log& log) { return deliver(key, log); }) {}

Status ChainFeed::deliver(const chain::LogKey& key, const chain::Log& log) {
    GYM_ASSERT(handler_ != nullptr, "logs are delivered within follow()");
    GYM_TRY(const auto from_escrow, escrow_.parse_event(log));
    if (from_escrow)
        return (*handler_)(ChainEvent{key.digest(), log.block_number, translate(*from_escrow)});
    GYM_TRY(const auto from_distributor, distributor_.parse_event(log));
    if (!from_distributor) return {};
    const auto what = translate(*from_distributor);
    if (!what) return {};
    return (*handler_)(ChainEvent{key.digest(), log.block_number, *what});
}

Result<rewards::ChainProgress> ChainFeed::follow(const Handler& handler) {
    handler_ = &handler;
    const auto report = follower_.tick();
    handler_ = nullptr;
    if (!report.ok()) return report.error();
    return rewards::ChainProgress{report->finalized, report->caught_up};
}

}  // namespace gym::app
