#include <chrono>
#include <thread>

#include "gym/chain/tx_manager.hpp"
#include "tx_text.hpp"

namespace gym::chain {

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
