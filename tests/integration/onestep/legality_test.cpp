#include <gtest/gtest.h>

#include <set>

#include "descriptor.hpp"
#include "primitive_cases.hpp"
#include "random_seed.hpp"

// Descriptors that validate() refuses, OneStep refuses, and no others.

namespace gym::testing {
namespace {

constexpr int kMutationsPerOp = 200;

Evm& evm() {
    static Evm one;
    return one;
}

std::uint32_t other_dim(Rng& rng, std::uint32_t dim) {
    const std::uint32_t candidates[] = {0, 1, dim + 1, dim - 1, dim * 2, 1024, 1025, 0x80000000U};
    return candidates[rng() % std::size(candidates)];
}

void mutate_slot(Rng& rng, program::Slot& slot) {
    const std::size_t at = rng() % slot.dims.size();
    switch (rng() % 5) {
        case 0:
            slot.dtype = static_cast<program::DType>(1 + rng() % 7);
            break;
        case 1:
            if (slot.dims.size() > 1) slot.dims.pop_back();
            break;
        case 2:
            if (slot.dims.size() < program::kRankMax)
                slot.dims.insert(slot.dims.begin() + static_cast<std::ptrdiff_t>(at), 1);
            break;
        default:
            slot.dims[at] = other_dim(rng, slot.dims[at]);
            break;
    }
}

/// Changes a thing or two; many results are legal all the same.
void mutate(Rng& rng, program::ProgramParts& parts) {
    program::Op& op = parts.ops[0];
    constexpr std::uint64_t kValues[] = {1,          2,         127,        128,         0x7FC00000,
                                         0xFF800000, 0x1000000, 0x80000001, 0x1FFFFFFFF, ~0ULL};
    switch (rng() % 6) {
        case 0:
            op.attributes[rng() % op.attributes.size()] = kValues[rng() % std::size(kValues)];
            break;
        case 1:
            if (!op.inputs.empty()) op.inputs.pop_back();
            break;
        case 2:
            if (!op.inputs.empty()) op.inputs.push_back(op.inputs[rng() % op.inputs.size()]);
            break;
        default:
            mutate_slot(rng, parts.slots[rng() % parts.slots.size()]);
            break;
    }
    if (op.inputs.size() > program::kOpInputsMax + 1) op.inputs.pop_back();
}

/// Whether the contract takes the op as legal: it then wants the operands' bytes, or has none.
bool is_taken(const EvmAnswer& answer) {
    const std::string error = error_of(answer);
    EXPECT_TRUE(answer.ok || !error.empty()) << "no error of IOneStep: " << to_hex(answer.data);
    return answer.ok || error == "WrongInputCount" || error == "WrongInputLength";
}

TEST(Legality, OneStepTakesExactlyWhatValidateTakes) {
    Rng rng(random_seed());
    std::uint64_t taken = 0, refused = 0;
    std::vector<Bytes> calls;
    std::vector<Status> wanted;
    for (const program::OpcodeInfo& info : program::opcode_table()) {
        for (std::uint64_t i = 0; !info.macro && i < kMutationsPerOp * test_scale(); ++i) {
            program::ProgramParts parts = varied_sample(rng, info.code);
            for (std::uint64_t n = rng() % 3; n > 0; --n)
                mutate(rng, parts);
            wanted.push_back(program::validate(parts));
            calls.push_back(OneStepCalls(parts).evaluate({}, 0));
        }
    }
    const std::vector<EvmAnswer> answers = evm().many(calls);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const bool legal = wanted[i].ok();
        ASSERT_EQ(is_taken(answers[i]), legal)
            << "case " << i << ": " << (legal ? "legal" : wanted[i].error().message) << "; "
            << error_of(answers[i]);
        ++(legal ? taken : refused);
    }
    EXPECT_GT(taken, answers.size() / 10);
    EXPECT_GT(refused, answers.size() / 10);
}

TEST(Legality, UnknownOpcodesAndMacrosAreRefused) {
    Rng rng(1);
    program::ProgramParts parts = varied_sample(rng, Opcode::kAdd);
    std::set<std::uint16_t> known;
    for (const program::OpcodeInfo& info : program::opcode_table())
        if (!info.macro) known.insert(static_cast<std::uint16_t>(info.code));
    std::vector<Bytes> calls;
    for (std::uint32_t number = 0; number < 260; ++number) {
        if (known.contains(static_cast<std::uint16_t>(number))) continue;
        parts.ops[0].code = static_cast<Opcode>(number);
        calls.push_back(OneStepCalls(parts).reach(0, 0, 0));
        calls.push_back(OneStepCalls(parts).evaluate({}, 0));
    }
    for (const EvmAnswer& answer : evm().many(calls))
        EXPECT_EQ(error_of(answer), "UnknownOpcode");
}

TEST(Legality, ElementsAndOperandsOutsideAndBytesOfAnotherLengthAreRefused) {
    Rng rng(random_seed());
    std::vector<Bytes> calls;
    std::vector<std::string> wanted;
    for (const program::OpcodeInfo& info : program::opcode_table()) {
        if (info.macro) continue;
        const program::ProgramParts parts = varied_sample(rng, info.code);
        const program::Op& op = parts.ops[0];
        const std::uint64_t count = program::element_count(parts.slots[op.outputs[0]].dims);
        const OneStepCalls one(parts);
        const auto expect = [&](Bytes call, const char* error) {
            calls.push_back(std::move(call));
            wanted.emplace_back(error);
        };
        expect(one.evaluate({}, count), "ElementOutOfRange");
        expect(one.reach(0, count, 0), "ElementOutOfRange");
        expect(one.reach(op.inputs.size(), 0, 0), "NoSuchOperand");
        const auto no_index = [](program::SlotId, std::uint64_t) { return 0; };
        std::vector<Bytes> inputs;
        for (std::size_t k = 0; k < op.inputs.size(); ++k)
            inputs.emplace_back(program::depends_on(parts.slots, op, k, 0, no_index).count *
                                commit::size_bytes(parts.slots[op.inputs[k]].dtype));
        for (std::size_t k = 0; k < inputs.size(); ++k) {
            std::vector<Bytes> changed = inputs;
            changed[k].push_back(0);
            expect(one.evaluate(changed, 0), "WrongInputLength");
            if (inputs[k].empty()) continue;  // another part of a concat
            changed[k].resize(inputs[k].size() - 1);
            expect(one.evaluate(changed, 0), "WrongInputLength");
        }
        inputs.emplace_back();
        expect(one.evaluate(inputs, 0), "WrongInputCount");
    }
    const std::vector<EvmAnswer> answers = evm().many(calls);
    for (std::size_t i = 0; i < answers.size(); ++i)
        EXPECT_EQ(error_of(answers[i]), wanted[i]) << "case " << i;
}

}  // namespace
}  // namespace gym::testing
