#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/payouts/payout_tree.hpp"
#include "gym/registry/orders.hpp"

namespace gym::rewards {

// Events of JobEscrow and RewardsDistributor, delivered once final.
struct Deposited {
    Address owner;
    Amount amount;
};
struct Released {
    std::uint64_t epoch = 0;
    Address owner;
    Amount amount;
};
struct WithdrawalRequested {
    Address owner;
    Amount amount;  ///< replaces the request before; zero takes it back
};
/// Of an owner's balance, by its signed order. When it is the order's turn, SettlementChain says.
struct Locked {
    Address owner;
    Amount amount;
};
/// Of an account that pays without orders.
struct LockedOwn {
    Address owner;
    Amount amount;
};
struct Unlocked {
    Address owner;
    Amount amount;
    Amount total;  ///< of the owner over all time
};
struct Withdrawn {
    Address owner;
    Amount amount;
};
/// An owner ends its jobs and takes all that it has left.
struct ExitRequested {
    Address owner;
    std::uint64_t available_at_s = 0;  ///< zero: it has left, or stays
};
struct RootSubmitted {
    std::uint64_t epoch = 0;
    Digest root;
    std::uint64_t active_at_s = 0;
};
struct RootDisabled {
    std::uint64_t epoch = 0;
};
/// Somebody wants to see an earner's leaf of a pending root before it pays.
struct LeafDemanded {
    std::uint64_t epoch = 0;
    Address earner;
};
struct LeafShown {
    std::uint64_t epoch = 0;
    Address earner;
};
struct Claimed {
    Address earner;
    Amount amount;
};
struct ChainEvent {
    Digest key;  ///< of (chain, block hash, log index): unique for ever
    std::uint64_t block = 0;
    std::variant<Deposited, Released, WithdrawalRequested, Locked, LockedOwn, Unlocked, Withdrawn,
                 ExitRequested, RootSubmitted, RootDisabled, LeafDemanded, LeafShown, Claimed>
        what;
};

struct ReleaseOrder {
    std::uint64_t epoch = 0;
    std::vector<std::pair<Address, Amount>>
        spent;  ///< at most kReleaseOwnersMax, ascending by owner
};
inline constexpr std::size_t kReleaseOwnersMax = 256;

struct UnlockOrder {
    /// Of an owner over all time; at most kReleaseOwnersMax, ascending by owner.
    std::vector<std::pair<Address, Amount>> totals;
};

struct RootOrder {
    std::uint64_t epoch = 0;
    Digest root;
    Amount total_cumulative;
    Digest epoch_file_root;
};

struct LeafOrder {
    std::uint64_t epoch = 0;
    payouts::Payout payout;
    payouts::PayoutPath path;
};

enum class OrderState {
    kWaiting,  ///< on its way, or the contract does not take it yet
    kDone,     ///< in a finalized block, succeeded
    kFailed,   ///< in a finalized block, reverted; only a new id can try again
    kRefused,  ///< nothing of it is on its way, and the contract will not take it
};
struct OrderStatus {
    OrderState state = OrderState::kWaiting;
    std::string reason;  ///< why it waits or failed; may be empty
};

/// The amounts that the contracts hold and have paid at the end of one block.
struct Holdings {
    std::uint64_t block = 0;
    Amount escrow;       ///< JobEscrow.totalBalance
    Amount distributor;  ///< token balance of the RewardsDistributor: anybody can add to it
    Amount claimed;      ///< RewardsDistributor.totalClaimed
    Amount locked;       ///< JobEscrow.totalLocked
};

/// The largest amounts that the contracts accept in one epoch.
struct PayoutLimits {
    Amount release;        ///< JobEscrow.releaseCap: of all owners
    Amount owner_release;  ///< JobEscrow.ownerReleaseCap: of each owner
    Amount growth;         ///< RewardsDistributor.growthLimit: above the root that pays
};

/// The chain as settlement needs it. Orders have permanent ids: the same id is the same order, sent
/// once, however often it is requested and whatever crashes in between. An order whose effect is in
/// a finalized block is done, even if its own transaction failed. Every
/// method: @errors kUnavailable, kTimeout (try later).
class SettlementChain {
  public:
    virtual ~SettlementChain() = default;
    /// Waits, unsent, while it is above a cap.
    virtual Result<OrderStatus> release(const std::string& id, const ReleaseOrder& order) = 0;
    virtual Result<OrderStatus> submit_root(const std::string& id, const RootOrder& order) = 0;
    /// Locks what the owner signed for. kRefused when it has expired, or its owner has not enough
    /// that is not locked; it waits while the contract is paused.
    virtual Result<OrderStatus> lock(const std::string& id, const registry::StoredOrder& order) = 0;
    virtual Result<OrderStatus> unlock(const std::string& id, const UnlockOrder& order) = 0;
    /// Waits, unsent, unless the root is pending and the leaf is demanded.
    virtual Result<OrderStatus> show_leaf(const std::string& id, const LeafOrder& order) = 0;
    virtual Result<Holdings> holdings(std::uint64_t block) = 0;
    virtual Result<PayoutLimits> limits() = 0;
};

}  // namespace gym::rewards
