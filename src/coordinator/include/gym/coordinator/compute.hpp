#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/blob/verified_blob.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/key.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"
#include "gym/registry/worker_memory.hpp"

namespace gym::coordinator {

/// Bytes of a blob and what they hash to as what they are (program root, state root).
struct RootedBytes {
    Digest root;
    Bytes bytes;
};

/// The coordinator's computations with the engine, as bytes in and bytes out, so that its state
/// machine runs without training in tests. Results are pure functions of the arguments.
/// Thread-safe.
class Compute {
  public:
    virtual ~Compute() = default;

    struct Prepared {
        RootedBytes program, evaluate_program, logits_program;
        RootedBytes base, momentum;
        std::uint64_t tokens_per_step = 0;
        std::uint64_t flops_per_step = 0;
        std::uint64_t parameters = 0;
        registry::WorkerMemory worker_memory;  ///< that a unit takes
        std::uint64_t delta_bytes = 0;         ///< of each delta
    };
    /// Weights that a job's owner gave.
    struct GivenState {
        Digest root;
        ByteView bytes;
    };
    /// Builds the programs and the initial state of a job from its job file.
    /// @param given what round 1 begins from; absent: parameters drawn from `job_seed`.
    /// @errors kInvalidArgument, kMalformed: what is wrong with the job file, or with the dataset
    /// or the weights for it; kMismatch for weights of another root; all tensors of the weights
    /// that do not fit, as engine::Differences.
    [[nodiscard]] virtual Result<Prepared> prepare(const std::string& spec_yaml, ByteView dataset,
                                                   const Digest& dataset_root,
                                                   const Digest& job_seed,
                                                   const std::optional<GivenState>& given) = 0;

    struct RoundRoots {
        Digest trace_root;
        Digest initial_state_root;
        std::uint16_t delta_codec = 0;
    };
    /// The parts of a round record that disputes of units beginning from `base` depend on.
    [[nodiscard]] virtual Result<RoundRoots> round_roots(ByteView program, ByteView base) = 0;

    /// A delta that check_delta() took. It stays open for everything that is asked of it; only the
    /// Compute that made it can use it.
    class Delta {
      public:
        virtual ~Delta() = default;
        /// The Euclidean norm; NaN possible.
        [[nodiscard]] virtual double norm() const = 0;
    };
    using DeltaPtr = std::shared_ptr<const Delta>;
    /// Reads a delta of the program in its store, piece by piece; its bytes stay there.
    /// @errors those of is_no_delta(); of the store, of which kNotFound and kMismatch say that it
    /// has not these bytes.
    [[nodiscard]] virtual Result<DeltaPtr> check_delta(ByteView program,
                                                       const blob::BlobStore& store,
                                                       const Digest& root) = 0;
    /// An error of check_delta(): the bytes have the root, and are no delta of the program.
    [[nodiscard]] static bool is_no_delta(ErrorCode code) {
        return code == ErrorCode::kMalformed || code == ErrorCode::kShapeMismatch;
    }

    struct Aggregated {
        RootedBytes program;  ///< the outer step for this number of deltas
        RootedBytes base, momentum;
        Bytes update;   ///< that made the base; empty without one (engine::update_of())
        Bytes records;  ///< encoded step records
        Digest records_root;
        std::uint64_t flops = 0;

        [[nodiscard]] protocol::UnitRoots roots() const {
            return {records_root, base.root, momentum.root};
        }
    };
    using Included = std::span<const protocol::IncludedDelta>;
    /// The outer step over at least one delta.
    /// @param program the job's train program, of which the outer step's is made.
    /// @param base, momentum encoded states; the results are made in their bytes.
    /// @param included of the deltas, in their order: what each of them counts.
    [[nodiscard]] virtual Result<Aggregated> aggregate(ByteView program, Bytes base, Bytes momentum,
                                                       const std::vector<DeltaPtr>& deltas,
                                                       Included included) = 0;

    struct Evaluated {
        double mean_loss = 0;  ///< nats per token, exact
        Bytes records;         ///< encoded step records, one a batch
        Digest records_root;
        Digest state_root;       ///< of what was evaluated
        Digest evaluation_root;  ///< docs/PROGRAMS.md, "Evaluation"
        std::uint32_t steps = 0;
        std::uint64_t tokens = 0;
        std::uint64_t flops = 0;

        [[nodiscard]] protocol::UnitRoots roots() const {
            return {records_root, state_root, evaluation_root};
        }
    };
    /// The validation loss of a state. @errors kCancelled on `stop`.
    [[nodiscard]] virtual Result<Evaluated> evaluate(ByteView evaluate_program, ByteView base,
                                                     ByteView dataset, const Digest& dataset_root,
                                                     std::uint32_t windows_max,
                                                     const std::stop_token& stop) = 0;
    /// FLOPs of an evaluation of so many windows, at most.
    [[nodiscard]] virtual Result<std::uint64_t> evaluation_flops(ByteView evaluate_program,
                                                                 std::uint32_t windows_max) = 0;

    /// The root that a commitment names for encoded step records. @errors kMalformed.
    [[nodiscard]] virtual Result<Digest> records_root(ByteView records) = 0;

    struct Difference {
        std::uint64_t step = 0;
        std::string field;
    };
    /// The first step in which two lists of encoded records differ; absent if they are equal.
    /// @errors kMalformed.
    [[nodiscard]] virtual Result<std::optional<Difference>> first_difference(
        ByteView committed, ByteView recomputed) = 0;

    /// The first `steps` steps of a slot's unit.
    struct SlotSteps {
        std::uint32_t slot = 0;
        std::uint32_t steps = 0;
    };

    struct Reexecuted {
        protocol::UnitRoots roots;
        Digest trace;  ///< protocol::trace_at() for the challenge, zero without one
    };
    /// Runs a train unit again: the referee of a dispute, the audit of a report (`challenge` is the
    /// signature in it; nullptr: none). May take as long as the unit. @errors kCancelled on `stop`.
    [[nodiscard]] virtual Result<Reexecuted> run_unit(const protocol::RoundRecord& record,
                                                      std::uint32_t slot, ByteView program,
                                                      ByteView base, ByteView dataset,
                                                      const crypto::Signature* challenge,
                                                      const std::stop_token& stop) = 0;

    /// Runs the first `steps` steps of a train unit again. @return the link of its record chain
    /// after them (protocol::UnitPrefix). @errors kCancelled on `stop`.
    [[nodiscard]] virtual Result<Digest> run_prefix(const protocol::RoundRecord& record,
                                                    const SlotSteps& prefix, ByteView program,
                                                    ByteView base, ByteView dataset,
                                                    const std::stop_token& stop) = 0;

    /// The trace that a report on a unit of the coordinator's own must have: its leaves are the
    /// hashes of the step records. @errors kMalformed.
    [[nodiscard]] virtual Result<Digest> records_trace(ByteView records,
                                                       const crypto::Signature& challenge) = 0;
};

}  // namespace gym::coordinator
