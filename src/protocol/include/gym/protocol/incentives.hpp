#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/result.hpp"

/// Whether a network's parameters make honest work the best choice for everyone who counts only
/// money (docs/REWARDS.md, "When cheating loses money", derives each formula). Pure functions.
/// Estimates, not money: amounts are tokens in binary64, shares parts per million; a margin below
/// one in 10^9 counts as none. Every function but validate() expects parameters that it accepts.
namespace gym::protocol {

/// Units that one worker may have open, and reports that one verifier may have pending.
inline constexpr std::uint64_t kOpenUnitsLimit = 1'000'000;

struct WorkerTerms {
    double stake_tokens = 0;
    double unit_reward_tokens = 0;
    std::uint32_t bonus_ppm = 0;  ///< uptime bonus on top, at most
    double unit_cost_tokens = 0;  ///< of computing a unit honestly
    /// Value of a wrong unit to the cheat beyond its reward, kept even when caught.
    double outside_gain_tokens = 0;
    std::uint64_t open_units_max = 1;  ///< units of one worker that are not final
    /// Whether no credit of a worker becomes final while a game against it is open. Otherwise a
    /// cheat that is caught keeps what its other wrong units earn until the verdict.
    bool credits_wait = false;
    double unit_seconds = 0;  ///< assignment to the root on chain, at most
};

struct SamplingTerms {
    std::uint32_t floor_ppm = 0;  ///< the rate after a long honest run, which a cheat waits for
    std::uint64_t verifiers = 1;
    std::uint32_t colluding_ppm = 0;  ///< of the verifiers, rounded up to whole ones
};

/// The finder receives the rest of a slash after burning and compensation.
struct SlashTerms {
    std::uint32_t burned_ppm = 0;
    std::uint32_t compensation_ppm = 0;  ///< of the other provers
    /// Share of the stake that the first clocks that run out cost. A cheat that is caught never
    /// answers, so no more than this is at stake for it.
    std::uint32_t missed_clock_ppm = 1'000'000;
};

struct ChallengeTerms {
    double bond_tokens = 0;
    /// Games of equal size, beside the finder's, that share the compensation.
    std::uint64_t provers = 1;
    std::uint32_t outage_ppm = 0;  ///< how often an honest challenger runs out of time
    double gas_price_gwei = 0;
    double ether_price_tokens = 0;
    std::uint64_t challenger_gas = 0;  ///< of a whole game, announcement and opening included
    std::uint64_t defender_gas = 0;
    std::uint64_t escrow_gas = 0;  ///< paid in at twice the base fee by whoever opens
};

struct VerifierTerms {
    double unit_cost_tokens = 0;  ///< of executing a unit again
    double report_reward_tokens = 0;
    double stake_tokens = 0;  ///< lost when caught
    /// Of reports on workers' units: lost by one that a game proves false, or by the clock as a
    /// worker's is. A copy of a right result is no false report.
    double report_stake_tokens = 0;
    /// Value of a false report to its author beyond the pay of a unit that one of its own workers
    /// may have in the place of the accused one's.
    double false_report_gain_tokens = 0;
    /// Reports that a verifier can expect to be paid for under its present name. 0 where a new name
    /// costs nothing.
    double reports_ahead = 0;
    std::uint64_t reports_pending_max = 1;  ///< unpaid reports of one verifier
    /// Share of a unit that must be executed to have the trace that a report needs: 1/2 where the
    /// traced step is random, all of it where it is the last one.
    std::uint32_t traced_ppm = 0;
    std::uint32_t audit_ppm = 0;   ///< share of agreeing reports that the coordinator repeats
    std::uint32_t double_ppm = 0;  ///< share of drawn units with two verifiers
    std::uint32_t canary_ppm = 0;  ///< share of drawn units with a planted fault
};

struct TimeTerms {
    double window_seconds = 0;
    double clock_seconds = 0;  ///< of each side, for a whole game
    double settling_seconds = 0;
    double thaw_seconds = 0;
    double forced_inclusion_seconds = 0;  ///< after which a chain's censor cannot hold a move back
    double slowest_verifier_seconds = 0;  ///< to execute one unit
    // The longest deadlines of a job (protocol/dispute_window.hpp).
    double report_seconds = 600;
    double reveal_seconds = 60;
    std::uint32_t draws_max = 3;
};

struct IncentiveParams {
    WorkerTerms worker;
    SamplingTerms sampling;
    SlashTerms slash;
    ChallengeTerms challenge;
    VerifierTerms verifier;
    TimeTerms times;
    std::uint32_t capital_cost_ppm = 0;  ///< of locked money, a year
};

/// @errors kInvalidArgument naming the first field that is out of its range, not finite, or does
/// not fit another.
Status validate(const IncentiveParams& params);

/// Verifiers that collude: the share, rounded up to whole ones.
[[nodiscard]] std::uint64_t colluding_verifiers(const SamplingTerms& sampling);
/// Chance that one faulty unit is drawn for a verifier that does not collude, at the floor rate.
[[nodiscard]] double detection_rate(const SamplingTerms& sampling);
/// 1 - (1 - rate)^count, without cancellation.
[[nodiscard]] double caught(double rate, std::uint64_t count);
/// Chance that the report of a verifier that executed nothing is found out.
[[nodiscard]] double copy_detection_rate(const IncentiveParams& params);
/// The same for one that stopped after the traced step.
[[nodiscard]] double early_stop_detection_rate(const IncentiveParams& params);

/// A strategy with its expected gain and loss in tokens, at the number of units (reports) where
/// their ratio is the best for the cheat.
struct Strategy {
    std::uint64_t count = 0;
    double gain_tokens = 0;
    double loss_tokens = 0;
};
[[nodiscard]] Strategy best_cheat(const IncentiveParams& params);
[[nodiscard]] Strategy best_copying(const IncentiveParams& params);
[[nodiscard]] Strategy best_early_stop(const IncentiveParams& params);

enum class Measure : std::uint8_t { kTokens, kSeconds, kGas, kVerifiers };

/// One inequality that must hold. Tokens: have > need, or nothing is needed; else have >= need.
struct Condition {
    std::string_view id;     ///< stable: "cheating_loses"
    std::string_view claim;  ///< what it means when it holds
    Measure measure = Measure::kTokens;
    double have = 0;
    double need = 0;
    std::uint64_t count = 0;  ///< units or reports at once where it is closest; 0: none
    bool holds = false;
    std::string remedy;  ///< what to change; empty where it holds
};
/// All conditions, always in the same order.
[[nodiscard]] std::vector<Condition> check_incentives(const IncentiveParams& params);

/// Bounds of one parameter with all others as they are: infinite where none is enough (lower
/// bounds) or none is too much (upper bounds).
struct SafeBounds {
    double stake_tokens = 0;  ///< cheating loses and a challenge pays above it
    /// The same for cheats alone, in multiples of a unit's pay without its bonus. Where wrong units
    /// have no value outside of the network, it does not depend on what a unit pays.
    double stake_per_unit_pay = 0;
    double unit_reward_tokens = 0;  ///< cheating loses below it
    /// Cheating loses for every number of units up to it: 0 if not even for one, kOpenUnitsLimit
    /// where the number does not matter.
    std::uint64_t open_units = 0;
};
[[nodiscard]] SafeBounds safe_bounds(const IncentiveParams& params);

}  // namespace gym::protocol
