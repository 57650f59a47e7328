#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/dispute/opening.hpp"
#include "gym/dispute/trace_program.hpp"
#include "gym/game/state.hpp"
#include "gym/protocol/round_record.hpp"

/// The moves of a dispute as data (docs/adr/0004-dispute-game.md): the structs of
/// contracts/src/dispute/DisputeTypes.sol and the functions of IDisputeMoves.sol, field for field.
namespace gym::game {

/// The facts about a train unit in its commitment and round record.
struct Facts {
    Digest records_root;
    Digest final_state_root;
    Digest delta_root;
    Digest job_seed;
    Digest trace_root;
    Digest initial_state_root;
    Digest dataset_root;
    std::uint64_t round = 0;
    std::uint32_t slot = 0;
    std::uint32_t steps = 0;
    std::uint32_t checkpoint_every = 0;
    friend bool operator==(const Facts&, const Facts&) = default;
};

/// The same of an aggregate unit; its commitment is the coordinator's signature, under no epoch.
struct OuterFacts {
    Digest records_root;
    Digest final_state_root;  ///< of the parameters after the outer step
    Digest momentum_after;    ///< of the outer state after it: the commitment's delta root
    Digest round_record;      ///< its hash
    Digest trace_root;        ///< of the train program
    Digest base_root;         ///< of the parameters before
    Digest momentum_root;     ///< of the outer state before
    Digest epoch_root;        ///< of the commitments of the same round
    std::uint32_t epoch_leaves = 0;
    Digest previous_record;      ///< hash of the record before; zero, as what follows: the log does
                                 ///< not have it, or no epoch of its round
    Digest previous_epoch_root;  ///< of the commitments of that round
    std::uint32_t previous_epoch_leaves = 0;
    friend bool operator==(const OuterFacts&, const OuterFacts&) = default;
};

/// What can be asked for. Values are hashed: never renumber.
enum class Wanted : std::uint8_t {
    kCommitment = 1,  ///< a published commitment, under the root of an epoch
    kDelta = 2,       ///< a chunk of the delta of a commitment in the epoch of its round
    kLateDelta = 3,   ///< the same, in the epoch of the next round
    kBase = 4,        ///< a chunk of the base state of a round
    kOuter = 5,       ///< of its outer state
    kDataset = 6,     ///< of its dataset
};

/// What a game about withheld data asks for (docs/adr/0049-withheld-data-on-chain.md).
struct DataRequest {
    Wanted what{};
    Digest root;               ///< of the epoch, the delta, the state, the dataset
    std::uint32_t tensor = 0;  ///< its number in the state, or the leaf of the dataset
    std::uint64_t chunk = 0;   ///< its number in the tensor
    // Of a commitment, else zero.
    std::uint32_t leaves = 0;       ///< of the epoch
    Digest next_root;               ///< of the epoch of the next round, if late ones may be in it
    std::uint32_t next_leaves = 0;  ///< how many that one has
    Digest leaf;                    ///< of the commitment
    Digest round_record;            ///< that it names
    std::uint32_t slot = 0;
    Address worker;  ///< who signed it
    friend bool operator==(const DataRequest&, const DataRequest&) = default;
};

/// What a game is about: a unit of either kind, or withheld data.
using UnitFacts = std::variant<Facts, OuterFacts, DataRequest>;

/// Which tensors of an aggregate are disputed. Values are hashed: never renumber.
enum class OuterTree : std::uint8_t {
    kNone = 0,
    kBase = 1,      ///< the parameters after the outer step
    kMomentum = 2,  ///< the outer state after it: the momenta, and what an update has
    kBoth = 3,      ///< as its step record has them: parameters, then the outer state
};

/// The inputs of an aggregate, once declared.
struct OuterFrame {
    Digest facts;        ///< hash of the unit's OuterFacts
    Digest program;      ///< the trace root
    Digest deltas_root;  ///< over the roots of the included deltas
    std::uint32_t deltas = 0;
    std::uint32_t held = 0;  ///< packed(DeltaGroups): what they count
    Digest slots;            ///< keccak256 of their slots, as they were declared
    Digest state_root;       ///< of the step record: over parameters and outer state
    OuterTree tree = OuterTree::kNone;
    friend bool operator==(const OuterFrame&, const OuterFrame&) = default;
};

/// One step that is disputed.
struct StepFrame {
    Digest facts;    ///< hash of the unit's Facts
    Digest program;  ///< the trace root
    std::uint32_t step = 0;
    Digest hash_before;
    Digest hash_after;
    Digest state_before;
    Digest state_after;
    Digest trace;  ///< root over the step's trace leaves; zero until the asserter declares it
    friend bool operator==(const StepFrame&, const StepFrame&) = default;
};

/// One macro op, then one of its primitives; or the token windows of a step; or the unit's delta;
/// or a tensor that the outer step made.
struct OpFrame {
    Digest step;  ///< hash of the StepFrame; of the Facts for the delta, of the OuterFrame
    Digest program;
    std::uint32_t leaf = 0;  ///< dispute::kNoLeaf: the delta, or of an aggregate
    std::uint32_t first = 0;
    std::uint32_t count = 0;  ///< 0: token windows, delta, of an aggregate
    std::uint32_t writer = 0;
    Digest macro_root;                    ///< zero until the asserter declares it
    std::uint32_t primitive = 0;          ///< of an aggregate: the tensor in the tree
    Digest record;                        ///< the primitive record's digest; zero until picked; of
                                          ///< an aggregate: the state record's; zero: the update
    std::optional<dispute::Shape> shape;  ///< of the tensor that is disputed
    friend bool operator==(const OpFrame&, const OpFrame&) = default;
};

/// A node below the cursor's. `twin` and its path at stage `steps` only.
struct Pick {
    std::uint64_t index = 0;
    Digest node;
    std::vector<Digest> path;
    Digest twin;
    std::vector<Digest> twin_path;
    friend bool operator==(const Pick&, const Pick&) = default;
};

struct StepPick {
    Digest states_root;
    Pick after;   ///< leaf `step` of both trees, below the cursor's node
    Pick before;  ///< leaf `step - 1`, with paths to the roots; empty for step 0
    friend bool operator==(const StepPick&, const StepPick&) = default;
};

// Keccak-256 of the ABI encoding, as the contracts hash them (Frames).
[[nodiscard]] Digest hash_of(const Facts& facts);
[[nodiscard]] Digest hash_of(const OuterFacts& facts);
/// With a tag in front, so that its bytes are as long as those of no other frame.
[[nodiscard]] Digest hash_of(const DataRequest& request);
[[nodiscard]] Digest hash_of(const UnitFacts& facts);
[[nodiscard]] Digest hash_of(const OuterFrame& frame);
[[nodiscard]] Digest hash_of(const StepFrame& frame);
[[nodiscard]] Digest hash_of(const OpFrame& frame);
/// The frame of stage `steps`.
[[nodiscard]] Digest steps_frame(const Digest& facts_hash, const Digest& states_root);

/// One move each, with the arguments of IDisputeMoves but game and cursor.
namespace move {
struct DeclareStates {
    Facts facts;
    Digest states_root;
    std::vector<Digest> records, states;
};
struct AnswerSteps {
    Facts facts;
    Digest states_root;
    std::vector<Digest> records, states;
};
struct OpenStep {
    StepFrame frame;
    Facts facts;
    Bytes header, record;
    Digest trace;
    std::vector<Digest> children;
};
struct Answer {
    std::vector<Digest> children;
};
struct OpenMacro {
    OpFrame frame;
    Digest root;
    std::vector<Digest> writer_path, children;
};
struct OpenTensor {
    OpFrame frame;
    Digest tree_root;
    std::vector<Digest> children;
};
struct PostChunk {
    OpFrame frame;
    Bytes content;
};
struct PickNode {  ///< `pick`
    Pick to;
};
struct PickStep {
    Facts facts;
    StepPick to;
};
struct PickDelta {  ///< where the steps are answered, to the delta as a tensor u8 [size]
    Facts facts;
    Digest states_root;  ///< the cursor's frame is over both
    Bytes header;
};
struct PickTree {
    StepFrame frame;
    Bytes header, record;  ///< record empty: to the state, else to the gradients
};
struct PickLeaf {
    StepFrame frame;
    Bytes header;
    Pick to;
    dispute::RecordProof leaf_record;
};
struct PickPrimitive {
    OpFrame frame;
    Bytes header;
    Pick to;
    dispute::RecordProof primitive;
};
struct ProveElement {
    OpFrame op;
    StepFrame step;
    Bytes header, primitive;
    std::uint64_t element = 0;
    Bytes chunk;
    std::vector<dispute::ChunksOpening> operands;
};
struct ProveToken {
    OpFrame op;
    StepFrame step;
    Facts facts;
    Bytes header;
    std::uint64_t element = 0;
    Bytes chunk;
    std::uint64_t tokens = 0;
    dispute::ChunksOpening dataset;
};
struct ProveRecord {
    StepFrame frame;
    Bytes header, record;
    std::uint8_t field = 0;  ///< 0 batch root, 1 loss, 2 gradient norm, 3 skipped
    Pick leaf;
    dispute::RecordProof leaf_record;
};
struct ProveInput {
    StepFrame frame;
    Facts facts;
    Bytes header;
    Pick leaf;
    dispute::RecordProof leaf_record;
};
struct ProveSlot {
    StepFrame frame;
    Bytes header;
    Pick slot;
    dispute::RecordProof slot_record;
    Pick source;
};
/// A word of the delta is not the difference of final and base parameter, or its head is another.
struct ProveDelta {
    OpFrame op;
    Facts facts;
    Bytes header;
    std::uint64_t word = 0;  ///< of four bytes of the delta, in codec 1 a byte of it; head first
    Bytes chunk;
    dispute::RecordProof slot_record;  ///< of the parameter; empty for the head
    dispute::ChunksOpening final, base;
};
struct ProveGradient {
    StepFrame frame;
    Bytes header;
    Pick gradient;
    dispute::RecordProof gradient_record;
    Pick source;
};
/// An aggregate's record and what it was made from.
struct DeclareOuter {
    OuterFacts facts;
    Bytes record;                  ///< the step record
    Digest root;                   ///< over the deltas' roots
    std::vector<Digest> children;  ///< of it
    Bytes slots;                   ///< of the deltas: slots_of() of transcript.hpp
    std::uint32_t held = 0;        ///< packed(DeltaGroups): what the deltas count
};
/// The commitment that an included delta is of, under the epoch of its round, or of a late one of
/// the round after that. Of a withdrawn delta: WithdrawnEvidence.
struct ShowIncluded {
    OuterFacts facts;
    std::uint32_t index = 0;       ///< in the epoch; of a withdrawn delta in the listing record
    Bytes commitment;              ///< of a withdrawn delta: encode(WithdrawnEvidence)
    std::vector<Digest> path;      ///< to the epoch's root, or the listing record's included root
    std::vector<Digest> included;  ///< from the delta's root to that over all
    bool late = false;             ///< of a held delta: the epoch is that of the aggregate's round
};
/// An element of all included deltas: f32 each, little-endian. Of more than dispute::kColumnPart
/// deltas what each part adds: encode_parts() of column_parts.hpp; at a part that was picked its
/// values.
struct PostColumn {
    Bytes values;
};
/// To one of the trees of tensors that the outer step made.
struct PickOuter {
    OuterFrame frame;
    OuterFacts facts;
    Bytes header;
    OuterTree tree = OuterTree::kNone;
};
/// To an included delta.
struct PickIncluded {
    OuterFrame frame;
    Bytes slots;
    std::uint32_t position = 0;
};
struct PickOuterTensor {
    OuterFrame frame;
    Bytes header;
    Pick to;
    dispute::RecordProof slot;  ///< the parameter's state record; empty: the update
};
/// To what one element was made from.
struct PickElement {
    OpFrame op;
    OuterFrame outer;
    std::uint64_t element = 0;
    Bytes chunk;  ///< or the posted residuals of its row
};
/// To a row of an update, in its posted chunk.
struct PickRow {
    OpFrame op;
    OuterFrame outer;
    OuterFacts facts;
    Bytes header;
    std::uint64_t row = 0;      ///< within the parameter
    dispute::RecordProof slot;  ///< the parameter's state record
};
/// The residuals of a row.
struct PostRow {
    OpFrame op;                       ///< of the residual's tensor
    dispute::ChunksOpening residual;  ///< the chunk that has them, up to the outer state's root
};
/// To a part of a column of which was posted what each part adds.
struct PickPart {
    Bytes added;  ///< that was posted
    std::uint8_t part = 0;
};
/// The values of a part do not add what was posted that they add.
struct ProvePart {
    OpFrame op;
    OuterFrame outer;
    Bytes values;
};
/// A value of the column, or of the posted part of one, is not the delta's.
struct ProveColumn {
    OpFrame op;
    OuterFrame outer;
    Bytes header, values;
    std::uint32_t position = 0;
    dispute::RecordProof slot;     ///< the parameter's state record
    dispute::ChunksOpening delta;  ///< the chunk that has the value, up to the deltas' root
};
/// The element is not what the outer step makes of the column.
struct ProveOuter {
    OpFrame op;
    OuterFrame outer;
    OuterFacts facts;
    Bytes header, values;
    dispute::ChunksOpening base, momentum;
};
/// A row is not what its elements make with the posted residuals.
struct ProveRow {
    std::uint8_t place = 0;  ///< of the byte in the row
    Bytes chunk;             ///< of the update
    Bytes residuals;         ///< f32 each, little-endian
};
/// At a column: a residual is not what the row leaves of the outer step. At a posted chunk: an
/// element of the base is not the one before and the row's, or a byte of the update that no row of
/// a parameter has is another.
struct ProveUpdate {
    OpFrame op;
    OuterFrame outer;
    OuterFacts facts;
    Bytes header;
    Bytes record;  ///< the parameter's state record; empty for a byte of the update
    std::uint64_t element = 0;
    Bytes posted;  ///< the column, or the chunk
    /// Of a residual: momentum and residual before, and the update; of the base: the element
    /// before, and the update; of a byte: none.
    std::vector<dispute::ChunksOpening> operands;
};
/// A tensor under the record's state root is not the one under the commitment's roots.
struct ProveOuterSlot {
    OuterFrame frame;
    OuterFacts facts;
    Bytes header;
    Pick leaf, source;
};
/// The included delta's commitment has no valid signature, contradicts the round record, or was
/// shown as late where the record takes none late.
struct ProveSigner {
    OuterFacts facts;
    Bytes record;              ///< head of the record of the delta's round
    protocol::SlotProof slot;  ///< of the commitment's
    Bytes commitment;
};
/// Shows what a game about withheld data asks for. The rules say what is shown where the data has
/// no such part.
struct ShowWithheld {
    DataRequest request;
    Bytes head;     ///< tensor_head() of the tensor; empty for what is not one. Of a
                    ///< commitment: 1 if the next round's epoch has it (1 byte), its index (4)
    Bytes content;  ///< the chunk, without padding; the commitment
    std::vector<Digest> path;   ///< from it to the tensor's tree root, or to the epoch's root; that
                                ///< tree root alone if the tensor has no such chunk
    std::vector<Digest> above;  ///< from the tensor to the root
};
}  // namespace move

using Move = std::variant<
    move::DeclareStates, move::AnswerSteps, move::OpenStep, move::Answer, move::OpenMacro,
    move::OpenTensor, move::PostChunk, move::PickNode, move::PickStep, move::PickDelta,
    move::PickTree, move::PickLeaf, move::PickPrimitive, move::ProveElement, move::ProveToken,
    move::ProveDelta, move::ProveRecord, move::ProveInput, move::ProveSlot, move::ProveGradient,
    move::DeclareOuter, move::ShowIncluded, move::PostColumn, move::PickOuter, move::PickIncluded,
    move::PickOuterTensor, move::PickElement, move::ProveColumn, move::ProveOuter,
    move::ProveOuterSlot, move::ProveSigner, move::PickRow, move::PostRow, move::ProveRow,
    move::ProveUpdate, move::PickPart, move::ProvePart, move::ShowWithheld>;

/// "declareStates", ...: the function's name in IDisputeMoves.
[[nodiscard]] std::string_view name_of(const Move& move) noexcept;
/// Whether it is the asserter's.
[[nodiscard]] bool is_answer(const Move& move) noexcept;
/// Whether it ends the game if the rules accept it.
[[nodiscard]] bool is_proof(const Move& move) noexcept;

}  // namespace gym::game
