#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/chain/intent_store.hpp"
#include "gym/common/clock.hpp"
#include "gym/crypto/key.hpp"

namespace gym::chain {

/// Of one transaction: nodes refuse those above 128 KiB.
inline constexpr std::size_t kCallDataBytesMax = 120 << 10;

struct TxPolicy {
    std::uint64_t chain_id = 0;
    Amount fee_ceiling_wei{500'000'000'000};       ///< never offer more per gas (500 gwei)
    Amount priority_fee_floor_wei{1'000'000'000};  ///< 1 gwei
    /// Cap on the tip that a node suggests (5 gwei). The tip is paid whatever the base fee is,
    /// so a lying node could drain the account. A transaction that is stuck is raised step by step.
    Amount priority_fee_believed_wei{5'000'000'000};
    std::uint32_t bump_after_ms = 30'000;    ///< a version unmined for so long gets higher fees
    std::uint32_t bump_ppm = 125'000;        ///< by so much: at least 12.5 %, what nodes ask for
    std::uint32_t gas_margin_ppm = 250'000;  ///< over the estimate
    std::uint64_t gas_limit_max = 30'000'000;
    /// Signed and in no block: nodes keep so many of one sender without further conditions.
    std::uint32_t unmined_max = 16;
    /// Signed and not final, those in blocks included: 64 blocks long on a public chain.
    std::uint32_t in_flight_max = 256;
    std::uint32_t rebroadcast_ms = 2'000;       ///< nodes forget: the same bytes are sent again
    std::uint32_t supersede_after_ms = 60'000;  ///< a nonce used by a stranger: be sure first
    std::uint32_t poll_interval_ms = 200;       ///< between ticks of wait()
    /// Compare a receipt with its block's receipts root before it settles anything. Off only for
    /// chains whose receipts have fields of their own.
    bool verify_receipts = true;
};

/// The counts of one tick, for gauges and logs.
struct TickReport {
    std::uint32_t signed_new = 0;
    std::uint32_t bumped = 0;
    std::uint32_t settled = 0;
    std::uint32_t queued_left = 0;
    std::uint32_t in_flight = 0;  ///< signed and not final
    std::uint32_t unmined = 0;    ///< of these, in no block
    /// By intent: the version that the node took, or has in a block. Not what it refused.
    std::map<std::string, Digest> taken;
    /// Conditions that a person should see: no funds, fee ceiling reached, node refuses.
    std::vector<std::string> warnings;
};

/// Turns revert data into "JobEscrow.CapExceeded(cap=5, asked=6)"; see gym/contracts/call.hpp:
/// describe_revert().
using RevertDecoder = std::function<std::string(ByteView revert_data)>;

/// The hash of a transaction that a node has taken. A version with higher fees may follow it.
using OnSent = std::function<void(const Digest& hash)>;

/// Sends intents of one key on one chain, each exactly once. All state is in the store: a process
/// may die at any point; another manager over the same store continues without paying twice or
/// leaving a gap in the nonces. Order per intent: stored -> nonce and signed bytes stored ->
/// broadcast (again and again) -> receipt in a finalized block -> settled. The key must not sign
/// elsewhere. Two managers of one key at a time are safe (the store's unique nonce decides) but
/// useless. Thread-safe if client and store are: one tick at a time.
class TxManager {
  public:
    /// References must outlive the manager.
    TxManager(ChainClient& client, IntentStore& store, crypto::PrivateKey key, const Clock& clock,
              TxPolicy policy, RevertDecoder decoder);

    [[nodiscard]] const Address& sender() const noexcept { return key_.address(); }

    /// Stores the intent; no network. Repeat freely. @errors kInvalidArgument, and as
    /// IntentStore::submit.
    [[nodiscard]] Result<Intent> submit(const IntentRequest& request);
    /// As submit(), for a call of which the contract takes one at most: if what was sent under the
    /// id ended without happening (kReverted, kCancelled, kSuperseded), it is sent again, as
    /// "id#2", "id#3" and so on. A nonce that a stranger took stops it no more than a receipt that
    /// was kept back. @errors as submit(); kConflict after kRepeatsMax times.
    [[nodiscard]] Result<Intent> submit_idempotent(const IntentRequest& request);
    static constexpr int kRepeatsMax = 100;
    /// Requests that the intent be dropped; its outcome says whether that came in time. @errors as
    /// the store.
    Status cancel(const std::string& id) { return store_.request_cancel(id); }
    [[nodiscard]] Result<Intent> find(const std::string& id) { return store_.find(id); }

    /// The nonce that the next submitted intent gets, while none waits for one. @errors as tick().
    [[nodiscard]] Result<std::uint64_t> next_nonce();

    /// One pass over all open intents. An error leaves everything in a state from which the next
    /// tick continues.
    /// @errors kUnavailable, kTimeout (try later); kMismatch if the node serves another chain, a
    /// chain that went back below what was final, or receipts that contradict it: a person has to
    /// look.
    [[nodiscard]] Result<TickReport> tick();

    /// Ticks until the intent is settled. Failures to reach the node are retried until the
    /// deadline. `on_sent` is called once, when the node has taken a signed version: from then on
    /// it can happen without us. It is not called for what the node refuses or what is settled.
    /// @return the settled intent, of whatever outcome. @errors kTimeout naming the intent's state.
    [[nodiscard]] Result<Intent> wait(const std::string& id, std::uint32_t timeout_ms,
                                      const OnSent& on_sent = {});

    /// Ticks until a receipt exists in any block (not final: a reorg can undo it).
    /// @errors kTimeout; kConflict with the reason if the intent reverted or was rejected.
    [[nodiscard]] Result<Receipt> wait_mined(const std::string& id, std::uint32_t timeout_ms);

    /// submit, wait, and an error unless it succeeded. @errors kConflict with the decoded revert.
    [[nodiscard]] Result<Outcome> execute(const IntentRequest& request, std::uint32_t timeout_ms,
                                          const OnSent& on_sent = {});

  private:
    /// One tick's picture of the chain.
    struct View {
        BlockHeader head;
        BlockHeader finalized;
        std::uint64_t nonce_head = 0;  ///< how many transactions of ours are in blocks
    };
    struct Fees {
        Amount fee_max_wei;
        Amount priority_fee_wei;
    };
    /// Which version of an intent is in which block.
    struct Mined {
        Digest hash;
        std::uint64_t block_number = 0;
    };
    [[nodiscard]] Result<View> look();
    [[nodiscard]] Result<std::uint64_t> nonce_after(const View& view);
    Status advance(const View& view, const Intent& intent, TickReport& report);
    Status follow_mined(const View& view, const Intent& intent, TickReport& report);
    Status settle_mined(const Intent& intent, const Attempt& attempt, const Receipt& receipt,
                        TickReport& report);
    Status keep_alive(const View& view, const Intent& intent, TickReport& report);
    /// Signs and stores a version with higher fees. False if the ceiling forbids it.
    [[nodiscard]] Result<bool> raise_fees(const View& view, const Intent& intent, bool cancels,
                                          TickReport& report);
    Status broadcast(const Intent& intent, const Attempt& attempt, TickReport& report,
                     bool& underpriced);
    /// Gives a queued intent a nonce and sends it. False if it has to wait.
    [[nodiscard]] Result<bool> start(const View& view, const Intent& intent, bool alone,
                                     TickReport& report);
    /// Absent if the intent is rejected (and settled) or has to wait.
    [[nodiscard]] Result<std::optional<std::uint64_t>> choose_gas(const View& view,
                                                                  const Intent& intent, bool alone,
                                                                  TickReport& report);
    Status reject(const Intent& intent, const std::string& reason, TickReport& report);
    [[nodiscard]] Result<std::optional<Fees>> market_fees(const View& view, TickReport& report);
    [[nodiscard]] Result<std::string> revert_reason(const Intent& intent, const Receipt& receipt);
    [[nodiscard]] Attempt sign(const Intent& intent, std::uint64_t nonce, std::uint64_t gas_limit,
                               const Fees& fees, bool cancels) const;

    ChainClient& client_;
    IntentStore& store_;
    crypto::PrivateKey key_;
    const Clock& clock_;
    TxPolicy policy_;
    RevertDecoder decoder_;
    std::mutex mutex_;  ///< of what follows, and of nonces between look and store
    bool chain_checked_ = false;
    // Not durable on purpose: a new manager broadcasts at once and waits anew before it gives a
    // nonce up.
    std::map<std::string, UnixMs> broadcast_at_ms_;
    std::map<std::string, UnixMs> unexplained_since_ms_;
    /// Last state of intents in blocks that are not final; there is nothing to query until they
    /// are.
    std::map<std::string, Mined> mined_;
};

}  // namespace gym::chain
