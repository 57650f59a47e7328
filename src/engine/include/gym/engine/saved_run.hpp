#pragma once

#include <cstdint>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/record.hpp"
#include "gym/engine/state.hpp"

namespace gym::engine {

/// What a local training run was made of. Two runs with the same origin take the same steps.
struct RunOrigin {
    Digest program_root;
    Digest dataset_root;
    Digest seed;
    Digest start_root;             ///< state_root of the training state before the first record
    std::uint64_t first_step = 0;  ///< of the first record: steps behind that state

    friend bool operator==(const RunOrigin&, const RunOrigin&) = default;
};

struct ValidationLoss {
    std::uint64_t steps_done = 0;
    std::uint32_t loss_bits = 0;  ///< f32, nats per token

    friend bool operator==(const ValidationLoss&, const ValidationLoss&) = default;
};

/// A training state that knows its place: the run that it belongs to, the steps behind it, and so
/// the position in the data, which follows from the step. A run that continues from it takes the
/// steps of a run that was never interrupted.
struct SavedRun {
    RunOrigin origin;
    std::uint64_t steps_wanted = 0;  ///< counted from step 0, like steps_done()
    std::uint32_t checkpoint_every = 0;
    std::vector<StepRecord> records;  ///< of the steps from origin.first_step on
    std::vector<ValidationLoss> validation;
    State state;  ///< after the last record

    [[nodiscard]] std::uint64_t steps_done() const { return origin.first_step + records.size(); }
    [[nodiscard]] bool complete() const { return steps_done() == steps_wanted; }
};

/// File: "GYMRUN01", then with u32 lengths the header and its SHA-256, then the state's canonical
/// bytes (encode_state()), whose blob root is in the header.
/// @return the parts of the file, in order, without a second copy of the state.
struct SavedRunParts {
    Bytes header;
    Bytes state;
};
[[nodiscard]] SavedRunParts encode_saved_run(const SavedRun& run, const State& state,
                                             unsigned threads = 1);

/// Whether a file's bytes begin like a saved run, which no plain state does.
[[nodiscard]] bool is_saved_run(ByteView file);
/// @errors kMalformed for a torn file or an altered header; kMismatch for a state that does not
/// hash to the header's root.
[[nodiscard]] Result<SavedRun> decode_saved_run(ByteView file, unsigned threads = 1);

}  // namespace gym::engine
