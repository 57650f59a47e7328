#include "job/plan_print.hpp"

#include <boost/json.hpp>

#include "cli/rows.hpp"
#include "gym/common/duration_text.hpp"
#include "gym/common/memory.hpp"
#include "gym/common/plural.hpp"
#include "gym/common/speed_text.hpp"
#include "gym/plan/units.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr double kSecondsPerMinute = 60;
constexpr double kUsdShownMin = 0.01;  // of the comparison with a cloud

const plan::CloudPrice& cloud() {
    return plan::cloud_prices().front();
}

double usd_per_hour(const JobOutlook& outlook) {
    return outlook.cloud_usd_per_hour.value_or(cloud().usd_per_hour);
}

void print_time(const JobOutlook& outlook) {
    const plan::Estimate& estimate = outlook.estimate;
    if (!estimate.seconds) {
        print_row("time", "unknown: {}",
                  outlook.facts.unknown.empty() ? "no worker is live" : outlook.facts.unknown);
        return;
    }
    print_row("time", "{} ({} live; a unit takes {})",
              duration_text(estimate.seconds->low, estimate.seconds->high),
              counted(outlook.facts.workers.size(), "worker"),
              duration_text(estimate.unit_s->low, estimate.unit_s->high));
}

void print_verification(const plan::VerificationShare& share) {
    print_row("verification",
              "{} of compute expected; new workers {}: every unit is run again; trusted workers "
              "{}: after n valid units in a row 1 in n, down to the floor",
              plan::share_text(share.expected_ppm), plan::share_text(share.untrusted_ppm),
              plan::share_text(share.trusted_ppm));
}

json::value minutes_or_null(const std::optional<plan::SecondsRange>& seconds,
                            double plan::SecondsRange::*end) {
    return seconds ? json::value((*seconds).*end / kSecondsPerMinute) : json::value(nullptr);
}

/// Money is rounded for people; a job file has all of its digits.
std::string shown_value(const plan::Plan& plan, const plan::Reason& reason) {
    if (reason.term == "price_per_pflop") return plan::money_text(plan.price.wei_per_pflop);
    if (reason.term == "budget") return plan::money_text(plan.budget_wei, plan::Rounding::kUp);
    return reason.value;
}

}  // namespace

void print_plan(const plan::Plan& plan) {
    print_row("plan", "{}", plan.equation);
    for (const plan::Reason& reason : plan.reasons)
        print_line("  {:<19} {:<12}  {}", reason.term, shown_value(plan, reason), reason.why);
    for (const std::string& note : plan.notes)
        print_row("note", "{}", note);
}

json::object plan_json(const plan::Plan& plan) {
    json::array reasons, notes;
    for (const plan::Reason& reason : plan.reasons)
        reasons.push_back(
            json::object{{"term", reason.term}, {"value", reason.value}, {"why", reason.why}});
    for (const std::string& note : plan.notes)
        notes.emplace_back(note);
    return {{"equation", plan.equation},
            {"terms", std::move(reasons)},
            {"notes", std::move(notes)},
            {"shortage", plan.shortage
                             ? json::value(json::object{
                                   {"nodes_wanted", plan.shortage->wanted},
                                   {"nodes_planned", plan.terms.slots_max},
                                   {"minutes_low", minutes_or_null(plan.shortage->seconds,
                                                                   &plan::SecondsRange::low)},
                                   {"minutes_high", minutes_or_null(plan.shortage->seconds,
                                                                    &plan::SecondsRange::high)}})
                             : json::value(nullptr)}};
}

void print_outlook(const JobOutlook& outlook) {
    const plan::Estimate& estimate = outlook.estimate;
    print_time(outlook);
    print_row("memory", "each worker needs {}", plan::need_text(estimate.memory));
    print_row("upload", "{} from each worker in a round", memory_text(estimate.delta_bytes));
    print_row("download", "{} to each worker in a round", memory_text(estimate.fetched_bytes));
    if (outlook.facts.money_known())
        print_row("expected", "{} (compute, verification, full uptime bonus, data, fee)",
                  plan::money_text(estimate.expected_wei));
    else
        print_row("expected", "unknown: the network's rates or the data's price are missing");
    print_verification(estimate.verification);
    if (outlook.machine_flops)
        print_row("alone", "{} on this machine ({} by `gym node bench`)",
                  duration_text(estimate.flops / static_cast<double>(*outlook.machine_flops)),
                  speed_text(static_cast<double>(*outlook.machine_flops)));
    const plan::CloudCost rented =
        plan::cloud_cost(cloud(), estimate.flops, outlook.cloud_usd_per_hour);
    if (rented.usd < kUsdShownMin) return;
    print_row("in a cloud", "{} and about ${:.2f} on one {}, if it reaches {:.0f} % of its peak",
              duration_text(rented.seconds), rented.usd, cloud().accelerator,
              plan::kCloudUtilisation * 100);
    if (outlook.cloud_usd_per_hour)
        print_row("", "(${:.2f} an hour, as you say)", usd_per_hour(outlook));
    else
        print_row("", "(assumed: ${:.2f} an hour, {}; --cloud-price sets yours)",
                  usd_per_hour(outlook), cloud().source);
}

void add_outlook(const JobOutlook& outlook, json::object& quote) {
    const plan::Estimate& estimate = outlook.estimate;
    using Range = plan::SecondsRange;
    quote["training_tokens"] = estimate.tokens;
    quote["training_tokens_today"] =
        estimate.tokens_today ? json::value(*estimate.tokens_today) : json::value(nullptr);
    quote["workers_live"] = outlook.facts.workers.size();
    quote["running_jobs"] = outlook.facts.running_jobs;
    quote["running_slots"] = outlook.facts.running_slots;
    quote["worker_memory_bytes"] = estimate.memory.cpu_bytes;
    quote["worker_gpu_memory_bytes"] = estimate.memory.on_gpu();
    quote["delta_bytes"] = estimate.delta_bytes;
    quote["round_download_bytes"] = estimate.fetched_bytes;
    quote["minutes_low"] = minutes_or_null(estimate.seconds, &Range::low);
    quote["minutes_high"] = minutes_or_null(estimate.seconds, &Range::high);
    quote["unit_minutes_low"] = minutes_or_null(estimate.unit_s, &Range::low);
    quote["unit_minutes_high"] = minutes_or_null(estimate.unit_s, &Range::high);
    quote["expected_wei"] = outlook.facts.money_known()
                                ? json::value(estimate.expected_wei.to_string())
                                : json::value(nullptr);
    quote["verification_ppm"] = estimate.verification.expected_ppm;
    quote["verification_untrusted_ppm"] = estimate.verification.untrusted_ppm;
    quote["verification_trusted_ppm"] = estimate.verification.trusted_ppm;
    quote["machine_flops_per_second"] =
        outlook.machine_flops ? json::value(*outlook.machine_flops) : json::value(nullptr);
    quote["alone_minutes"] =
        outlook.machine_flops
            ? json::value(estimate.flops / static_cast<double>(*outlook.machine_flops) /
                          kSecondsPerMinute)
            : json::value(nullptr);
    const plan::CloudCost rented =
        plan::cloud_cost(cloud(), estimate.flops, outlook.cloud_usd_per_hour);
    quote["cloud"] = json::object{
        {"accelerator", std::string(cloud().accelerator)},
        {"usd_per_hour", usd_per_hour(outlook)},
        {"source", outlook.cloud_usd_per_hour ? "--cloud-price" : std::string(cloud().source)},
        {"utilisation", plan::kCloudUtilisation},
        {"minutes", rented.seconds / kSecondsPerMinute},
        {"usd", rented.usd}};
}

}  // namespace gym::app
