#pragma once

#include <cstdint>

#include "gym/plan/estimate.hpp"
#include "gym/plan/facts.hpp"
#include "gym/protocol/delta_size.hpp"

namespace gym::plan::testing {

/// A model of 10^8 parameters: 6 operations a parameter and token, 8,192 tokens a step.
inline ModelWork sample_work() {
    constexpr std::uint64_t kParameters = 100'000'000;
    ModelWork out;
    out.tokens_per_step = 8'192;
    out.parameters = kParameters;
    out.delta_bytes = protocol::plain_delta_bytes(kParameters);
    out.flops_per_step = 6 * kParameters * out.tokens_per_step;
    out.context = 1'024;
    out.aggregate_flops = [](const registry::AggregateSize& size) -> Result<std::uint64_t> {
        const std::uint32_t slots = size.deltas;
        return (std::uint64_t{slots} + 5) * kParameters;
    };
    return out;
}

/// `workers` workers of 10 TFLOP/s whose records are worth `valid_value`, one verifier, no fee, and
/// a latest job that paid 1 GYM.
inline Facts sample_facts(std::size_t workers, const Amount& valid_value = {}) {
    constexpr std::uint64_t kSpeed = 10'000'000'000'000;
    Facts out;
    out.workers.assign(workers, Machine{kSpeed, valid_value});
    out.verifiers.assign(1, Machine{kSpeed, {}});
    out.bound = protocol::CostRates{2'500'000, 0};
    out.usual_price = PaidPrice{Amount::parse_tokens("1").value(), Digest()};
    return out;
}

}  // namespace gym::plan::testing
