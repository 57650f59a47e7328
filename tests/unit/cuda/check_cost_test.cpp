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
constexpr double kPerTerm = 6;        // of a dot: three products of digits
constexpr double kPerSummedWord = 4;  // the next index and weight; word times weight
constexpr double kPerDigitPair = 8;   // two digits taken out of words, put together, times a weight
constexpr double kPerDot = 6;         // of three accumulators
constexpr double kPerWeightedDot = 4;   // a dot, a term or a total times its weight
constexpr double kPerWeightedWord = 2;  // a result's bits times their weight
constexpr double kPerBlockTerm = 16;    // an exact dot shifted and rounded, in 64 bits
constexpr double kPerResult = 16;       // rounded to f32, scaled, poisoned

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
            return 12;  // with its digits
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

/// @param dot the primitive, (.., M, K) times (.., N, K).
void add_product(const Slot& a, const Slot& b, const Slot& out, Count& count) {
    const auto a_elements = static_cast<double>(program::element_count(a.dims)),
               b_elements = static_cast<double>(program::element_count(b.dims)),
               cells = static_cast<double>(program::element_count(out.dims)),
               length = static_cast<double>(a.dims.back());
    const auto blocks = static_cast<double>(out.dims.back());
    const double results = cells / blocks;
    const double terms = blocks > 1 ? cells : 0;
    const double finish = kPerDot * cells + kPerResult * results + kPerBlockTerm * terms;
    count.step += kPerTerm * results * length + finish;
    // Once more, from the accumulators on; dots, terms and totals are weighted, and results twice.
    count.again += finish;
    count.dots += kPerWeightedDot * (cells + (blocks > 1 ? cells + results : 0));
    count.dots += (kPerWeightedWord + kPerSummedWord) * results;
    count.dots += kPerDigitPair * (a_elements + b_elements);
    // Two digits a byte each, summed after both quantisings and after the product.
    count.sums += 3 * kPerSummedWord * (a_elements + b_elements) / 2;
}

void add_op(const Program& program, const Op& op, Count& count) {
    const auto first_temp = static_cast<SlotId>(program.slots().size());
    const program::Expansion expansion = program::expand(program.slots(), op, first_temp);
    const auto slot = [&](SlotId id) -> const Slot& {
        return id < first_temp ? program.slots()[id] : expansion.temps[id - first_temp];
    };
    for (const Op& primitive : expansion.ops) {
        const Slot& out = slot(primitive.outputs[0]);
        if (primitive.code == Opcode::kBlockDot) {
            add_product(slot(primitive.inputs[0]), slot(primitive.inputs[1]), out, count);
            continue;
        }
        const Slot& counted = is_reduction(primitive.code) ? slot(primitive.inputs[0]) : out;
        const double operations =
            per_element(primitive.code) * static_cast<double>(program::element_count(counted.dims));
        count.step += operations;
        count.again += operations;
    }
    for (const SlotId id : op.outputs)
        count.sums += 2 * kPerSummedWord * words(slot(id));
    for (const SlotId id : op.inputs)
        count.sums += kPerSummedWord * words(slot(id));
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

TEST(CheckCost, FallsBelowThreePercentOfAStepAsModelsGrow) {
    EXPECT_LT(percent_of_a_step(12, 12, 768), 3.6);
    EXPECT_LT(percent_of_a_step(24, 16, 1024), 3.2);
    EXPECT_LT(percent_of_a_step(48, 25, 1600), 3);
}

}  // namespace
}  // namespace gym::engine
