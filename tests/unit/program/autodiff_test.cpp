#include "gym/program/autodiff.hpp"

#include <gtest/gtest.h>

namespace gym::program {
namespace {

// That the numbers are right is the business of torch_ops_test.cpp; here: which ops are written.

std::vector<Opcode> codes_from(const Builder& b, std::size_t first) {
    std::vector<Opcode> codes;
    for (std::size_t i = first; i < b.ops().size(); ++i)
        codes.push_back(b.ops()[i].code);
    return codes;
}

struct Fixture {
    Builder b;
    SlotId x = b.param("x", {2, 3}, {Init::Kind::kNormal, 0x3F800000});
    SlotId w = b.param("w", {3}, {Init::Kind::kNormal, 0x3F800000});

    Result<std::vector<SlotId>> gradients_of(SlotId loss, std::vector<SlotId> wrt) {
        return gradients(b, loss, wrt);
    }
    SlotId total(SlotId y) { return b.column_sum(y, {1}); }
};

TEST(Autodiff, AddsContributionsOfASlotUsedTwiceLaterUseFirst) {
    Fixture f;
    const SlotId first = f.b.unary(Opcode::kExp, f.x);
    const SlotId second = f.b.unary(Opcode::kSigmoid, f.x);
    const SlotId loss = f.total(f.b.add(first, second));
    const auto result = f.gradients_of(loss, {f.x});
    ASSERT_TRUE(result.ok()) << result.error().message;
    // The last op adds: first operand from sigmoid (the later use), second from exp.
    const Op& last = f.b.ops().back();
    EXPECT_EQ(last.code, Opcode::kAdd);
    EXPECT_EQ(last.outputs[0], (*result)[0]);
    const auto writer = [&](SlotId slot) {
        for (const Op& op : f.b.ops())
            if (op.outputs[0] == slot) return op;
        return Op{};
    };
    const Op late = writer(last.inputs[0]);
    EXPECT_EQ(writer(late.inputs[1]).code, Opcode::kMul) << "dy * (y * (1 - y))";
    EXPECT_EQ(writer(last.inputs[1]).inputs[1], first) << "dy * exp(x)";
    EXPECT_TRUE(f.b.build().ok());
}

TEST(Autodiff, ReducesToTheShapeOfARepeatedOperand) {
    Fixture f;
    const auto result = f.gradients_of(f.total(f.b.mul(f.x, f.w)), {f.x, f.w});
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(f.b.slot((*result)[0]).dims, (Dims{2, 3}));
    EXPECT_EQ(f.b.slot((*result)[1]).dims, (Dims{3}));
    EXPECT_TRUE(f.b.build().ok());
}

TEST(Autodiff, WritesNothingForWhatNobodyAsked) {
    Fixture f;
    const SlotId y = f.b.layernorm(f.x, f.w, f.w, 1e-5F);
    const SlotId z = f.b.matmul(y, f.b.input("m", DType::kF32, {4, 3}));
    const SlotId loss = f.total(z);
    const std::size_t first = f.b.ops().size();
    ASSERT_TRUE(f.gradients_of(loss, {f.x}).ok());
    const std::vector<Opcode> written = codes_from(f.b, first);
    EXPECT_EQ(written, (std::vector<Opcode>{Opcode::kFill, Opcode::kFill, Opcode::kMul,
                                            Opcode::kMatmul, Opcode::kLayernormGrad}));
}

TEST(Autodiff, SaysWhichOpHasNoDerivative) {
    Fixture f;
    const SlotId loss = f.total(f.b.min(f.x, f.w));
    const auto result = f.gradients_of(loss, {f.x});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message, "no derivative of min");
}

TEST(Autodiff, CopiesBackWhatACopyOnlyArranges) {
    const auto dims_of = [](const Dims& dims, const std::vector<std::uint64_t>& strides) {
        Fixture f;
        const SlotId copy = f.b.strided_copy(f.x, dims, 0, strides);
        const auto result = f.gradients_of(f.total(f.b.unary(Opcode::kExp, copy)), {f.x});
        EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
        EXPECT_TRUE(f.b.build().ok());
        return result.ok() ? f.b.slot((*result)[0]).dims : Dims{};
    };
    const Dims whole{2, 3};
    EXPECT_EQ(dims_of({3, 2}, {1, 3}), whole) << "a transpose";
    EXPECT_EQ(dims_of({6}, {1}), whole) << "other dims";
    EXPECT_EQ(dims_of({3, 1, 2, 1}, {1, 7, 3, 0}), whole) << "dims of 1 may have any stride";
    Fixture f;
    const Op& last = [&]() -> const Op& {
        const SlotId copy = f.b.strided_copy(f.x, {3, 2}, 0, {1, 3});
        EXPECT_TRUE(f.gradients_of(f.total(copy), {f.x}).ok());
        return f.b.ops().back();
    }();
    EXPECT_EQ(last.code, Opcode::kStridedCopy);
    EXPECT_EQ(last.attributes[1], 1U) << "element (i, j) of x is (j, i) of the copy";
    EXPECT_EQ(last.attributes[2], 2U);
}

TEST(Autodiff, RefusesCopiesThatLeaveOutOrRepeat) {
    const auto expect_refused = [](const Dims& dims, std::uint64_t offset,
                                   const std::vector<std::uint64_t>& strides) {
        Fixture f;
        const SlotId copy = f.b.strided_copy(f.x, dims, offset, strides);
        const auto result = f.gradients_of(f.total(copy), {f.x});
        ASSERT_FALSE(result.ok());
        EXPECT_NE(result.error().message.find("leaves elements out or repeats them"),
                  std::string::npos);
    };
    expect_refused({2, 2}, 1, {3, 1});
    expect_refused({2, 2}, 0, {3, 1});
    expect_refused({2, 3}, 0, {0, 1});
    expect_refused({3, 2}, 0, {1, 1});
}

TEST(Autodiff, SaysWhichSlotTheLossDoesNotDependOn) {
    Fixture f;
    const auto result = f.gradients_of(f.total(f.x), {f.x, f.w});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message, "the loss does not depend on 'w'");
}

TEST(Autodiff, WantsALossOfOneElement) {
    Fixture f;
    EXPECT_FALSE(f.gradients_of(f.x, {f.x}).ok());
}

}  // namespace
}  // namespace gym::program
