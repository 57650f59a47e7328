#include "gym/plan/facts.hpp"

#include <algorithm>

namespace gym::plan {
namespace {

/// Descending, without those that are unknown.
std::vector<std::uint64_t> speeds_of(const std::vector<Machine>& machines) {
    std::vector<std::uint64_t> out;
    for (const Machine& machine : machines)
        if (machine.flops_per_second > 0) out.push_back(machine.flops_per_second);
    std::ranges::sort(out, std::greater<>());
    return out;
}

Result<std::vector<Machine>> live_machines(const client::ApiClient& api, records::NodeRole role) {
    GYM_TRY(const auto nodes, api.nodes(role));
    std::vector<Machine> out;
    for (const client::Node& node : nodes)
        if (node.live && !node.excluded)
            out.push_back(
                {node.flops_per_second, node.valid_value, node.memory_bytes, node.device});
    return out;
}

/// A price counts if workers took it: a job that never trained shows only what somebody offered.
Status add_market(const client::ApiClient& api, Facts& facts) {
    GYM_TRY(const client::Market market, api.market());
    facts.running_jobs = market.running_jobs;
    facts.running_slots = market.running_slots;
    facts.least_price = market.least_wei_per_pflop;
    if (market.paid) facts.usual_price = PaidPrice{market.paid->wei_per_pflop, market.paid->job};
    return {};
}

Status add_fee(const client::ApiClient& api, Facts& facts) {
    const auto fee = api.fee();
    if (!fee.ok() && fee.error().code == ErrorCode::kNotFound) return {};  // not published yet
    if (!fee.ok()) return fee.error();
    facts.bound = fee->bound;
    facts.sizes = fee->sizes;
    facts.dispute_window_ms = fee->dispute_window_ms;
    facts.fee_ppm = fee->rates.fee_ppm;
    facts.verification_premium_ppm =
        fee->verification_premium_ppm.value_or(facts.verification_premium_ppm);
    facts.uptime_bonus_max_ppm = fee->uptime_bonus_max_ppm.value_or(facts.uptime_bonus_max_ppm);
    return {};
}

Status add_all(const client::ApiClient& api, Facts& facts) {
    GYM_TRY(facts.workers, live_machines(api, records::NodeRole::kWorker));
    GYM_TRY(facts.verifiers, live_machines(api, records::NodeRole::kVerifier));
    GYM_CHECK(add_fee(api, facts));
    return add_market(api, facts);
}

}  // namespace

Result<Facts> network_facts(const client::ApiClient& api) {
    Facts facts;
    const Status read = add_all(api, facts);
    if (read.ok()) return facts;
    if (read.error().code == ErrorCode::kMalformed) return read.error();
    Facts none;
    none.unknown = read.error().message;
    none.unknown_code = read.error().code;
    return none;
}

std::optional<std::uint64_t> slowest(const std::vector<Machine>& machines) {
    return slowest_of_fastest(machines, machines.size());
}

std::optional<std::uint64_t> slowest_of_fastest(const std::vector<Machine>& machines,
                                                std::uint64_t count) {
    const auto speeds = speeds_of(machines);
    if (speeds.empty() || count == 0) return std::nullopt;
    return speeds[std::min<std::uint64_t>(count, speeds.size()) - 1];
}

}  // namespace gym::plan
