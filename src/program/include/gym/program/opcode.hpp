#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// The op set of docs/NUMERICS.md. The numbers are hashed into program roots and never change.
namespace gym::program {

enum class Opcode : std::uint16_t {
    // Primitives: elementwise, f32.
    kFill = 1,
    kAdd = 2,
    kSub = 3,
    kMul = 4,
    kDiv = 5,
    kMin = 6,
    kFma = 7,
    kSqrt = 8,
    kRsqrt = 9,
    kExp = 10,
    kLog = 11,
    kSigmoid = 12,
    kGelu = 13,
    kSilu = 14,
    kLessEqual = 15,
    kSelect = 16,
    // Primitives: movement and selection.
    kStridedCopy = 32,
    kConcat = 33,
    kGatherRows = 34,
    kPick = 35,
    kOneHot = 36,
    kCausalFill = 37,
    kRandomMask = 38,
    // Primitives: what exact sums and products are made of.
    kBlockMax = 64,
    kBlockExponent = 65,
    kConstantExponent = 66,
    kQuantiseI32 = 67,
    kQuantiseI16 = 68,
    kBlockSum = 69,
    kSelectSum = 70,
    kFinishSum = 71,
    kBlockDot = 72,
    kRescaleDot = 73,
    kFinishProduct = 74,
    // Macros: defined by their expansion (expand.hpp).
    kRowSum = 128,
    kColumnSum = 129,
    kSumSquares = 130,
    kMatmul = 131,
    kLayernorm = 132,
    kLayernormGrad = 133,
    kGeluGrad = 134,
    kAttention = 135,
    kAttentionGrad = 136,
    kCrossEntropy = 137,
    kCrossEntropyGrad = 138,
    kEmbeddingGrad = 139,
    kAdamw = 140,
    kRmsnorm = 141,
    kRmsnormGrad = 142,
    kRope = 143,
    kRepeatHeads = 144,
    kRepeatHeadsGrad = 145,
    kSwiglu = 146,
    kSwigluGrad = 147,
    kSumTensors = 148,
    kAdamwGuarded = 149,
    kAttentionDocuments = 150,
    kAttentionDocumentsGrad = 151,
};

/// Elements that blocks of exponents, sums and products hold: the leaf rule's largest reach.
inline constexpr std::uint64_t kBlockElements = 1024;
/// The leaf rule's bound on the 1 KiB chunks that one output element may depend on, per operand.
inline constexpr std::uint32_t kReachChunksMax = 17;

/// Elements of the i32 tensor that names where in a job random numbers are drawn: the two words of
/// the Philox key, round, worker slot, step.
inline constexpr std::uint32_t kRandomWords = 5;

inline constexpr std::size_t kOpInputsMax = 12;
inline constexpr std::size_t kOpOutputsMax = 3;
inline constexpr std::size_t kAttributesMax = 8;

enum class AttributeKind : std::uint8_t {
    kFlag,     ///< 0 or 1
    kInteger,  ///< an unsigned integer
    kF32Bits,  ///< the bits of a finite f32 or an infinity, in the low 32 bits
};

struct AttributeInfo {
    std::string_view name;
    AttributeKind kind;
};

/// Largest number of elements of each operand that one output element depends on.
struct Reach {
    std::uint32_t elements = 0;
    std::uint32_t chunks = 0;
};

struct OpcodeInfo {
    Opcode code;
    std::string_view name;
    bool macro = false;
    std::uint8_t inputs_min = 0;
    std::uint8_t inputs_max = 0;
    std::uint8_t outputs = 1;
    /// Nominal floating-point operations per output element (block_dot: per term); see cost.hpp.
    std::uint8_t flops = 0;
    std::span<const AttributeInfo> attributes;
    Reach reach;  ///< primitives only
};

/// Every opcode, in the order of its number.
[[nodiscard]] std::span<const OpcodeInfo> opcode_table();
/// nullptr for a number that names no opcode.
[[nodiscard]] const OpcodeInfo* find_opcode(std::uint16_t number) noexcept;
/// `code` must be an enumerator.
[[nodiscard]] const OpcodeInfo& info(Opcode code);
[[nodiscard]] std::string_view to_string(Opcode code);

}  // namespace gym::program
