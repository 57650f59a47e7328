// Many steps of AdamW in one launch have the bits of one after the other.
#include <gtest/gtest.h>

#include "gym/engine/cuda_engine.hpp"
#include "gym/engine/engine.hpp"
#include "gym/program/builder.hpp"
#include "random_tensors.hpp"

namespace gym::engine {
namespace {

using program::Builder;
using program::Op;
using program::Opcode;
using program::SlotId;
using testing::Rng;

class DeviceAdamw : public ::testing::Test {
  protected:
    void SetUp() override {
        const std::string reason = cuda_unavailable_reason();
        if (!reason.empty()) GTEST_SKIP() << reason;
    }
    struct Parameter {
        SlotId p, m, v;
    };
    Parameter parameter(std::uint32_t size) {
        const std::string name = std::to_string(parameters_++);
        constexpr program::Init kNormal{program::Init::Kind::kNormal, 0x3F800000},
            kHalf{program::Init::Kind::kConstant, 0x3F000000};
        return {b_.param("p" + name, {size}, kNormal), b_.state("m" + name, {size}, kHalf),
                b_.state("v" + name, {size}, kHalf)};
    }
    void step(const Parameter& of, SlotId gradient, float weight_decay) {
        const auto bits = [](float value) {
            return std::uint64_t{std::bit_cast<std::uint32_t>(value)};
        };
        Op op;
        op.code = Opcode::kAdamw;
        op.inputs = {of.p, of.m, of.v, gradient};
        if (scalars_.empty())
            for (const float value : {0.01F, 0.5F, 1.5F, 1.25F})
                scalars_.push_back(b_.scalar(value));
        op.inputs.insert(op.inputs.end(), scalars_.begin(), scalars_.end());
        for (const SlotId slot : {of.p, of.m, of.v}) {
            op.outputs.push_back(b_.temp(program::DType::kF32, b_.slot(slot).dims));
            b_.set_next(slot, op.outputs.back());
        }
        op.attributes = {bits(0.9F),  bits(0.1F),  bits(0.95F),
                         bits(0.05F), bits(1e-8F), bits(weight_decay)};
        b_.append(op);
    }
    /// Two runs, with and without checks, leave the state of the CPU.
    void expect_the_bits_of_the_cpu() {
        const auto built = b_.build();
        ASSERT_TRUE(built.ok()) << built.error().message;
        Digest seed;
        State expected = initial_state(*built, seed).value();
        const State before = expected;
        auto cpu = Engine::create(*built);
        ASSERT_TRUE(cpu->run(expected, {}).ok() && cpu->run(expected, {}).ok());
        for (const bool checked : {true, false}) {
            auto engine = CudaEngine::create(*built, {.checked = checked});
            ASSERT_TRUE(engine.ok()) << engine.error().message;
            State found = before;
            ASSERT_TRUE(engine->load(found).ok());
            for (int run = 0; run < 2; ++run) {
                const Status ran = engine->run({});
                ASSERT_TRUE(ran.ok()) << ran.error().message;
            }
            ASSERT_TRUE(engine->store(found).ok());
            EXPECT_EQ(found, expected) << (checked ? "with checks" : "without");
        }
    }

    Builder b_;
    std::vector<SlotId> scalars_;
    int parameters_ = 0;
};

TEST_F(DeviceAdamw, MoreTensorsThanALaunchTakes) {
    Rng rng(testing::test_seed());
    std::vector<std::uint32_t> sizes{1, 255, 256, 257, 1023, 1024, 1025, 8192, 8193, 20'000};
    for (int i = 0; i < 45; ++i)
        sizes.push_back(1 + static_cast<std::uint32_t>(rng() % 3000));
    std::vector<Parameter> parameters;
    for (const std::uint32_t size : sizes)
        parameters.push_back(parameter(size));
    std::vector<SlotId> gradients;
    for (const Parameter& of : parameters)
        gradients.push_back(b_.mul(of.p, of.p));
    for (std::size_t i = 0; i < parameters.size(); ++i)
        step(parameters[i], gradients[i], i % 3 == 0 ? 0.0F : 0.1F);
    expect_the_bits_of_the_cpu();
}

/// The second step writes over what is the first one's gradient.
TEST_F(DeviceAdamw, AStepThatWritesWhatAnotherReadsWaits) {
    const Parameter a = parameter(3000), b = parameter(3000), c = parameter(3000);
    step(a, b.p, 0.1F);
    step(b, b.m, 0.1F);
    step(c, c.v, 0.1F);
    expect_the_bits_of_the_cpu();
}

}  // namespace
}  // namespace gym::engine
