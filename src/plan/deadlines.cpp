#include "deadlines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gym/common/duration_text.hpp"
#include "gym/plan/draft.hpp"
#include "gym/protocol/dispute_window.hpp"

namespace gym::plan {
namespace {

constexpr std::int64_t kSecondMs = 1'000, kMinuteMs = 60'000;
constexpr std::int64_t kLongestMs = std::int64_t{30} * 24 * 3600 * 1000;
/// Of a short window: what a verifier has to open its report.
constexpr std::int64_t kRevealShare = 12;

Error does_not_fit(std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message));
}

std::int64_t deadline_ms(double unit_s, std::int64_t at_least) {
    const double wanted_ms = (static_cast<double>(kDeadlineFactor) * unit_s + 60) * 1000;
    const double minutes = std::ceil(wanted_ms / kMinuteMs);
    const double most = static_cast<double>(kLongestMs) / kMinuteMs;
    return std::max(at_least, static_cast<std::int64_t>(std::min(minutes, most)) * kMinuteMs);
}

/// Seconds of one step on the slowest live verifier; like a worker where none is known.
double verifier_step_s(const Inputs& in) {
    const auto verifier = slowest(in.facts.verifiers);
    if (!verifier) return in.step_s();
    return static_cast<double>(in.work.flops_per_step) / static_cast<double>(*verifier);
}

std::int64_t short_reveal_ms(const Inputs& in) {
    if (in.fixed.reveal_ms) return *in.fixed.reveal_ms;
    const std::int64_t share = *in.facts.dispute_window_ms / kRevealShare / kSecondMs * kSecondMs;
    return std::clamp(share, registry::kRevealMsMin, protocol::LifecycleParams().reveal_ms);
}

std::int64_t report_that_fits_ms(const Inputs& in, std::uint32_t draws) {
    return protocol::report_ms_max(draws, short_reveal_ms(in), *in.facts.dispute_window_ms) /
           kSecondMs * kSecondMs;
}

/// As many draws as leave a verifier time for the unit, and the time that they leave.
void shorten(const Inputs& in, protocol::LifecycleParams& life, std::uint32_t steps) {
    life.reveal_ms = short_reveal_ms(in);
    // A verifier runs the whole unit: a job file with less is refused.
    const std::int64_t least_ms =
        std::max(registry::kReportMsMin, in.fixed.unit_ms.value_or(0) / 2);
    const double wanted_ms = static_cast<double>(kDeadlineFactor * kSecondMs) *
                             verifier_step_s(in) * static_cast<double>(steps);
    const auto suffices = [&](std::uint32_t draws) {
        const std::int64_t fits = report_that_fits_ms(in, draws);
        if (in.fixed.report_ms) return fits >= *in.fixed.report_ms;
        return fits >= least_ms && static_cast<double>(fits) >= wanted_ms;
    };
    if (!in.fixed.draws_max)
        while (life.draws_max > 1 && !suffices(life.draws_max))
            --life.draws_max;
    if (!in.fixed.report_ms)
        life.report_ms = std::clamp(report_that_fits_ms(in, life.draws_max), least_ms,
                                    std::max(life.report_ms, least_ms));
    if (!in.fixed.unit_ms) life.unit_ms = std::min(life.unit_ms, 2 * life.report_ms);
}

/// The most steps of which the slowest verifier is done `times` times by its deadline, and the
/// slowest worker by its own, of those that are not fixed.
std::uint64_t steps_in_time(const Inputs& in, std::uint64_t times) {
    constexpr std::uint64_t kNone = registry::kJobStepsMax;
    if (!in.facts.dispute_window_ms) return kNone;
    const std::int64_t report_ms =
        in.fixed.report_ms.value_or(report_that_fits_ms(in, in.fixed.draws_max.value_or(1)));
    // A worker has twice as long.
    const double step_s = std::max(verifier_step_s(in), in.fixed.unit_ms ? 0 : in.step_s() / 2) *
                          static_cast<double>(times);
    const double steps = std::floor(static_cast<double>(report_ms) / kSecondMs / step_s);
    return steps >= static_cast<double>(kNone) ? kNone
                                               : static_cast<std::uint64_t>(std::max(steps, 0.0));
}

}  // namespace

std::uint64_t steps_within_window(const Inputs& in) {
    return steps_in_time(in, kDeadlineFactor);
}

Status choose_deadlines(const Inputs& in, registry::JobTerms& terms) {
    protocol::LifecycleParams& life = terms.lifecycle;
    const protocol::LifecycleParams usual;
    const double unit_s = in.step_s() * terms.steps;
    life.unit_ms = in.fixed.unit_ms.value_or(deadline_ms(unit_s, usual.unit_ms));
    life.report_ms = in.fixed.report_ms.value_or(
        std::max(life.unit_ms, deadline_ms(verifier_step_s(in) * terms.steps, usual.report_ms)));
    const auto window_ms = in.facts.dispute_window_ms;
    if (window_ms && !protocol::outlasts_window(life, *window_ms).empty()) {
        shorten(in, life, terms.steps);
        if (const auto why = protocol::outlasts_window(life, *window_ms); !why.empty())
            return does_not_fit(why);
        const std::uint64_t most = steps_within_window(in);
        if (!in.fixed.report_ms && terms.steps > steps_in_time(in, 1))
            return does_not_fit(fmt::format(
                "a unit of {} steps is too long for this network: a fault can be taken to the "
                "chain for {} after the draw, which leaves a verifier {} for it{}",
                terms.steps, duration_text(static_cast<double>(*window_ms) / kSecondMs),
                duration_text(static_cast<double>(life.report_ms) / kSecondMs),
                most == 0 ? std::string(": take a smaller model, `batch` or `context`")
                          : fmt::format(": --set steps_per_round={}, or fewer", most)));
    }
    if (in.fixed.elastic) return {};
    terms.elastic = elasticity_of(terms.slots_max);
    life.grace_ms = std::min(life.unit_ms, grace_ms_of(unit_s));
    return {};
}

std::vector<Reason> deadline_reasons(const Inputs& in, const registry::JobTerms& terms) {
    const protocol::LifecycleParams& life = terms.lifecycle;
    const protocol::LifecycleParams usual;
    const std::string given = "as you say";
    const std::string window = "what the network's window for disputes leaves";
    const auto why = [&](bool is_fixed, bool is_short, const std::string& rule) {
        return is_fixed ? given : is_short ? window : rule;
    };
    std::vector<Reason> out{
        {"unit_ms", std::to_string(life.unit_ms),
         why(in.fixed.unit_ms.has_value(), life.unit_ms < usual.unit_ms,
             fmt::format("{} units of the slowest live worker, at least 10 min", kDeadlineFactor))},
        {"report_ms", std::to_string(life.report_ms),
         why(in.fixed.report_ms.has_value(), life.report_ms < usual.report_ms,
             "the same of the slowest live verifier")}};
    if (life.reveal_ms != usual.reveal_ms && !in.fixed.reveal_ms)
        out.push_back({kRevealTerm, std::to_string(life.reveal_ms), window});
    if (life.draws_max != usual.draws_max && !in.fixed.draws_max)
        out.push_back({kDrawsTerm, std::to_string(life.draws_max), window});
    return out;
}

Status check_window(const registry::JobTerms& terms, const Facts& facts) {
    if (!facts.dispute_window_ms) return {};
    const std::string why = protocol::outlasts_window(terms.lifecycle, *facts.dispute_window_ms);
    return why.empty() ? Status() : Status(does_not_fit(why));
}

Result<std::string> fit_deadlines(const std::string& text, const registry::JobTerms& terms,
                                  const ModelWork& work, const Facts& facts) {
    YamlText out(text, "the job");
    if (check_window(terms, facts).ok()) return text;
    FixedTerms fixed;
    fixed.rest = terms;
    fixed.elastic = true;
    GYM_CHECK(fix_deadlines(out, terms, fixed));
    const Wishes none;
    const Inputs in{none, fixed, work, facts};
    registry::JobTerms chosen = terms;
    GYM_CHECK(choose_deadlines(in, chosen));
    for (const Reason& reason : deadline_reasons(in, chosen)) {
        const std::string path = path_of(reason.term);
        GYM_TRY(const bool there, out.has(path));
        if (!there) GYM_CHECK(out.set(path, reason.value));
    }
    return out.text();
}

}  // namespace gym::plan
