#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// The op set of docs/NUMERICS.md. The numbers are hashed into program roots and never change.
namespace gym::program {

enum class Opcode : std::uint16_t {
    // Primitives: elementwise, f32.
    fill = 1,
    add = 2,
    sub = 3,
    mul = 4,
    div = 5,
    min = 6,
    fma = 7,
    sqrt = 8,
    rsqrt = 9,
    exp = 10,
    log = 11,
    sigmoid = 12,
    gelu = 13,
    silu = 14,
    less_equal = 15,
    select = 16,
    // Primitives: movement and selection.
    strided_copy = 32,
    concat = 33,
    gather_rows = 34,
    pick = 35,
    one_hot = 36,
    causal_fill = 37,
    random_mask = 38,
    // Primitives: what exact sums and products are made of.
    block_max = 64,
    block_exponent = 65,
    constant_exponent = 66,
    quantise_i32 = 67,
    quantise_i16 = 68,
    block_sum = 69,
    select_sum = 70,
    finish_sum = 71,
    block_dot = 72,
    rescale_dot = 73,
    finish_product = 74,
    // Macros: defined by their expansion (expand.hpp).
    row_sum = 128,
    column_sum = 129,
    sum_squares = 130,
    matmul = 131,
    layernorm = 132,
    layernorm_grad = 133,
    gelu_grad = 134,
    attention = 135,
    attention_grad = 136,
    cross_entropy = 137,
    cross_entropy_grad = 138,
    embedding_grad = 139,
    adamw = 140,
    rmsnorm = 141,
    rmsnorm_grad = 142,
    rope = 143,
    repeat_heads = 144,
    repeat_heads_grad = 145,
    swiglu = 146,
    swiglu_grad = 147,
    sum_tensors = 148,
    adamw_guarded = 149,
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
    flag,      ///< 0 or 1
    integer,   ///< an unsigned integer
    f32_bits,  ///< the bits of a finite f32 or an infinity, in the low 32 bits
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
