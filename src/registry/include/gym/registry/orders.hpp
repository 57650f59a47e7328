#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/db/database.hpp"
#include "gym/records/order.hpp"

/// What owners signed, append-only, and what gym-rewards made of it. gym-api stores orders whose
/// seals it has checked (records::check_seal); gym-rewards, whose role gym-api cannot act as,
/// checks them again and locks the money. The database starts no job, and raises no budget, whose
/// order is not locked.
namespace gym::registry {

/// Stores a job's order; submit_job() comes after it, in the same transaction. The same order again
/// changes nothing. @errors kAlreadyExists for a nonce of another order.
Status store_order(db::Transaction& tx, const Digest& job_id, const records::JobOrder& order,
                   const records::OrderSeal& seal, UnixMs now_ms);

/// Stores an order for more budget. @errors kAlreadyExists for a used nonce; kNotFound for
/// the job.
Status store_funding(db::Transaction& tx, const records::JobFunding& funding,
                     const records::OrderSeal& seal, UnixMs now_ms);

enum class OrderState : std::uint8_t {
    kWaiting,  ///< for gym-rewards
    kLocking,  ///< accepted, its money is reserved; it waits until JobEscrow has locked it
    kLocked,   ///< its money is locked on chain and in the job's escrow
    kRefused,  ///< no money moved; the reason says why
};
[[nodiscard]] std::string_view to_string(OrderState state) noexcept;
/// @errors kMalformed.
[[nodiscard]] Result<OrderState> parse_order_state(std::string_view name);

/// An order as it stands in the database; whoever could write there may have made it up.
struct StoredOrder {
    Digest job;
    std::variant<records::JobOrder, records::JobFunding> terms;  ///< the expiry is the seal's
    records::OrderSeal seal;
    OrderState state = OrderState::kWaiting;
    std::string reason;  ///< why it is refused

    [[nodiscard]] bool is_funding() const { return terms.index() == 1; }
    [[nodiscard]] const Address& owner() const;
    [[nodiscard]] const Digest& nonce() const;
    [[nodiscard]] const Amount& amount() const;  ///< to lock
};
/// That the owner of the order signed it for this network. @errors as records::check_seal().
[[nodiscard]] Status check_seal(const records::OrderNetwork& network, const StoredOrder& order);

/// In the order in which they came; locks them, so that a second gym-rewards waits. Role
/// gym_rewards.
Result<std::vector<StoredOrder>> waiting_orders(db::Transaction& tx, std::uint32_t limit);
/// Those that wait for the chain, likewise. Role gym_rewards.
Result<std::vector<StoredOrder>> locking_orders(db::Transaction& tx, std::uint32_t limit);
/// Those of an owner, the newest first.
Result<std::vector<StoredOrder>> locking_orders_of(db::Transaction& tx, const Address& owner);
/// All of a job, in the order in which they came.
Result<std::vector<StoredOrder>> orders_of_job(db::Transaction& tx, const Digest& job_id);
/// All whose money is locked, after the first `skip` of them, in the order in which they came.
Result<std::vector<StoredOrder>> locked_orders(db::Transaction& tx, std::uint64_t skip,
                                               std::uint32_t limit);
/// What an owner's orders in this state come to. Of those that are kWaiting or kLocking it is
/// spent, but not in escrow yet.
Result<Amount> ordered_amount(db::Transaction& tx, const Address& owner, OrderState state);
/// Of the order for the job itself. @errors kNotFound.
Result<StoredOrder> order_of_job(db::Transaction& tx, const Digest& job_id);

/// Takes an order from its state to the next one: kWaiting, kLocking, kLocked, or kRefused in place
/// of the last two. Role gym_rewards.
/// @param state not kWaiting. @param reason of a refusal, one sentence.
/// @errors kConflict for an order that has another state by now.
Status decide_order(db::Transaction& tx, const StoredOrder& order, OrderState state,
                    const std::string& reason, UnixMs now_ms);

}  // namespace gym::registry
