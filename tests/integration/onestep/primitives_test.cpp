#include <gtest/gtest.h>

#include "descriptor.hpp"
#include "gym/kernels/float_environment.hpp"
#include "primitive_cases.hpp"
#include "random_seed.hpp"
#include "reference_runner.hpp"

// Each primitive: the engine's reference against OneStep, element by element, and depends_on()
// against its reach().

namespace gym::testing {
namespace {

using program::ElementRange;
using program::testing::ReferenceRunner;

constexpr int kRounds = 60;
constexpr int kElementsPerRound = 6;
/// Far below the cap of a transaction, 2^24: what proofs of the inputs cost comes on top.
constexpr std::uint64_t kGasMax = 400'000;

Evm& evm() {
    static Evm one;
    return one;
}

/// One op with data, its result by the reference, and the calls that must reproduce it.
class PrimitiveCase {
  public:
    PrimitiveCase(Rng& rng, Opcode code)
        : parts_(varied_sample(rng, code)), runner_(parts_), calls_(parts_) {
        const program::Op& op = parts_.ops[0];
        for (std::size_t k = 0; k < op.inputs.size(); ++k)
            fill_operand(rng, parts_, k, runner_.bytes(op.inputs[k]));
        runner_.run();
        const std::uint64_t count = program::element_count(output().dims);
        for (int i = 0; i < kElementsPerRound; ++i)
            add_element(i == 0 ? count - 1 : rng() % count);
    }

    void check() {
        const std::vector<EvmAnswer> answers = evm().many(batch_);
        ASSERT_EQ(answers.size(), expected_.size());
        for (std::size_t i = 0; i < answers.size(); ++i) {
            ASSERT_TRUE(answers[i].ok) << titles_[i] << error_of(answers[i]);
            EXPECT_EQ(words_of(answers[i]), expected_[i]) << titles_[i];
            EXPECT_LT(answers[i].gas, kGasMax) << titles_[i];
        }
    }

    [[nodiscard]] const program::ProgramParts& parts() const { return parts_; }

  private:
    [[nodiscard]] const program::Slot& output() const {
        return parts_.slots[parts_.ops[0].outputs[0]];
    }

    void add(Bytes call, std::vector<std::uint64_t> expected, const std::string& what) {
        std::string title(program::to_string(parts_.ops[0].code));
        for (const program::Slot& slot : parts_.slots)
            title +=
                " " + std::string(commit::to_string(slot.dtype)) + program::to_string(slot.dims);
        batch_.push_back(std::move(call));
        expected_.push_back(std::move(expected));
        titles_.push_back(title + ", " + what + " ");
    }

    void add_element(std::uint64_t element) {
        const program::Op& op = parts_.ops[0];
        std::int32_t index = 0;
        const auto read = [&](program::SlotId slot, std::uint64_t at) {
            std::memcpy(&index, runner_.bytes(slot) + at * sizeof index, sizeof index);
            return index;
        };
        std::vector<Bytes> inputs;
        for (std::size_t k = 0; k < op.inputs.size(); ++k) {
            const ElementRange range = program::depends_on(parts_.slots, op, k, element, read);
            const std::string what =
                "operand " + std::to_string(k) + " of element " + std::to_string(element);
            add(calls_.reach(k, element, index), {range.first, range.count}, what);
            const std::size_t size = commit::size_bytes(parts_.slots[op.inputs[k]].dtype);
            const std::uint8_t* begin = runner_.bytes(op.inputs[k]) + range.first * size;
            inputs.emplace_back(begin, begin + range.count * size);
        }
        const std::size_t size = commit::size_bytes(output().dtype);
        std::uint64_t bits = 0;
        std::memcpy(&bits, runner_.bytes(op.outputs[0]) + element * size, size);
        add(calls_.evaluate(inputs, element), {bits}, "element " + std::to_string(element));
    }

    program::ProgramParts parts_;
    ReferenceRunner runner_;
    OneStepCalls calls_;
    std::vector<Bytes> batch_;
    std::vector<std::vector<std::uint64_t>> expected_;
    std::vector<std::string> titles_;
};

class PrimitiveOnChain : public ::testing::TestWithParam<Opcode> {};

TEST_P(PrimitiveOnChain, GivesTheBitsAndTheReachOfTheReference) {
    const kernels::ExactFloatEnvironment environment;
    Rng rng(random_seed());
    for (std::uint64_t round = 0; round < kRounds * test_scale(); ++round) {
        PrimitiveCase one(rng, GetParam());
        ASSERT_TRUE(program::validate(one.parts()).ok())
            << program::validate(one.parts()).error().message;
        one.check();
        if (HasFailure()) return;
    }
}

std::vector<Opcode> primitives() {
    std::vector<Opcode> codes;
    for (const program::OpcodeInfo& op : program::opcode_table())
        if (!op.macro) codes.push_back(op.code);
    return codes;
}

INSTANTIATE_TEST_SUITE_P(OneStep, PrimitiveOnChain, ::testing::ValuesIn(primitives()),
                         [](const auto& test) {
                             return std::string(program::to_string(test.param));
                         });

}  // namespace
}  // namespace gym::testing
