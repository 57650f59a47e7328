// What the checks of a device cost, in arithmetic operations of a step of models of GPT-2's sizes
// (8 windows of 1,024 tokens). docs/GPU.md gives the figures that this prints.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "gym/program/cost.hpp"
#include "gym/program/expand.hpp"
#include "gym/program/opcode.hpp"
#include "gym/program/train_program.hpp"

namespace gym::engine {
namespace {

using program::Op;
using program::Opcode;
using program::Program;
using program::Slot;
using program::SlotId;

// Arithmetic operations a unit of work, of 32 bits, as the kernels have them. A multiplication that
// is added to a sum (of 64 bits, too) is two; a factor of 64 bits makes it two of them.
constexpr double kPerTerm = 6;           // of a dot: three products of digits
constexpr double kPerSummedWord = 2.25;  // word times weight; for eight words an index and a weight
constexpr double kPerSummedResult =
    4;                               // of a product: the next index and weight; word times weight
constexpr double kPerDigitPair = 8;  // two digits taken out of words, put together, times a weight
constexpr double kPerDot = 6;        // of three accumulators
constexpr double kPerWeightedDot = 4;   // a dot, a term or a total times its weight
constexpr double kPerWeightedWord = 2;  // a result's bits times their weight
constexpr double kPerBlockTerm = 16;    // an exact dot shifted and rounded, in 64 bits
constexpr double kPerResult = 16;       // a total rounded to f32, scaled, poisoned
constexpr double kPerBlockResult = 14;  // the same of the dot of a single block
// Of causal attention, products make no tiles right of the diagonal, and skip zeros by stages.
constexpr std::uint32_t kTileRows = 64, kTileColumns = 128, kStage = 64;

struct Count {
    double step = 0;   ///< without checks
    double again = 0;  ///< what runs a second time
    double sums = 0;   ///< of memory
    double dots = 0;   ///< of products
    [[nodiscard]] double checks() const { return again + sums + dots; }
};

/// A step's operations an element of its output, but for products: those of docs/NUMERICS.md with
/// two for an fma and three for scale2(). Moving is none.
double per_element(Opcode code) {
    switch (code) {
        case Opcode::kFill:
        case Opcode::kStridedCopy:
        case Opcode::kConcat:
        case Opcode::kGatherRows:
        case Opcode::kPick:
            return 0;
        case Opcode::kRescaleDot:
        case Opcode::kFinishProduct:
            return 0;  // parts of a product: add_product()
        case Opcode::kFma:
            return 2;
        case Opcode::kExp:
        case Opcode::kLog:
            return 34;
        case Opcode::kSigmoid:
        case Opcode::kSilu:
            return 60;
        case Opcode::kGelu:
            return 90;
        case Opcode::kDiv:
        case Opcode::kSqrt:
        case Opcode::kRsqrt:
        case Opcode::kRandomMask:
            return 12;
        case Opcode::kQuantiseI32:
        case Opcode::kFinishSum:
            return 6;
        case Opcode::kQuantiseI16:
            return 12;  // six of them for signed digits: add, shift, shift, subtract, two masks
        case Opcode::kBlockMax:
        case Opcode::kBlockSum:
            return 1;
        case Opcode::kBlockExponent:
        case Opcode::kConstantExponent:
            return 2;
        default:
            return 1;
    }
}

/// Primitives that read a whole block for an element of their output.
bool is_reduction(Opcode code) {
    return code == Opcode::kBlockMax || code == Opcode::kBlockExponent ||
           code == Opcode::kBlockSum || code == Opcode::kConstantExponent;
}

double words(const Slot& slot) {
    return static_cast<double>(program::size_bytes(slot)) / 4;
}

/// What is not computed of an op: the part of causal attention that does not count.
struct Skipped {
    std::uint32_t context = 0;  ///< 0: of other ops nothing is

    explicit Skipped(const Op& op) {
        const bool attention = op.code == Opcode::kAttention || op.code == Opcode::kAttentionGrad;
        if (attention && op.attributes[3] == 0)
            context = static_cast<std::uint32_t>(op.attributes[0]);
    }
    [[nodiscard]] bool is_square(std::uint32_t rows, std::uint32_t columns) const {
        return context != 0 && rows == context && columns == context;
    }
    /// Rows and columns of matrices as a product has them, or an elementwise op's last two dims.
    [[nodiscard]] double of_elements(const program::Dims& dims) const {
        const std::size_t rank = dims.size();
        if (rank < 2 || !is_square(dims[rank - 2], dims[rank - 1])) return 1;
        return (context + 1.0) / (2.0 * context);
    }
    [[nodiscard]] double of_results(std::uint32_t rows, std::uint32_t columns) const {
        if (!is_square(rows, columns)) return 1;
        double made = 0;
        for (std::uint32_t row = 0; row < rows; row += kTileRows) {
            const std::uint32_t end =
                (row + kTileRows + kTileColumns - 1) / kTileColumns * kTileColumns;
            made += std::min(kTileRows, rows - row) * static_cast<double>(std::min(end, columns));
        }
        return made / (static_cast<double>(rows) * columns);
    }
    [[nodiscard]] double of_length(std::uint32_t rows, std::uint32_t length) const {
        if (!is_square(rows, length)) return 1;
        double read = 0;
        for (std::uint32_t row = 0; row < rows; row += kTileRows)
            read += std::min(kTileRows, rows - row) *
                    static_cast<double>(
                        std::min((row + kTileRows + kStage - 1) / kStage * kStage, length));
        return read / (static_cast<double>(rows) * length);
    }
};

/// @param a, b operands of the primitive, (.., M, K) times (.., N, K); out (.., M, N, blocks).
void add_product(const Slot& a, const Slot& b, const Slot& out, const Skipped& skipped,
                 Count& count) {
    const auto rank = out.dims.size();
    const std::uint32_t m = out.dims[rank - 3], n = out.dims[rank - 2];
    const auto a_elements = static_cast<double>(program::element_count(a.dims)),
               b_elements = static_cast<double>(program::element_count(b.dims)),
               length = static_cast<double>(a.dims.back());
    const auto blocks = static_cast<double>(out.dims.back());
    const double cells =
        static_cast<double>(program::element_count(out.dims)) * skipped.of_results(m, n);
    const double results = cells / blocks;
    const double terms = blocks > 1 ? cells : 0;
    const double finish = kPerDot * cells + (blocks > 1 ? kPerResult : kPerBlockResult) * results +
                          kPerBlockTerm * terms;
    count.step += kPerTerm * results * length * skipped.of_length(m, a.dims.back()) + finish;
    // Once more, from the accumulators on; dots, terms and totals are weighted, and results twice.
    count.again += finish;
    // Quantising, twice: a's elements are also added to their block's sum; b's digits have no sign
    // and take three operations less (add, shift, one mask).
    count.step += a_elements - 3 * b_elements;
    count.again += a_elements - 3 * b_elements;
    count.dots += kPerWeightedDot * (cells + (blocks > 1 ? cells + results : 0));
    count.dots += (kPerWeightedWord + kPerSummedResult) * results;
    count.dots += kPerDigitPair * (a_elements + b_elements);
    // Two digits a byte each, exponents of vectors and blocks, sums of a's blocks, summed after
    // both quantisings and after the product.
    const double exponents = (a_elements * (1 + 2 * blocks) + b_elements * (1 + blocks)) / length;
    count.sums += 3 * kPerSummedWord * ((a_elements + b_elements) / 2 + exponents);
}

/// Of what attention has in scratch (kernels/cuda/attention.cu).
void add_attention_sums(const Program& program, const Op& op, Count& count) {
    const Skipped skipped(op);
    if (skipped.context == 0) return;
    const bool backward = op.code == Opcode::kAttentionGrad;
    const double values = words(program.slot(op.inputs[0])) / 3;
    const double rows = values / program.slot(op.inputs[0]).dims[1] * 3 *
                        static_cast<double>(op.attributes[1]);  // of all heads
    const double scores = rows * skipped.context;
    const double made = scores * skipped.of_results(skipped.context, skipped.context);
    // Of each array: by two runs, and after what reads it.
    if (backward) {
        count.sums += kPerSummedWord * ((3 + 3) * scores + (4 + 4) * values + 3 * rows);
        count.sums += kPerSummedResult * (2 * made + (3 + 3) * values);
    } else {
        count.sums += kPerSummedWord * (2 * scores + (3 + 3) * values + 2 * 3 * rows);
        count.sums += kPerSummedResult * (made + values);
    }
}

/// Outputs after every run, inputs after the last one.
void add_slot_sums(const Program& program, const Op& op, Count& count) {
    const bool products = op.code == Opcode::kMatmul || op.code == Opcode::kAttention ||
                          op.code == Opcode::kAttentionGrad;
    const bool adamw = op.code == Opcode::kAdamw || op.code == Opcode::kAdamwGuarded;
    for (const SlotId id : op.outputs)
        count.sums += (products ? 1 : 2) * kPerSummedWord * words(program.slot(id));
    // AdamW's are summed before, too, but for the three that are gone afterwards.
    for (std::size_t k = 0; k < op.inputs.size(); ++k)
        count.sums +=
            (adamw && k >= 3 ? 2 : 1) * kPerSummedWord * words(program.slot(op.inputs[k]));
}

/// The numerators of attention and of its gradient, which are each other's second run.
bool is_numerator(const Op& op, Opcode primitive) {
    return primitive == Opcode::kExp &&
           (op.code == Opcode::kAttention || op.code == Opcode::kAttentionGrad);
}

/// Primitives that are parts of quantise(), which takes all of its matrix.
bool quantises(Opcode code) {
    return code == Opcode::kQuantiseI16 || code == Opcode::kBlockExponent ||
           code == Opcode::kConstantExponent;
}

void add_op(const Program& program, const Op& op, Count& count) {
    const auto first_temp = static_cast<SlotId>(program.slots().size());
    const program::Expansion expansion = program::expand(program.slots(), op, first_temp);
    const auto slot = [&](SlotId id) -> const Slot& {
        return id < first_temp ? program.slots()[id] : expansion.temps[id - first_temp];
    };
    const Skipped skipped(op);
    for (const Op& primitive : expansion.ops) {
        const Slot& out = slot(primitive.outputs[0]);
        if (primitive.code == Opcode::kBlockDot) {
            add_product(slot(primitive.inputs[0]), slot(primitive.inputs[1]), out, skipped, count);
            continue;
        }
        const Slot& counted = is_reduction(primitive.code) ? slot(primitive.inputs[0]) : out;
        const double share = quantises(primitive.code) ? 1 : skipped.of_elements(counted.dims);
        const double operations = per_element(primitive.code) * share *
                                  static_cast<double>(program::element_count(counted.dims));
        count.step += operations;
        if (!is_numerator(op, primitive.code)) count.again += operations;
    }
    add_slot_sums(program, op, count);
    add_attention_sums(program, op, count);
}

/// GPT-2's sizes: of the checks' operations, what share of a step's, in percent.
double percent_of_a_step(std::uint32_t layers, std::uint32_t heads, std::uint32_t width) {
    program::TrainConfig config;
    config.model.vocabulary = 50257;
    config.model.context = 1024;
    config.model.layers = layers;
    config.model.heads = heads;
    config.model.width = width;
    config.batch = 8;
    const auto made = program::train_program(config);
    EXPECT_TRUE(made.ok()) << made.error().message;
    Count count;
    for (const Op& op : made->ops())
        add_op(*made, op, count);
    const auto percent = [&](double part) { return 100 * part / count.step; };
    std::cout << program::parameter_count(*made) << " parameters, " << count.step / 1e12
              << "e12 operations a step; checks " << percent(count.checks()) << " %: run again "
              << percent(count.again) << " %, sums of memory " << percent(count.sums)
              << " %, sums of products " << percent(count.dots) << " %\n";
    return percent(count.checks());
}

TEST(CheckCost, IsBelowThreePercentOfAStep) {
    EXPECT_LT(percent_of_a_step(12, 12, 768), 3);
    EXPECT_LT(percent_of_a_step(24, 16, 1024), 2.7);
    EXPECT_LT(percent_of_a_step(48, 25, 1600), 2.3);
}

}  // namespace
}  // namespace gym::engine
