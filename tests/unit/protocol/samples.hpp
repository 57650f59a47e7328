#pragma once

#include "gym/commit/sha256.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"

namespace gym::testing {

inline Digest digest(std::uint64_t n) {
    commit::Hasher hasher;
    return hasher.update(as_bytes("sample")).update_u64(n).finish();
}

inline Address address(std::uint8_t n) {
    Address out;
    out.data[0] = n;
    out.data[19] = 1;
    return out;
}

/// A key of one's own for every number, the same in every run.
inline crypto::PrivateKey key(std::uint64_t n) {
    return crypto::PrivateKey::from_bytes(digest(1'000 + n).view()).value();
}

inline protocol::RoundRecord round_record() {
    protocol::RoundRecord out;
    out.job_id = digest(1);
    out.round = 3;
    out.previous_record = digest(2);
    out.base_state_root = digest(3);
    out.momentum_root = digest(4);
    out.program_root = digest(5);
    out.aggregate_program_root = digest(6);
    out.evaluate_program_root = digest(7);
    out.dataset_root = digest(8);
    out.job_seed = digest(9);
    out.trace_root = digest(10);
    out.initial_state_root = digest(11);
    out.checkpoint_every = 10;
    out.tokens_per_step = 512;
    out.flops_per_step = 1'000'000;
    out.slots = {{0, key(0).address(), kPpm, 20},
                 {1, key(1).address(), 500'000, 20},
                 {2, key(2).address(), protocol::kSamplingFloorPpm, 5}};
    out.included = {{0, digest(20), digest(21)}, {3, digest(22), digest(23)}};
    return out;
}

inline protocol::UnitCommitment commitment(const protocol::RoundRecord& record) {
    protocol::UnitCommitment out;
    out.round_record = protocol::hash(record);
    out.slot = 1;
    out.records_root = digest(30);
    out.final_state_root = digest(31);
    out.delta_root = digest(32);
    out.steps = record.slots.at(out.slot).steps;
    out.tokens = record.tokens_per_step * out.steps;
    out.flops = record.flops_per_step * out.steps;
    return out;
}

inline crypto::Eip712Domain domain() {
    return protocol::signing_domain(31'337, address(9));
}

}  // namespace gym::testing
