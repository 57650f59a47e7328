#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/plan/estimate.hpp"
#include "gym/plan/facts.hpp"
#include "gym/registry/jobs.hpp"

/// From what an owner wants (tokens, nodes, money, time) to the terms of a job (docs/JOBS.md, "The
/// plan"). A pure function: the command line and Python plan the same job.
namespace gym::plan {

inline constexpr std::uint32_t kNodesDefault = 8;      ///< at most, without a wish
inline constexpr std::uint32_t kStepsDefault = 100;    ///< H
inline constexpr std::uint32_t kStepsLongest = 500;    ///< of units that would be short
inline constexpr std::uint64_t kUnitSecondsMin = 60;   ///< shorter units get more steps
inline constexpr std::uint64_t kUnitSecondsMax = 600;  ///< longer ones fewer
inline constexpr std::uint32_t kRoundsWanted = 4;      ///< so that deltas are averaged at all
/// With fewer rounds the outer step forgets faster: see OuterStep.
inline constexpr std::uint64_t kOuterRounds = 100;
inline constexpr std::uint64_t kDeadlineFactor = 3;  ///< of a unit's time on the slowest worker
inline constexpr std::uint64_t kEvaluateTokens = 65'536;  ///< of a round's validation
/// Speed that deadlines are made for where no worker is live: a small CPU machine.
inline constexpr std::uint64_t kAssumedFlopsPerSecond = 20'000'000'000;

/// GYM for 10^15 operations, where neither the owner nor a job of the network names a price.
inline constexpr std::uint64_t kDefaultPriceGym = 10;
[[nodiscard]] Amount default_price_wei_per_pflop();

/// What the owner asks for. Absent: the rules decide.
struct Wishes {
    std::optional<std::uint64_t> tokens;  ///< to train on, repetitions counted
    /// Workers of a round; a plan is for those of them that are live, so that it trains the tokens.
    std::optional<std::uint32_t> nodes;
    std::optional<Amount> max_cost_wei;     ///< never more is locked
    std::optional<std::uint64_t> within_s;  ///< the slow end of the estimate must not be later

    [[nodiscard]] bool any() const { return tokens || nodes || max_cost_wei || within_s; }
};

/// Terms that the owner wrote: they win over every rule.
struct FixedTerms {
    std::optional<std::uint64_t> rounds;
    std::optional<std::uint32_t> slots, workers_min, steps, checkpoint_every, evaluate_windows;
    std::optional<Amount> price_wei_per_pflop, budget_wei;
    std::optional<std::int64_t> unit_ms, report_ms, reveal_ms;
    std::optional<std::uint32_t> draws_max;
    bool elastic = false;     ///< any key of it: `rest` has all of it then
    registry::JobTerms rest;  ///< sampling, elasticity, the other deadlines, bounds of norms

    /// Whether every term is here that a job file must have.
    [[nodiscard]] bool complete() const {
        return rounds && slots && steps && price_wei_per_pflop && budget_wei;
    }
};

/// The outer step of a job of few rounds. A model's own one (0.7 and 0.9, DiLoCo's) is made for
/// hundreds of rounds: of its first delta it takes 1.33 times, which throws the model beyond where
/// its workers were, and every delta pushes on for ten rounds, in the end to 7 times its length,
/// while a job of four rounds has ended by then. Here the first step is no longer than the delta,
/// and a delta pushes on for a tenth of the rounds (docs/BENCHMARKS.md, "Rounds of a small plan").
struct OuterStep {
    double learning_rate = 0;
    double momentum = 0;
};
/// Momentum 1 - 10 / rounds, at least 0.4; rate 1 / (1 + momentum), at most 0.7; both in
/// hundredths, the rate rounded down. Absent for kOuterRounds and more: the model's own.
[[nodiscard]] std::optional<OuterStep> outer_step(std::uint64_t rounds);
/// The outer step of a job whose rounds overlap, however many they are: of those that were tried,
/// the one of least loss (docs/TESTING.md, "Rounds that overlap"). With DiLoCo's such a job does
/// not converge.
inline constexpr OuterStep kOverlapOuter{0.4, 0.5};
/// rate / (1 - momentum), the length of a delta's push in the end. With an overlap those up to 1.33
/// converged, and those from 3.5 on did not or badly.
inline constexpr double kOverlapReachMax = 1.4;
/// What a plan with these terms has in the place of a model's own outer step; absent: that one.
[[nodiscard]] std::optional<OuterStep> outer_step_of(const registry::JobTerms& terms);

// Terms that a job file has below `model`.
inline constexpr const char* kOuterRateTerm = "outer.learning_rate";
inline constexpr const char* kOuterMomentumTerm = "outer.momentum";
inline constexpr const char* kCompressionTerm = "compression";
inline constexpr const char* kUpdateTerm = "update";
// ... and all terms of its `elastic`, with this before their names.
inline constexpr const char* kElasticTerms = "elastic.";
/// delta_norm_factor of planned jobs.
inline constexpr double kDeltaNormFactor = 4;
/// Of planned jobs: a round waits for nobody longer than it has to, and nothing of a worker that
/// is late is lost. The quorum is 90 % of 20 slots and more, 75 % of fewer, 50 % of fewer than
/// four: less than one silent worker leaves.
[[nodiscard]] registry::Elasticity elasticity_of(std::uint32_t slots);
/// The grace time of planned jobs, in milliseconds: a twentieth of a unit of `unit_s` seconds, in
/// whole seconds rounded up, at least 15 of them.
[[nodiscard]] std::int64_t grace_ms_of(double unit_s);

/// A term of the plan and the rule that made it.
struct Reason {
    std::string term;  ///< a job file's key
    std::string value;
    std::string why;
};

enum class PriceSource : std::uint8_t {
    kOwner,      ///< wrote it
    kMedianJob,  ///< half of what the network's newest jobs trained cost no more
    kDefault,    ///< kDefaultPriceGym
};
[[nodiscard]] std::string_view to_string(PriceSource source) noexcept;

/// The one rule of prices: the owner's; else the median of what jobs paid; else the default. A
/// price that the owner did not write is lowered until the most that the job can cost is within the
/// money.
struct PriceChoice {
    Amount wei_per_pflop = {};
    PriceSource source = PriceSource::kOwner;
    std::optional<Digest> job = {};               ///< of kMedianJob
    std::optional<Amount> lowered_from_wei = {};  ///< the source's own price, if it is too high
    Amount enough_wei = {};  ///< money that pays that price for sure; of a lowered one
    std::string why = {};    ///< all of this in words
};

/// A plan for fewer workers than the owner wants, because no more are live.
struct Shortage {
    std::uint32_t wanted = 0;
    std::optional<SecondsRange> seconds;  ///< that the job takes with all of them
};

struct Plan {
    registry::JobTerms terms;
    std::optional<OuterStep> outer = {};    ///< absent: the model's own
    std::optional<Shortage> shortage = {};  ///< of workers
    PriceChoice price;
    Amount budget_wei;
    Estimate estimate;
    std::string equation;            ///< "1.0e9 tokens = 153 rounds x 8 workers x 100 steps x ..."
    std::vector<Reason> reasons;     ///< in the order of a job file
    std::vector<std::string> notes;  ///< sentences that the owner should read before paying
    /// The same about workers that are missing or too small, and about an overlap: of a shortage,
    /// worker_warnings() and overlap_warnings().
    std::vector<std::string> warnings = {};
};

/// Plans count rounds of all slots, and so do prices: a sentence about what today's workers train
/// of that, if they are fewer than the slots that the owner insists on; one if other jobs that run
/// now need them, too; and one if some of them, or all, lend less memory than the model takes.
/// Empty if they are enough, or not known.
[[nodiscard]] std::vector<std::string> worker_warnings(const registry::JobTerms& terms,
                                                       const Estimate& estimate,
                                                       const Facts& facts);

/// What the owner of a job whose rounds overlap should read: what that costs, and an outer step of
/// the model that is too large for it. Empty without an overlap.
[[nodiscard]] std::vector<std::string> overlap_warnings(const registry::JobTerms& terms,
                                                        const ModelWork& work);

/// That the network has room for the deltas of such a job, where it says how much it has.
/// @errors kInvalidArgument naming the setting.
[[nodiscard]] Status check_sizes(const registry::JobTerms& terms, const ModelWork& work,
                                 const Facts& facts);

/// That the checks of such a job's units end within the network's window for disputes, where the
/// network says how long it is. @errors kInvalidArgument with protocol::outlasts_window().
[[nodiscard]] Status check_window(const registry::JobTerms& terms, const Facts& facts);

/// The plan's guarantees: rounds * slots * steps * tokens per step >= wishes.tokens, and less than
/// one step of every slot of every round more; budget <= max_cost, and enough for a round; the
/// expected cost is within the budget; an amount that a refusal suggests is accepted when it is
/// given as max_cost in the place of the budget, and so are the tokens that it suggests; unit_ms
/// holds kDeadlineFactor units of the slowest live worker, or one where the window for disputes is
/// short and the owner fixed the steps, and the checks of a unit fit into the
/// network's window for disputes. Deterministic.
/// @errors those of check_sizes() and check_window(); kInvalidArgument saying which wish or term
/// stands against which, with the number that would do; kOutOfRange for amounts beyond 256 bits;
/// the facts' `unknown_code` where the network's facts are needed and unknown.
[[nodiscard]] Result<Plan> make_plan(const Wishes& wishes, const FixedTerms& fixed,
                                     const ModelWork& work, const Facts& facts);

}  // namespace gym::plan
