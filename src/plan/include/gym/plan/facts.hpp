#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/client/api_client.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/delta_size.hpp"
#include "gym/protocol/job_cost.hpp"

namespace gym::plan {

/// A live node that takes part.
struct Machine {
    std::uint64_t flops_per_second = 0;  ///< by its own benchmark; 0: unknown
    Amount valid_value;                  ///< protocol::work_value() of its valid units
    std::uint64_t memory_bytes = 0;      ///< that it lends; 0: unknown
    std::string device;                  ///< what it lends it of; empty: a CPU
};

/// What a job paid for its work.
struct PaidPrice {
    Amount wei_per_pflop;
    std::optional<Digest> job;  ///< absent: a job that is not public
};

/// What plans and estimates need to know about a network. The defaults are those of a network that
/// has published nothing.
struct Facts {
    std::vector<Machine> workers;
    std::vector<Machine> verifiers;
    std::optional<protocol::CostRates> bound;   ///< absent: no upper bound of costs is known
    std::optional<protocol::SizeLimits> sizes;  ///< absent: not known
    /// From a draw until a fault can no longer be taken to the chain; absent: not known.
    std::optional<std::int64_t> dispute_window_ms;
    std::uint32_t fee_ppm = 0;
    std::uint32_t verification_premium_ppm = 1'100'000;
    std::uint32_t uptime_bonus_max_ppm = 50'000;
    std::optional<PaidPrice> usual_price;  ///< absent: no job of the network has trained a round
    Amount least_price;                    ///< for 10^15 operations; the network takes no less
    /// Jobs that run now, and their slots together: they take turns with this one.
    std::uint64_t running_jobs = 0, running_slots = 0;
    Amount data_price_wei_per_mtoken;  ///< of the job's dataset; zero for the owner's own
    std::uint32_t data_quality_ppm = 0;
    bool data_known = true;  ///< the two above
    std::string unknown;     ///< why gym-api's facts are missing; empty if they are here
    ErrorCode unknown_code = ErrorCode::kUnavailable;  ///< the same as a code

    /// Whether costs can be told at all.
    [[nodiscard]] bool money_known() const { return unknown.empty() && data_known; }
};

/// What gym-api knows: live nodes with their benchmarks, rates, and the price of the newest job
/// that has trained a round, of the newest 100. Without an answer the facts are unknown, which is
/// no error. The dataset's price is not among them.
/// @errors kMalformed for a wrong answer.
[[nodiscard]] Result<Facts> network_facts(const client::ApiClient& api);

/// Of those that measured themselves; absent without one.
[[nodiscard]] std::optional<std::uint64_t> slowest(const std::vector<Machine>& machines);
/// Of the `count` fastest ones: the slowest. Absent without a measured machine.
[[nodiscard]] std::optional<std::uint64_t> slowest_of_fastest(const std::vector<Machine>& machines,
                                                              std::uint64_t count);

}  // namespace gym::plan
