#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gym/commit/merkle.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/program/delta_codec.hpp"
#include "gym/program/program.hpp"
#include "gym/program/update_codec.hpp"

/// The trace program of a program (docs/adr/0003-dispute-descent.md): its expansion into primitives
/// as records that a contract can check one by one. A pure function of the program.
namespace gym::dispute {

/// No such trace leaf: programs without a guard have no leaf `skipped`.
inline constexpr std::uint32_t kNoLeaf = 0xFFFFFFFF;

/// dtype u8 | rank u8 | dims u32 each: of a program's tensors. A delta is a tensor u8 [size] too,
/// which no record has and whose size can take more bits.
struct Shape {
    program::DType dtype = program::DType::kF32;
    std::vector<std::uint64_t> dims;
    friend bool operator==(const Shape&, const Shape&) = default;
};

/// Where a tensor comes from: kind u8 | index u32, or kind u8 | root.
struct Source {
    enum class Kind : std::uint8_t {
        kPrimitive = 1,  ///< output of primitive `index` of the same macro op, counted within it
        kLeaf = 2,       ///< trace leaf `index` of the same step
        kState = 3,      ///< tensor `index` of the state before the step, in state_root()'s order
        kConstant = 4,   ///< the tensor whose root is `root`
    };
    Kind kind = Kind::kLeaf;
    std::uint32_t index = 0;
    Digest root;  ///< constants only
    friend bool operator==(const Source&, const Source&) = default;
};

struct Operand {
    Source source;
    Shape shape;
    friend bool operator==(const Operand&, const Operand&) = default;
};

/// opcode u16 | output shape | eight attributes u64 | inputs u8, each source | shape.
struct PrimitiveRecord {
    program::Opcode code = program::Opcode::kFill;
    Shape output;
    std::array<std::uint64_t, program::kAttributesMax> attributes{};
    std::vector<Operand> inputs;
    friend bool operator==(const PrimitiveRecord&, const PrimitiveRecord&) = default;
};

/// kind u8 | shape, and for computed leaves | first u32 | count u32 | writer u32.
struct LeafRecord {
    enum class Kind : std::uint8_t {
        kComputed = 0,  ///< an output of a macro op
        kBatch = 1,     ///< the step's token windows
        kClock = 2,     ///< step of the job, step of the unit
        kRandom = 3,    ///< where random numbers are drawn
        kOther = 4,     ///< an input of a program that does not train
    };
    Kind kind = Kind::kComputed;
    Shape shape;
    std::uint32_t first = 0;   ///< the macro op's first primitive, counted through the program
    std::uint32_t count = 0;   ///< its primitives
    std::uint32_t writer = 0;  ///< which of them writes this leaf, counted within the macro op
    friend bool operator==(const LeafRecord&, const LeafRecord&) = default;
};

/// Bytes of the delta before the first parameter (docs/PROTOCOL.md: magic, codec, count); in codec
/// 1 they lie in its first row.
inline constexpr std::uint64_t kDeltaHeadBytes = 16;
/// Of a delta: 1 TiB. Far below what the trees of a dispute have room for (2^48 chunks), so that no
/// sum of sizes and places in deltas can overflow.
inline constexpr std::uint64_t kDeltaBytesMax = std::uint64_t{1} << 40;

/// shape | source of the value after the step: a trace leaf or a slot of the state before it |
/// delta offset u64 | parameter u32.
struct StateRecord {
    Shape shape;
    Source next;
    std::uint64_t delta_offset =
        0;  ///< of the parameter's first byte, or row, in the delta; 0: no parameter
    std::uint32_t parameter = 0;  ///< its number among the parameters; 0 for what is none
    friend bool operator==(const StateRecord&, const StateRecord&) = default;
};

/// The facts about a program that a contract needs before any record: u32 each, in this order, but
/// the delta's bytes u64; then the four roots, and the codecs if that of deltas is not 0: that of
/// updates in the upper half of a u32, that of deltas in its lower half.
struct TraceHeader {
    std::uint32_t numerics_version = program::kNumericsVersion;
    std::uint32_t input_leaves = 0;  ///< leaves that are inputs; they come first
    std::uint32_t leaves = 0;
    std::uint32_t primitives = 0;
    std::uint32_t state_slots = 0;
    std::uint32_t gradients = 0;
    // Trace leaves that step records name; kNoLeaf where the program has none.
    std::uint32_t loss = kNoLeaf;
    std::uint32_t grad_norm = kNoLeaf;
    std::uint32_t skipped = kNoLeaf;
    // The batch; all 0 for a program without one.
    std::uint32_t windows = 0;
    std::uint32_t window_tokens = 0;  ///< a window has one token more
    std::uint32_t stride = 0;         ///< windows begin at its multiples
    std::uint32_t vocabulary = 0;     ///< tokens that the model knows
    std::uint32_t classes = 0;        ///< of a classifier: the last token of a window is below it
    // The delta.
    std::uint32_t parameters = 0;                 ///< state slots that are in it
    std::uint64_t delta_bytes = kDeltaHeadBytes;  ///< with its head
    // Bits of the outer step's constants; 0 for a program without them.
    std::uint32_t outer_learning_rate = 0;
    std::uint32_t outer_momentum = 0;
    Digest gradients_root;  ///< of gradient_leaf(): leaf indices, in the outputs' order
    Digest leaves_root;
    Digest primitives_root;
    Digest state_root;
    program::DeltaCodec delta_codec = program::DeltaCodec::kFloat;
    program::UpdateCodec update_codec = program::UpdateCodec::kNone;
    friend bool operator==(const TraceHeader&, const TraceHeader&) = default;
};

/// Consecutive primitives of one macro op, and its outputs: consecutive trace leaves.
struct MacroRange {
    std::uint32_t first_primitive = 0;
    std::uint32_t primitives = 0;
    std::uint32_t first_leaf = 0;
    std::uint32_t leaves = 0;
    friend bool operator==(const MacroRange&, const MacroRange&) = default;
};

struct TraceProgram {
    TraceHeader header;
    std::vector<PrimitiveRecord> primitives;
    std::vector<LeafRecord> leaves;
    std::vector<StateRecord> state;
    std::vector<std::uint32_t> gradients;  ///< leaf indices
    std::vector<MacroRange> macros;        ///< by op of the program
};

/// @errors kOutOfRange if the expansion has more primitives than kOpsMax, or the delta more bytes
/// than kDeltaBytesMax. kInvalidArgument: loss, grad_norm, skipped or a gradient is neither an
/// input nor an op's output, or the input "batch" is not [windows, tokens + 1].
[[nodiscard]] Result<TraceProgram> trace_program(const program::Program& program);

[[nodiscard]] Bytes encode(const PrimitiveRecord& record);
[[nodiscard]] Bytes encode(const LeafRecord& record);
[[nodiscard]] Bytes encode(const StateRecord& record);
[[nodiscard]] Bytes encode(const TraceHeader& header);

/// Strict: @errors kMalformed for truncated, over-long or non-canonical bytes and numbers beyond
/// the bounds of program.hpp. Whether a record suits its opcode is the opcode's own rule.
[[nodiscard]] Result<PrimitiveRecord> decode_primitive(ByteView bytes);
[[nodiscard]] Result<LeafRecord> decode_leaf(ByteView bytes);
[[nodiscard]] Result<StateRecord> decode_state_record(
    ByteView bytes, program::DeltaCodec codec = program::DeltaCodec::kFloat);
[[nodiscard]] Result<TraceHeader> decode_trace_header(ByteView bytes);

// Leaves of the record trees: H(tag | bytes), tags "gym.primitive.v1", "gym.trace_leaf.v1",
// "gym.state_slot.v1", "gym.gradient_leaf.v1" (the leaf index as u32).
[[nodiscard]] Digest primitive_digest(ByteView record);
[[nodiscard]] Digest leaf_digest(ByteView record);
[[nodiscard]] Digest state_record_digest(ByteView record);
[[nodiscard]] Digest gradient_digest(std::uint32_t leaf);

/// The trace root: H("gym.trace_program.v1" | header).
[[nodiscard]] Digest trace_root(const TraceHeader& header);

/// The tensor digest of a tensor of this shape whose chunks have this root.
[[nodiscard]] Digest tensor_digest(const Shape& shape, const Digest& tree_root);
/// The delta as a tensor: u8 [size].
[[nodiscard]] Shape delta_shape(const TraceHeader& header);
/// Elements; at most kSlotElementsMax in a decoded shape.
[[nodiscard]] std::uint64_t element_count(const Shape& shape);
[[nodiscard]] std::uint64_t size_bytes(const Shape& shape);
[[nodiscard]] Shape shape_of(const program::Slot& slot);
/// As a program's tensors have them. @pre each has 32 bits, as in every record.
[[nodiscard]] program::Dims program_dims(const Shape& shape);

/// A record under the trace root: its bytes and the siblings up to its list's root.
struct RecordProof {
    std::uint32_t index = 0;
    Bytes record;
    std::vector<Digest> path;
    friend bool operator==(const RecordProof&, const RecordProof&) = default;
};

/// The record trees of a trace program. Immutable, thread-safe.
class TraceTrees {
  public:
    explicit TraceTrees(const TraceProgram& program);
    // @errors kOutOfRange if there is no such record.
    [[nodiscard]] Result<RecordProof> primitive(std::uint32_t index) const;
    [[nodiscard]] Result<RecordProof> leaf(std::uint32_t index) const;
    [[nodiscard]] Result<RecordProof> state(std::uint32_t index) const;
    /// Which leaf gradient number `index` is, as u32.
    [[nodiscard]] Result<RecordProof> gradient(std::uint32_t index) const;

  private:
    struct List {
        std::vector<Bytes> records;
        commit::MerkleTree tree;
        [[nodiscard]] Result<RecordProof> prove(std::uint32_t index) const;
    };
    static List make_list(std::vector<Bytes> records, Digest (*digest)(ByteView));
    List primitives_, leaves_, state_, gradients_;
};

// The record that a proof shows. @errors kMismatch, kMalformed.
[[nodiscard]] Result<PrimitiveRecord> check_primitive(const TraceHeader& header,
                                                      const RecordProof& proof);
[[nodiscard]] Result<LeafRecord> check_leaf(const TraceHeader& header, const RecordProof& proof);
[[nodiscard]] Result<StateRecord> check_state_record(const TraceHeader& header,
                                                     const RecordProof& proof);
/// The trace leaf that is a gradient.
[[nodiscard]] Result<std::uint32_t> check_gradient(const TraceHeader& header,
                                                   const RecordProof& proof);

}  // namespace gym::dispute
