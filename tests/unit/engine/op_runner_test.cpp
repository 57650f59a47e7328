#include "gym/engine/op_runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "gym/program/builder.hpp"

namespace gym::engine {
namespace {

using program::Dims;
using program::DType;
using program::Opcode;

std::vector<float> ramp(std::size_t count, float step) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11) * step;
    return values;
}

OpInput in(const std::vector<float>& values, Dims dims) {
    return {DType::kF32, std::move(dims), values.data()};
}
OpOutput out(std::vector<float>& values, Dims dims) {
    return {DType::kF32, std::move(dims), values.data()};
}

ByteView bytes_of(const std::vector<float>& values) {
    return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(float)};
}

TEST(OpRunner, GivesTheBitsOfAProgram) {
    const std::vector<float> a = ramp(5 * 40, 0.37F), b = ramp(6 * 40, 0.11F);
    program::Builder builder;
    builder.output("y", builder.matmul(builder.input("a", DType::kF32, {5, 40}),
                                       builder.input("b", DType::kF32, {6, 40})));
    const auto program = builder.build().value();
    auto engine = Engine::create(program).value();
    State none;
    const NamedTensorView inputs[] = {{"a", bytes_of(a)}, {"b", bytes_of(b)}};
    ASSERT_TRUE(engine.run(none, inputs).ok());
    const ByteView want = engine.output("y").value();
    for (const unsigned threads : {1U, 3U}) {
        EngineOptions options;
        options.threads = threads;
        auto runner = OpRunner::create(options).value();
        std::vector<float> y(5 * 6);
        const std::uint64_t attributes[] = {0, 0};
        const OpInput operands[] = {in(a, {5, 40}), in(b, {6, 40})};
        const OpOutput results[] = {out(y, {5, 6})};
        for (int again = 0; again < 2; ++again) {  // the second time from the remembered program
            std::ranges::fill(y, 0.0F);
            ASSERT_TRUE(runner.run(Opcode::kMatmul, attributes, operands, results).ok());
            EXPECT_EQ(std::memcmp(y.data(), want.data(), want.size()), 0) << threads;
        }
    }
}

/// Against the definition, at every level, around the sizes of tiles and blocks.
TEST(OpRunner, DotsOfBlocksAreExact) {
    struct Shape {
        std::uint32_t batches, m, n, length;
    };
    std::mt19937 rng(7);
    for (const Shape& shape :
         {Shape{1, 1, 1, 1}, {1, 17, 5, 40}, {3, 16, 7, 1024}, {2, 33, 3, 1025}, {1, 2, 2, 3000}}) {
        const std::uint32_t blocks = (shape.length + 1023) / 1024;
        std::vector<std::int16_t> a(std::size_t{shape.batches} * shape.m * shape.length),
            b(std::size_t{shape.batches} * shape.n * shape.length);
        for (auto* operand : {&a, &b})
            for (std::int16_t& x : *operand)
                x = static_cast<std::int16_t>(rng() % 3 == 0 ? -32768 : rng());
        std::vector<std::int64_t> want;
        for (std::size_t row = 0; row < std::size_t{shape.batches} * shape.m; ++row) {
            for (std::uint32_t n = 0; n < shape.n; ++n) {
                const std::int16_t* x = &a[row * shape.length];
                const std::int16_t* y = &b[(row / shape.m * shape.n + n) * shape.length];
                for (std::uint32_t i = 0; i < blocks; ++i) {
                    want.push_back(0);
                    for (std::uint32_t k = i * 1024; k < std::min((i + 1) * 1024, shape.length);
                         ++k)
                        want.back() += std::int64_t{x[k]} * y[k];
                }
            }
        }
        for (const char* isa : {"scalar", "auto"}) {
            auto runner = OpRunner::create({.threads = 3, .isa = isa}).value();
            std::vector<std::int64_t> y(want.size());
            const OpInput operands[] = {
                {DType::kI16, {shape.batches, shape.m, shape.length}, a.data()},
                {DType::kI16, {shape.batches, shape.n, shape.length}, b.data()}};
            const OpOutput results[] = {
                {DType::kI64, {shape.batches, shape.m, shape.n, blocks}, y.data()}};
            const Status run = runner.run(Opcode::kBlockDot, {}, operands, results);
            ASSERT_TRUE(run.ok()) << run.error().message;
            EXPECT_EQ(y, want) << isa << " " << shape.length;
        }
    }
}

TEST(OpRunner, MoreShapesThanItRemembersAreRunAllTheSame) {
    auto runner = OpRunner::create().value();
    for (std::uint32_t count = 1; count <= 1500; ++count) {
        const std::vector<float> x = ramp(count, 1.0F);
        std::vector<float> y(count);
        const OpInput operands[] = {in(x, {count}), in(x, {count})};
        const OpOutput results[] = {out(y, {count})};
        ASSERT_TRUE(runner.run(Opcode::kAdd, {}, operands, results).ok());
        ASSERT_EQ(y.back(), x.back() + x.back());
    }
}

TEST(OpRunner, NamesTheRuleThatIsBroken) {
    auto runner = OpRunner::create().value();
    const std::vector<float> x = ramp(12, 1.0F);
    std::vector<float> y(12);
    const auto error = [&](Opcode code, std::vector<std::uint64_t> attributes,
                           std::vector<OpInput> operands, const Dims& dims) {
        const OpOutput results[] = {out(y, dims)};
        return runner.run(code, attributes, operands, results).error();
    };
    const Error product = error(Opcode::kMatmul, {0, 0}, {in(x, {3, 4}), in(x, {4, 3})}, {3, 4});
    EXPECT_EQ(product.code, ErrorCode::kShapeMismatch);
    EXPECT_EQ(product.message, "a [3, 4] and b [4, 3] do not share a dim");
    EXPECT_EQ(error(Opcode::kAdd, {}, {in(x, {12})}, {12}).message,
              "op 0: wrong number of inputs "
              "or outputs");
    EXPECT_FALSE(error(Opcode::kAdd, {}, {in(x, {0}), in(x, {0})}, {0}).message.empty());
    EXPECT_FALSE(error(Opcode::kAdd, std::vector<std::uint64_t>(9), {in(x, {1}), in(x, {1})}, {1})
                     .message.empty());
    EngineOptions options;
    options.isa = "mmx";
    EXPECT_EQ(OpRunner::create(options).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace gym::engine
