#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/crypto/eip712.hpp"
#include "gym/dispute/macro_trace.hpp"
#include "gym/dispute/opening.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/game/transcript.hpp"
#include "gym/game/withdrawn.hpp"
#include "gym/protocol/commitment.hpp"
#include "gym/protocol/round_record.hpp"

/// One side's own run of an aggregate unit, from which its moves are made: computed on request,
/// and the latest of each kind kept. Pointers hold until the next call of the same function, or of
/// run() with other deltas.
namespace gym::game {

/// The results of an outer step.
struct OuterTrees {
    std::vector<Digest> base;      ///< tensor roots of the parameters after it, in slot order
    std::vector<Digest> momentum;  ///< of the outer state after it (outer_tensors.hpp)
    Digest deltas_root;            ///< over the roots of the deltas
    Digest state_root;             ///< over base, then outer state
};

class OuterWork {
  public:
    virtual ~OuterWork() = default;

    /// Of the train program.
    [[nodiscard]] virtual const dispute::TraceProgram& trace() const = 0;
    [[nodiscard]] virtual const dispute::TraceTrees& records() const = 0;
    /// That the commitment names; or that of the round before, which held deltas are of. Null: not
    /// known.
    [[nodiscard]] virtual const protocol::RoundRecord* record_of(bool held) const = 0;
    /// Of commitments.
    [[nodiscard]] virtual const crypto::Eip712Domain& domain() const = 0;
    /// All commitments under the epoch of this round, or of the one before, in the tree's order;
    /// empty: not known.
    [[nodiscard]] virtual std::span<const protocol::SignedCommitment> epoch(bool held) const = 0;
    /// The aggregate's inputs, as its asserter or the next round record says.
    [[nodiscard]] virtual std::span<const OuterDelta> included() const = 0;

    /// Of each withdrawn one of `included()`, in their order, why it may be subtracted; nothing:
    /// there is no reason. Empty: not known.
    [[nodiscard]] virtual std::span<const std::optional<WithdrawnSource>> withdrawn() const = 0;

    /// The outer step with these deltas; what follows is of the last such run.
    virtual Result<const OuterTrees*> run(std::span<const OuterDelta> deltas) = 0;
    /// A tensor of the base or the outer state after the step.
    virtual Result<const dispute::TracedTensor*> tensor(OuterTree tree, std::uint32_t number) = 0;
    /// An element of a parameter in every delta: f32 each, little-endian.
    virtual Result<Bytes> column(std::uint32_t parameter, std::uint64_t element) = 0;
    /// The chunk of a delta that has the element, up to the deltas' root.
    virtual Result<dispute::ChunksOpening> delta_element(std::uint32_t position,
                                                         std::uint32_t parameter,
                                                         std::uint64_t element) = 0;

    /// An element of a parameter, of its momentum and, of a program with an update, of its residual
    /// before the step: the chunks that have it, up to the round record's roots.
    struct Before {
        dispute::ChunksOpening base, momentum, residual;
    };
    virtual Result<Before> before(std::uint32_t parameter, std::uint64_t element) = 0;
};

}  // namespace gym::game
