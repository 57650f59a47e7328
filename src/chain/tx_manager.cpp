#include "gym/chain/tx_manager.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "gym/chain/transaction.hpp"
#include "gym/common/printable.hpp"

namespace gym::chain {
namespace {

/// An intent as messages name it.
std::string named(const Intent& intent) {
    return "intent '" + intent.request.id + "' (" + intent.request.label + ")";
}

/// True for failures that pass by themselves.
bool try_later(const Error& error) {
    return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout;
}

constexpr std::size_t kIdBytesMax = 200;
constexpr std::size_t kLabelBytesMax = 300;
constexpr std::uint32_t kOpenMax = 1024;
constexpr std::uint64_t kMillion = 1'000'000;

/// value * (1 + ppm / 10^6), rounded up.
Result<Amount> raised(const Amount& value, std::uint32_t ppm) {
    const Amount factor(kMillion + ppm);
    GYM_TRY(const Amount floor, value.mul_div(factor, Amount(kMillion)));
    GYM_TRY(const Amount rest, value.mul_mod(factor, Amount(kMillion)));
    return rest.is_zero() ? Result<Amount>(floor) : floor.plus(Amount(1));
}

bool is_plain(const std::string& text) {
    return printable_ascii(text, text.size()) == text;
}

}  // namespace

TxManager::TxManager(ChainClient& client, IntentStore& store, crypto::PrivateKey key,
                     const Clock& clock, TxPolicy policy, RevertDecoder decoder)
    : client_(client),
      store_(store),
      key_(std::move(key)),
      clock_(clock),
      policy_(policy),
      decoder_(std::move(decoder)) {
    GYM_ASSERT(policy_.bump_ppm >= 125'000, "nodes take a replacement only at 12.5 % more");
    GYM_ASSERT(policy_.in_flight_max >= 1 && policy_.in_flight_max <= kOpenMax / 2, "bounded");
    GYM_ASSERT(policy_.unmined_max >= 1 && policy_.unmined_max <= kOpenMax / 2, "bounded");
}

Result<Intent> TxManager::submit(const IntentRequest& request) {
    if (request.id.empty() || request.id.size() > kIdBytesMax || !is_plain(request.id))
        return fail(ErrorCode::kInvalidArgument, "an intent's id is 1 to 200 printable characters");
    if (request.label.size() > kLabelBytesMax || !is_plain(request.label))
        return fail(ErrorCode::kInvalidArgument,
                    "an intent's label is up to 300 printable characters");
    if (request.data.size() > kCallDataBytesMax)
        return fail(ErrorCode::kInvalidArgument,
                    "intent '" + request.id + "' carries more than 120 KiB of data");
    return store_.submit(request, clock_.now_ms());
}

Result<TxManager::View> TxManager::look() {
    if (!chain_checked_) {
        GYM_CHECK(check_chain_id(client_, policy_.chain_id));
        chain_checked_ = true;
    }
    View view;
    // Finality before the head: what is read later can only be further on.
    GYM_TRY(const auto finalized, client_.block(BlockTag::kFinalized));
    GYM_TRY(const auto head, client_.block(BlockTag::kLatest));
    if (!head || !finalized)
        return fail(ErrorCode::kUnavailable, "the node has no finalized block yet");
    view.head = *head;
    view.finalized = *finalized;
    GYM_TRY(view.nonce_head, client_.nonce(sender(), BlockTag::kLatest));
    GYM_TRY(const auto settled, store_.highest_settled_nonce());
    if (settled && view.nonce_head <= *settled)
        return fail(ErrorCode::kMismatch,
                    "the chain lost finalized transactions: nonce " + std::to_string(*settled) +
                        " of " + sender().hex() + " was final, now the chain counts " +
                        std::to_string(view.nonce_head) +
                        " transactions (was the chain reset, or does the node lag?)");
    return view;
}

Result<std::uint64_t> TxManager::nonce_after(const View& view) {
    GYM_TRY(const auto highest, store_.highest_nonce());
    return std::max(view.nonce_head, highest ? *highest + 1 : 0);
}

Result<std::uint64_t> TxManager::next_nonce() {
    const std::lock_guard lock(mutex_);
    GYM_TRY(const View view, look());
    return nonce_after(view);
}

Result<TickReport> TxManager::tick() {
    const std::lock_guard lock(mutex_);
    GYM_TRY(const View view, look());
    GYM_TRY(const std::vector<Intent> open, store_.open(kOpenMax));
    TickReport report;
    for (const Intent& intent : open) {
        if (intent.state != IntentState::kSigned) continue;
        const std::uint32_t settled_before = report.settled;
        GYM_CHECK(advance(view, intent, report));
        if (report.settled != settled_before) continue;
        ++report.in_flight;
        if (*intent.nonce >= view.nonce_head) ++report.unmined;
    }
    for (const Intent& intent : open) {
        if (intent.state != IntentState::kQueued) continue;
        if (report.in_flight >= policy_.in_flight_max || report.unmined >= policy_.unmined_max) {
            ++report.queued_left;
            continue;
        }
        const std::uint32_t settled_before = report.settled;
        GYM_TRY(const bool started, start(view, intent, report.unmined == 0, report));
        if (started) {
            ++report.in_flight;
            ++report.signed_new;
            ++report.unmined;
        } else if (report.settled == settled_before) {
            ++report.queued_left;
        }
    }
    return report;
}

Status TxManager::advance(const View& view, const Intent& intent, TickReport& report) {
    GYM_ASSERT(intent.nonce && !intent.attempts.empty(), "a signed intent has nonce and bytes");
    if (*intent.nonce < view.nonce_head) return follow_mined(view, intent, report);
    unexplained_since_ms_.erase(intent.request.id);
    mined_.erase(intent.request.id);
    return keep_alive(view, intent, report);
}

/// The nonce is used on chain: by one of our versions, or by a stranger.
Status TxManager::follow_mined(const View& view, const Intent& intent, TickReport& report) {
    if (const auto known = mined_.find(intent.request.id);
        known != mined_.end() && known->second.block_number > view.finalized.number) {
        report.taken.insert_or_assign(intent.request.id, known->second.hash);
        return {};
    }
    for (auto attempt = intent.attempts.rbegin(); attempt != intent.attempts.rend(); ++attempt) {
        GYM_TRY(const auto receipt, client_.receipt(attempt->hash));
        if (!receipt) continue;
        unexplained_since_ms_.erase(intent.request.id);
        report.taken.insert_or_assign(intent.request.id, attempt->hash);
        if (receipt->block_number <= view.head.number)
            mined_.insert_or_assign(intent.request.id, Mined{attempt->hash, receipt->block_number});
        if (receipt->block_number > view.finalized.number) return {};
        GYM_TRY(const auto block, client_.block(receipt->block_number));
        if (!block || block->hash != receipt->block_hash)
            return {};  // a reorg in between: look again
        if (policy_.verify_receipts) {
            GYM_TRY(const auto receipts, client_.receipts(block->hash));
            GYM_CHECK(check_receipt(*block, receipts, *receipt));
        }
        return settle_mined(intent, *attempt, *receipt, report);
    }
    const auto final_count = client_.nonce(sender(), view.finalized.number);
    if (!final_count.ok()) {
        if (try_later(final_count.error())) return final_count.error();
        // A node may have no state of that block: then nothing can be said, and waiting is always
        // safe.
        report.warnings.push_back(named(intent) + ": " + final_count.error().message);
        return {};
    }
    if (*final_count <= *intent.nonce) return {};
    const UnixMs now_ms = clock_.now_ms();
    const auto since = unexplained_since_ms_.emplace(intent.request.id, now_ms).first->second;
    if (now_ms - since < policy_.supersede_after_ms) {
        report.warnings.push_back(named(intent) + ": nonce " + std::to_string(*intent.nonce) +
                                  " is used by an unknown transaction");
        return {};
    }
    Outcome outcome;
    outcome.state = IntentState::kSuperseded;
    outcome.reason = "nonce " + std::to_string(*intent.nonce) +
                     " went to a transaction that was not sent from here; nothing of this intent "
                     "happened, submit it under another id if it is still wanted";
    GYM_CHECK(store_.settle(intent.request.id, outcome, now_ms));
    unexplained_since_ms_.erase(intent.request.id);
    ++report.settled;
    return {};
}

Status TxManager::settle_mined(const Intent& intent, const Attempt& attempt, const Receipt& receipt,
                               TickReport& report) {
    Outcome outcome;
    outcome.state = attempt.cancels   ? IntentState::kCancelled
                    : receipt.success ? IntentState::kDone
                                      : IntentState::kReverted;
    outcome.transaction_hash = receipt.transaction_hash;
    outcome.block_hash = receipt.block_hash;
    outcome.block_number = receipt.block_number;
    outcome.gas_used = receipt.gas_used;
    outcome.gas_price_wei = receipt.gas_price_wei;
    outcome.contract_address = receipt.contract_address;
    if (outcome.state == IntentState::kReverted) {
        GYM_TRY(outcome.reason, revert_reason(intent, receipt));
    }
    if (outcome.state == IntentState::kCancelled) outcome.reason = "cancelled on request";
    GYM_CHECK(store_.settle(intent.request.id, outcome, clock_.now_ms()));
    broadcast_at_ms_.erase(intent.request.id);
    mined_.erase(intent.request.id);
    ++report.settled;
    return {};
}

Status TxManager::keep_alive(const View& view, const Intent& intent, TickReport& report) {
    const Attempt& newest = intent.attempts.back();
    const UnixMs now_ms = clock_.now_ms();
    const bool wants_cancel = intent.cancel_requested && !newest.cancels;
    // Only the next nonce can be stuck for its fees; those behind it wait for it.
    const bool stuck =
        *intent.nonce == view.nonce_head && now_ms - newest.signed_at_ms >= policy_.bump_after_ms;
    if (wants_cancel || stuck) {
        GYM_TRY(const bool raised_now,
                raise_fees(view, intent, wants_cancel || newest.cancels, report));
        if (raised_now) return {};
    }
    const auto last = broadcast_at_ms_.find(intent.request.id);
    if (last != broadcast_at_ms_.end() && now_ms - last->second < policy_.rebroadcast_ms) return {};
    bool underpriced = false;
    GYM_CHECK(broadcast(intent, newest, report, underpriced));
    if (underpriced && *intent.nonce == view.nonce_head) {
        GYM_CHECK(raise_fees(view, intent, newest.cancels, report));
    }
    return {};
}

Result<bool> TxManager::raise_fees(const View& view, const Intent& intent, bool cancels,
                                   TickReport& report) {
    const Attempt& newest = intent.attempts.back();
    Fees fees;
    GYM_TRY(fees.fee_max_wei, raised(newest.fee_max_wei, policy_.bump_ppm));
    GYM_TRY(fees.priority_fee_wei, raised(newest.priority_fee_wei, policy_.bump_ppm));
    GYM_TRY(const auto market, market_fees(view, report));
    if (market) {
        fees.fee_max_wei = std::max(fees.fee_max_wei, market->fee_max_wei);
        fees.priority_fee_wei = std::max(fees.priority_fee_wei, market->priority_fee_wei);
    }
    fees.fee_max_wei = std::max(fees.fee_max_wei, fees.priority_fee_wei);
    if (fees.fee_max_wei > policy_.fee_ceiling_wei) {
        report.warnings.push_back(named(intent) +
                                  ": stuck, a higher fee would exceed the ceiling of " +
                                  policy_.fee_ceiling_wei.to_string() + " wei per gas");
        return false;
    }
    const Attempt attempt = sign(intent, *intent.nonce, intent.gas_limit, fees, cancels);
    const Status stored = store_.add_attempt(intent.request.id, intent.attempts.size(), attempt);
    if (!stored.ok() && stored.error().code == ErrorCode::kConflict)
        return true;  // done by another
    GYM_CHECK(stored);
    ++report.bumped;
    bool underpriced = false;
    GYM_CHECK(broadcast(intent, attempt, report, underpriced));
    return true;
}

Status TxManager::broadcast(const Intent& intent, const Attempt& attempt, TickReport& report,
                            bool& underpriced) {
    GYM_TRY(const SendOutcome outcome, client_.send(attempt.raw));
    broadcast_at_ms_[intent.request.id] = clock_.now_ms();
    if (outcome == SendOutcome::kAccepted)
        report.taken.insert_or_assign(intent.request.id, attempt.hash);
    underpriced = outcome == SendOutcome::kUnderpriced;
    if (underpriced) report.warnings.push_back(named(intent) + ": the node wants higher fees");
    if (outcome == SendOutcome::kNoFunds)
        report.warnings.push_back(named(intent) + ": " + sender().hex() +
                                  " cannot pay for gas and value; fund it");
    return {};
}

Result<bool> TxManager::start(const View& view, const Intent& intent, bool alone,
                              TickReport& report) {
    if (intent.cancel_requested) {
        Outcome outcome;
        outcome.state = IntentState::kCancelled;
        outcome.reason = "cancelled on request before it was sent";
        GYM_CHECK(store_.settle(intent.request.id, outcome, clock_.now_ms()));
        ++report.settled;
        return false;
    }
    GYM_TRY(const auto fees, market_fees(view, report));
    if (!fees) return false;
    GYM_TRY(const auto gas_limit, choose_gas(view, intent, alone, report));
    if (!gas_limit) return false;
    GYM_TRY(const std::uint64_t nonce, nonce_after(view));
    const Attempt attempt = sign(intent, nonce, *gas_limit, *fees, false);
    const Status assigned = store_.assign(intent.request.id, nonce, *gas_limit, attempt);
    if (!assigned.ok() && assigned.error().code == ErrorCode::kConflict) return false;  // next tick
    GYM_CHECK(assigned);
    bool underpriced = false;
    GYM_CHECK(broadcast(intent, attempt, report, underpriced));
    return true;
}

Result<std::optional<std::uint64_t>> TxManager::choose_gas(const View& view, const Intent& intent,
                                                           bool alone, TickReport& report) {
    using Out = std::optional<std::uint64_t>;
    if (intent.request.gas_limit) return Out(intent.request.gas_limit);
    CallRequest request{sender(), intent.request.to, intent.request.value_wei, intent.request.data,
                        std::nullopt};
    const auto estimate = client_.estimate_gas(request);
    if (!estimate.ok()) {
        if (try_later(estimate.error())) return estimate.error();
        report.warnings.push_back(named(intent) + ": " + estimate.error().message);
        return Out();
    }
    if (estimate->reverted) {
        // While transactions of ours are on their way it may still come to work: an approval before
        // a deposit.
        if (!alone) return Out();
        GYM_CHECK(reject(intent, decoder_(estimate->revert_data), report));
        return Out();
    }
    const std::uint64_t limit_max = std::min(policy_.gas_limit_max, view.head.gas_limit);
    if (estimate->gas > limit_max) {
        GYM_CHECK(reject(intent,
                         "needs " + std::to_string(estimate->gas) +
                             " gas, more than the limit of " + std::to_string(limit_max),
                         report));
        return Out();
    }
    const std::uint64_t margin = estimate->gas / kMillion * policy_.gas_margin_ppm +
                                 estimate->gas % kMillion * policy_.gas_margin_ppm / kMillion;
    return Out(std::min(estimate->gas + margin, limit_max));
}

Status TxManager::reject(const Intent& intent, const std::string& reason, TickReport& report) {
    Outcome outcome;
    outcome.state = IntentState::kRejected;
    outcome.reason = reason;
    GYM_CHECK(store_.settle(intent.request.id, outcome, clock_.now_ms()));
    ++report.settled;
    return {};
}

/// Twice the base fee plus the tip: good for six full blocks in a row. Absent above the ceiling.
Result<std::optional<TxManager::Fees>> TxManager::market_fees(const View& view,
                                                              TickReport& report) {
    GYM_TRY(const Amount suggested, client_.suggested_priority_fee());
    Fees fees;
    fees.priority_fee_wei = std::max(std::min(suggested, policy_.priority_fee_believed_wei),
                                     policy_.priority_fee_floor_wei);
    GYM_TRY(const Amount needed, view.head.base_fee_wei.plus(fees.priority_fee_wei));
    if (needed > policy_.fee_ceiling_wei) {
        report.warnings.push_back("gas costs " + needed.to_string() +
                                  " wei, above the ceiling of " +
                                  policy_.fee_ceiling_wei.to_string());
        return std::optional<Fees>();
    }
    GYM_TRY(const Amount comfortable, needed.plus(view.head.base_fee_wei));
    fees.fee_max_wei = std::min(comfortable, policy_.fee_ceiling_wei);
    return std::optional<Fees>(fees);
}

Result<std::string> TxManager::revert_reason(const Intent& intent, const Receipt& receipt) {
    if (receipt.gas_used >= intent.gas_limit) return std::string("ran out of gas");
    CallRequest request{sender(), intent.request.to, intent.request.value_wei, intent.request.data,
                        intent.gas_limit};
    // The state before its block is the closest that a node can repeat it on.
    const auto outcome = client_.call(request, receipt.block_number - 1);
    if (!outcome.ok()) {
        if (try_later(outcome.error())) return outcome.error();
        return "reverted; the reason cannot be told (" + outcome.error().message + ")";
    }
    if (!outcome->reverted)
        return std::string("reverted because of transactions before it in the same block");
    return decoder_(outcome->output);
}

Attempt TxManager::sign(const Intent& intent, std::uint64_t nonce, std::uint64_t gas_limit,
                        const Fees& fees, bool cancels) const {
    Transaction tx;
    tx.chain_id = policy_.chain_id;
    tx.nonce = nonce;
    tx.priority_fee_wei = fees.priority_fee_wei;
    tx.fee_max_wei = fees.fee_max_wei;
    if (cancels) {
        tx.gas_limit = 21'000;
        tx.to = sender();
    } else {
        tx.gas_limit = gas_limit;
        tx.to = intent.request.to;
        tx.value_wei = intent.request.value_wei;
        tx.data = intent.request.data;
    }
    SignedTransaction signed_tx = sign_transaction(tx, key_);
    return {signed_tx.hash, std::move(signed_tx.raw), fees.fee_max_wei, fees.priority_fee_wei,
            cancels,        clock_.now_ms()};
}

Result<Intent> TxManager::submit_idempotent(const IntentRequest& request) {
    IntentRequest numbered = request;
    for (int number = 1; number <= kRepeatsMax; ++number) {
        if (number > 1) numbered.id = request.id + "#" + std::to_string(number);
        GYM_TRY(Intent intent, submit(numbered));
        if (!is_settled(intent.state) || intent.state == IntentState::kDone) return intent;
    }
    return fail(ErrorCode::kConflict, "'" + request.label + "' did not happen under " +
                                          std::to_string(kRepeatsMax) + " intents");
}

Result<Intent> TxManager::wait(const std::string& id, std::uint32_t timeout_ms,
                               const OnSent& on_sent) {
    bool told = !on_sent;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    std::string trouble;
    for (;;) {
        const auto report = tick();
        if (!report.ok() && !try_later(report.error())) return report.error();
        trouble = !report.ok()               ? report.error().message
                  : report->warnings.empty() ? ""
                                             : report->warnings.back();
        GYM_TRY(Intent intent, store_.find(id));
        if (is_settled(intent.state)) return intent;
        if (!told && report.ok()) {
            if (const auto taken = report->taken.find(id); taken != report->taken.end()) {
                told = true;
                on_sent(taken->second);
            }
        }
        if (std::chrono::steady_clock::now() >= deadline)
            return fail(ErrorCode::kTimeout, named(intent) + " is still " +
                                                 std::string(to_string(intent.state)) + " after " +
                                                 std::to_string(timeout_ms) + " ms" +
                                                 (trouble.empty() ? "" : "; " + trouble));
        std::this_thread::sleep_for(std::chrono::milliseconds(policy_.poll_interval_ms));
    }
}

Result<Receipt> TxManager::wait_mined(const std::string& id, std::uint32_t timeout_ms) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    for (;;) {
        const auto report = tick();
        if (!report.ok() && !try_later(report.error())) return report.error();
        GYM_TRY(const Intent intent, store_.find(id));
        if (is_settled(intent.state) && intent.state != IntentState::kDone)
            return fail(ErrorCode::kConflict, named(intent) + " was " +
                                                  std::string(to_string(intent.state)) + ": " +
                                                  intent.outcome->reason);
        for (const Attempt& attempt : intent.attempts) {
            const auto receipt = client_.receipt(attempt.hash);
            if (!receipt.ok() && !try_later(receipt.error())) return receipt.error();
            if (!receipt.ok() || !*receipt) continue;
            if (attempt.cancels)
                return fail(ErrorCode::kConflict, named(intent) + " was cancelled");
            if ((*receipt)->success) return **receipt;
            GYM_TRY(const std::string reason, revert_reason(intent, **receipt));
            return fail(ErrorCode::kConflict, named(intent) + ": " + reason);
        }
        if (std::chrono::steady_clock::now() >= deadline)
            return fail(ErrorCode::kTimeout, named(intent) + " is in no block after " +
                                                 std::to_string(timeout_ms) + " ms");
        std::this_thread::sleep_for(std::chrono::milliseconds(policy_.poll_interval_ms));
    }
}

Result<Outcome> TxManager::execute(const IntentRequest& request, std::uint32_t timeout_ms,
                                   const OnSent& on_sent) {
    GYM_CHECK(submit(request));
    GYM_TRY(const Intent intent, wait(request.id, timeout_ms, on_sent));
    if (intent.state != IntentState::kDone)
        return fail(ErrorCode::kConflict, named(intent) + " was " +
                                              std::string(to_string(intent.state)) + ": " +
                                              intent.outcome->reason);
    return *intent.outcome;
}

}  // namespace gym::chain
