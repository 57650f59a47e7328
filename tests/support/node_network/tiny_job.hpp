#pragma once

#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/crypto/key.hpp"
#include "gym/engine/state.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/program.hpp"
#include "gym/program/update_codec.hpp"
#include "gym/protocol/unit_record.hpp"
#include "gym/records/task.hpp"

namespace gym::testing {

/// The first round of a job so small that a unit takes milliseconds. Failures abort.
struct TinyJob {
    program::Program program;
    blob::Dataset dataset;
    engine::State base;
    protocol::RoundRecord record;
    records::UnitInputs inputs;

    [[nodiscard]] protocol::UnitKey unit(std::uint32_t slot) const {
        return {record.job_id, record.round, slot, 0};
    }
    [[nodiscard]] records::TrainTask task(std::uint32_t slot) const {
        return {unit(slot), protocol::unit_record(record, slot), inputs, 0};
    }
    /// The result of an honest worker for a slot.
    [[nodiscard]] engine::UnitResult run(std::uint32_t slot) const;
    /// The commitment to `result`.
    [[nodiscard]] protocol::UnitCommitment commitment(std::uint32_t slot,
                                                      const engine::UnitResult& result) const;
};

/// Slot i belongs to workers[i]. Puts the input blobs into `blobs`.
/// @param update with one, deltas are of codec 1.
[[nodiscard]] TinyJob make_tiny_job(const std::vector<Address>& workers, blob::BlobStore& blobs,
                                    std::uint32_t steps = 4,
                                    program::UpdateCodec update = program::UpdateCodec::kNone);

/// A key made from a number: the same in every run.
[[nodiscard]] crypto::PrivateKey test_key(std::uint8_t number);

}  // namespace gym::testing
