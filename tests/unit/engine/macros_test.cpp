#include <gtest/gtest.h>

#include <memory>

#include "execute.hpp"
#include "gym/engine/reference.hpp"
#include "gym/kernels/dispatch.hpp"
#include "gym/kernels/float_environment.hpp"
#include "macro_cases.hpp"

namespace gym::engine {
namespace {

using namespace testing;

struct Runner {
    kernels::Isa isa;
    int threads;
    std::unique_ptr<kernels::Context> context;
    kernels::MacroWorkspace workspace;
};

/// Every level of this CPU with one and with two threads.
std::vector<std::unique_ptr<Runner>> all_runners() {
    std::vector<std::unique_ptr<Runner>> runners;
    for (int level = 0; level <= static_cast<int>(kernels::detect_isa()); ++level) {
        for (const int threads : {1, 2}) {
            const auto isa = static_cast<kernels::Isa>(level);
            runners.push_back(std::make_unique<Runner>(
                Runner{isa, threads, std::make_unique<kernels::Context>(isa, threads), {}}));
        }
    }
    return runners;
}

/// Slots' memory: inputs filled once, outputs to be compared.
class Memory {
  public:
    Memory(const Program& program, Rng& rng) {
        for (const program::Slot& slot : program.slots()) {
            // A fill for each operand: ordinary numbers meet special ones.
            const auto fill = static_cast<Fill>(rng() % 3 == 0 ? rng() % kFills : 0);
            storage_.push_back(random_storage(rng, slot, fill));
            pointers_.push_back(reinterpret_cast<std::uint8_t*>(storage_.back().data()));
        }
        number_documents(rng, program, pointers_);
    }
    Memory(const Memory& other) : storage_(other.storage_) {
        for (Storage& storage : storage_)
            pointers_.push_back(reinterpret_cast<std::uint8_t*>(storage.data()));
    }
    [[nodiscard]] const SlotPointers& pointers() const { return pointers_; }
    [[nodiscard]] std::span<const std::uint32_t> words(const Program& program, SlotId id) const {
        return {reinterpret_cast<const std::uint32_t*>(pointers_[id]),
                program::element_count(program.slot(id).dims)};
    }

  private:
    std::vector<Storage> storage_;
    SlotPointers pointers_;
};

std::string describe(const Program& program) {
    const program::Op& op = program.ops()[0];
    std::string text(program::to_string(op.code));
    for (const SlotId id : op.inputs)
        text += " " + program::to_string(program.slot(id).dims);
    return text;
}

void expect_equal(const Program& program, const Memory& expected, const Memory& found,
                  const std::string& where) {
    for (const SlotId id : program.ops()[0].outputs) {
        const auto want = expected.words(program, id), got = found.words(program, id);
        for (std::size_t i = 0; i < want.size(); ++i) {
            ASSERT_EQ(want[i], got[i])
                << describe(program) << ", slot " << id << ", element " << i << ", " << where
                << std::hex << ": " << want[i] << " and " << got[i];
        }
    }
}

class FusedOp : public ::testing::TestWithParam<Opcode> {};

TEST_P(FusedOp, GivesTheBitsOfItsDefinitionOnEveryLevel) {
    Rng rng(test_seed() + static_cast<std::uint64_t>(GetParam()));
    auto runners = all_runners();
    const kernels::ExactFloatEnvironment environment;
    for (int round = 0; round < 25 * test_scale(); ++round) {
        MacroCase one(rng, GetParam());
        const auto program = one.make();
        ASSERT_TRUE(program.ok()) << program.error().message;
        const Memory inputs(*program, rng);
        const Memory expected(inputs);
        const auto first_temp = static_cast<SlotId>(program->slots().size());
        const auto& op = program->ops()[0];
        run_primitives(program->slots(), program::expand(program->slots(), op, first_temp),
                       expected.pointers());
        for (auto& runner : runners) {
            const Memory found(inputs);
            execute({*program, op, found.pointers(), *runner->context, runner->workspace});
            expect_equal(*program, expected, found,
                         std::string(kernels::isa_name(runner->isa)) + ", threads " +
                             std::to_string(runner->threads) + ", round " + std::to_string(round));
            if (HasFatalFailure()) return;
        }
    }
}

std::vector<Opcode> ops_with_fast_versions() {
    std::vector<Opcode> ops{
        Opcode::kAdd,  Opcode::kSub,       Opcode::kMul,     Opcode::kDiv,
        Opcode::kMin,  Opcode::kFma,       Opcode::kSqrt,    Opcode::kRsqrt,
        Opcode::kExp,  Opcode::kLog,       Opcode::kSigmoid, Opcode::kGelu,
        Opcode::kSilu, Opcode::kLessEqual, Opcode::kSelect,  Opcode::kRandomMask};
    for (const program::OpcodeInfo& info : program::opcode_table()) {
        if (info.macro) ops.push_back(info.code);
    }
    return ops;
}

INSTANTIATE_TEST_SUITE_P(All, FusedOp, ::testing::ValuesIn(ops_with_fast_versions()),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(FusedKernels, ExistForEveryMacro) {
    for (const program::OpcodeInfo& info : program::opcode_table()) {
        if (info.macro) {
            EXPECT_TRUE(has_fused_kernel(info.code)) << info.name;
        }
    }
}

}  // namespace
}  // namespace gym::engine
