#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"

namespace gym::chain {

/// A transaction that the caller wants once. The id makes it unique: derive it from what causes the
/// transaction
/// ("payout-root:7"), so that a repeat of the cause finds the same intent.
struct IntentRequest {
    std::string id;             ///< 1 .. 200 bytes, unique for (chain, sender)
    std::optional<Address> to;  ///< absent: creates a contract
    Amount value_wei;
    Bytes data;
    std::optional<std::uint64_t> gas_limit;  ///< absent: estimated
    std::string label;                       ///< for people: "submit payout root of epoch 7"
};

enum class IntentState {
    kQueued,      ///< stored; no nonce, nothing signed
    kSigned,      ///< owns a nonce; signed bytes stored; broadcast until final
    kDone,        ///< in a finalized block, succeeded
    kReverted,    ///< in a finalized block, reverted
    kRejected,    ///< never sent: the node says that it would revert; submitting it again queues it
                  ///< again
    kCancelled,   ///< never sent, or its nonce went to a finalized self-transfer
    kSuperseded,  ///< its nonce went to a finalized transaction that this store does not know
};
[[nodiscard]] std::string_view to_string(IntentState state) noexcept;
/// @errors kMalformed.
[[nodiscard]] Result<IntentState> parse_intent_state(std::string_view text);
/// True for the states that never change again (kRejected changes only by a new submit).
[[nodiscard]] bool is_settled(IntentState state) noexcept;

/// One signed version of an intent; later ones raise the fees of the same nonce.
struct Attempt {
    Digest hash;
    Bytes raw;
    Amount fee_max_wei;
    Amount priority_fee_wei;
    bool cancels = false;  ///< a self-transfer that takes the nonce away from the intent
    UnixMs signed_at_ms = 0;
};

/// Where an intent ended, filled in when it is settled.
struct Outcome {
    IntentState state = IntentState::kDone;
    std::optional<Digest> transaction_hash;
    std::optional<Digest> block_hash;
    std::optional<std::uint64_t> block_number;
    std::uint64_t gas_used = 0;
    Amount gas_price_wei;
    std::optional<Address> contract_address;
    std::string reason;  ///< decoded revert or why it was not sent; empty on success
};

struct Intent {
    IntentRequest request;
    IntentState state = IntentState::kQueued;
    std::optional<std::uint64_t> nonce;
    std::uint64_t gas_limit = 0;  ///< chosen when signed
    bool cancel_requested = false;
    std::vector<Attempt> attempts;  ///< oldest first
    std::optional<Outcome> outcome;
};

/// Durable intents of one sender on one chain. Every method is one atomic, durable step: it has
/// happened completely when it returns success and after a crash it has happened completely or not
/// at all. Every method: @errors kUnavailable, kTimeout, kIo of the store.
class IntentStore {
  public:
    virtual ~IntentStore() = default;

    /// Stores a new intent as kQueued, or returns the one stored under its id; a kRejected one is
    /// queued again.
    /// @errors kConflict if the stored one has another recipient, value, data or gas limit.
    [[nodiscard]] virtual Result<Intent> submit(const IntentRequest& request, UnixMs now_ms) = 0;
    /// @errors kNotFound.
    [[nodiscard]] virtual Result<Intent> find(const std::string& id) = 0;
    /// Intents that are kSigned, by nonce; then kQueued, in the order of submission. At most
    /// `limit`.
    [[nodiscard]] virtual Result<std::vector<Intent>> open(std::uint32_t limit) = 0;
    /// The highest nonce that any intent owns or owned.
    [[nodiscard]] virtual Result<std::optional<std::uint64_t>> highest_nonce() = 0;
    /// The highest nonce of an intent that ended in a finalized block (kDone, kReverted, kCancelled
    /// with nonce).
    [[nodiscard]] virtual Result<std::optional<std::uint64_t>> highest_settled_nonce() = 0;
    /// kQueued -> kSigned: gives the intent its nonce and stores the first signed bytes.
    /// @errors kConflict if the intent is not kQueued or the nonce is owned already.
    virtual Status assign(const std::string& id, std::uint64_t nonce, std::uint64_t gas_limit,
                          const Attempt& first) = 0;
    /// Stores another signed version. @errors kConflict unless the intent is kSigned with
    /// `attempts_expected` attempts (another instance added one).
    virtual Status add_attempt(const std::string& id, std::size_t attempts_expected,
                               const Attempt& attempt) = 0;
    /// @errors kNotFound, kConflict if it is settled.
    virtual Status request_cancel(const std::string& id) = 0;
    /// Ends a kQueued or kSigned intent. Same outcome again is success. @errors kConflict.
    virtual Status settle(const std::string& id, const Outcome& outcome, UnixMs now_ms) = 0;
};

}  // namespace gym::chain
