#pragma once

#include <cstdint>

#include "gym/coordinator/decisions.hpp"
#include "gym/protocol/delta_size.hpp"

/// Jobs, nodes and units of the tests of decisions.
namespace gym::coordinator::samples {

using protocol::UnitState;
using registry::JobStatus;

inline constexpr UnixMs kNow = 1'700'000'000'000;

inline Digest digest(std::uint8_t fill) {
    Digest out;
    out.data.fill(fill);
    return out;
}

inline Address address(std::uint8_t fill) {
    Address out;
    out.data.fill(fill);
    return out;
}

inline registry::Job job() {
    registry::Job out;
    out.id = digest(1);
    out.dataset_root = digest(2);
    out.status = JobStatus::kRunning;
    out.terms.rounds = 3;
    out.terms.slots_max = 8;
    out.terms.steps = 20;
    out.budget_wei = Amount(1'000);
    out.artifacts.emplace();
    out.artifacts->base_state_root = digest(3);
    out.artifacts->momentum_root = digest(4);
    out.artifacts->parameters = 10;
    out.artifacts->flops_per_step = 1'000;
    out.artifacts->delta_bytes = protocol::plain_delta_bytes(10);
    return out;
}

/// A record of so many units of job().
inline Amount record(std::uint64_t units, std::uint32_t steps = 20) {
    const Amount step = protocol::work_value(1'000, job().terms.price_wei_per_pflop).value();
    return step.mul_div(Amount(units * steps), Amount(1)).value();
}

inline registry::Node node(std::uint8_t fill) {
    registry::Node out;
    out.address = out.owner = address(fill);
    out.registered_at_ms = kNow - 1'000;
    return out;
}

inline registry::Unit unit(UnitState state, std::uint32_t slot = 0) {
    registry::Unit out;
    out.key = {digest(1), 1, slot, 0};
    out.id = protocol::unit_id(out.key);
    out.worker = out.owner = address(9);
    out.status.state = state;
    return out;
}

inline registry::Unit disputed(protocol::ReasonCode code) {
    registry::Unit out = unit(UnitState::kDisputed);
    out.reason_code = protocol::to_string(code);
    out.reason = "unit 0 of round 1: step 3 differs";
    out.status.deadline_ms = kNow + 60'000;
    out.verifier = address(7);
    return out;
}

}  // namespace gym::coordinator::samples
