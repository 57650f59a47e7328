#include "gym/protocol/unit_spec.hpp"

namespace gym::protocol {

engine::UnitSpec unit_spec(const RoundRecord& record, std::uint32_t slot) {
    engine::UnitSpec spec;
    spec.job_seed = record.job_seed;
    spec.round = record.round;
    spec.slot = slot;
    spec.steps = record.steps;
    spec.checkpoint_every = record.checkpoint_every;
    spec.program_root = record.program_root;
    spec.dataset_root = record.dataset_root;
    spec.base_state_root = record.base_state_root;
    return spec;
}

}  // namespace gym::protocol
