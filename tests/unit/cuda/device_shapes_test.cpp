// Shapes beyond one block of threads: several tiles of a product in every direction, several blocks
// of 1,024, more tokens than 1,024, elements of every size. Bit for bit against the CPU's kernels
// or plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "device_memory.hpp"
#include "gym/kernels/cuda/checks.hpp"
#include "gym/kernels/cuda/column_parts.hpp"
#include "gym/kernels/cuda/macros.hpp"
#include "gym/kernels/cuda/primitives.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/q14.h"
#include "random_tensors.hpp"

namespace gym::engine {
namespace {

using namespace testing;
namespace cuda = kernels::cuda;

std::size_t size(std::int64_t count) {
    return static_cast<std::size_t>(count);
}

/// @param rows of x.
std::vector<float> transposed(const std::vector<float>& x, std::int64_t rows) {
    const std::size_t columns = x.size() / size(rows);
    std::vector<float> out;
    for (std::size_t i = 0; i < x.size(); ++i)
        out.push_back(x[i % size(rows) * columns + i / size(rows)]);
    return out;
}

class DeviceShapes : public ::testing::Test {
  protected:
    void SetUp() override {
        const std::string reason = cuda::unavailable_reason();
        if (!reason.empty()) GTEST_SKIP() << reason;
        std::string error;
        device_ = cuda::Device::open(0, error);
        ASSERT_NE(device_, nullptr) << error;
        workspace_.prepare(context_);
    }
    std::vector<float> random(std::int64_t count, Fill fill = Fill::kNormal) {
        std::vector<float> values(size(count));
        for (float& value : values)
            value = value_of(rng_, fill);
        return values;
    }
    float* up(const std::vector<float>& values) { return uploaded(*device_, values); }
    float* room(std::int64_t count) { return poisoned_array<float>(*device_, size(count)); }
    void expect_bits(const std::vector<float>& expected, const float* found, const char* what) {
        const auto have = downloaded(*device_, found, expected.size());
        for (std::size_t i = 0; i < have.size(); ++i)
            ASSERT_EQ(std::bit_cast<std::uint32_t>(have[i]),
                      std::bit_cast<std::uint32_t>(expected[i]))
                << what << ", element " << i << ", " << device_->error();
    }
    void product(const kernels::MatmulShape& shape, Fill fill_a = Fill::kNormal,
                 Fill fill_b = Fill::kNormal);
    void attention(const kernels::AttentionShape& shape, const std::vector<float>& documents);
    /// Runs it on a device with checks, none of which may fail.
    void with_checks(bool computed_again, const std::function<void()>& run) {
        cuda::Checks checks(*device_);
        checks.set_computed_again(computed_again);
        device_->set_checks(&checks);
        run();
        checks.end_op();
        checks.settle();
        device_->set_checks(nullptr);
        EXPECT_EQ(checks.failure(), "");
    }

    std::unique_ptr<cuda::Device> device_;
    kernels::Context context_;
    kernels::MacroWorkspace workspace_;
    const kernels::ExactFloatEnvironment environment_;
    Rng rng_{test_seed()};
};

void DeviceShapes::product(const kernels::MatmulShape& shape, Fill fill_a, Fill fill_b) {
    SCOPED_TRACE(std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " +
                 std::to_string(shape.k));
    const auto a = random(shape.m * shape.k, fill_a), b = random(shape.n * shape.k, fill_b);
    std::vector<float> expected(size(shape.m * shape.n));
    macro_matmul(context_, workspace_, shape, a.data(), b.data(), expected.data());
    float* const out = room(shape.m * shape.n);
    cuda::macro_matmul(*device_, shape, up(a), up(b), out);
    expect_bits(expected, out, "product");
}

TEST_F(DeviceShapes, ProductsOfManyTiles) {
    constexpr std::array<std::array<std::int64_t, 3>, 8> kShapes{
        {{130, 260, 70},
         {65, 129, 1030},
         {64, 128, 1024},
         {150, 40, 2100},
         {33, 300, 200},
         {1, 1, 1},
         {70, 131, 64},
         {1093, 135, 40}}};  // two groups of tiles
    int turn = 0;
    for (const auto& [m, n, k] : kShapes) {
        // Wide: each block of 1,024 has another exponent.
        product({m, n, k, turn % 2 == 1, turn / 2 % 2 == 1},
                turn % 3 == 1 ? Fill::kWide : Fill::kNormal,
                turn % 4 == 3 ? Fill::kWide : Fill::kNormal);
        ++turn;
    }
}

/// A device with checks has kernels of its own for them: of vectors of one block, and of several.
TEST_F(DeviceShapes, ProductsWithChecks) {
    with_checks(false, [&] {
        product({9, 20, 40, false, true});
        product({9, 20, 1030, true, false});
    });
}

/// Blocks of one value, of every size that digits have at their borders: each exact dot, and each
/// sum that it is made of, is as large as it can be.
TEST_F(DeviceShapes, ProductsOfDigitsAtTheirBorders) {
    constexpr float kUnit = 0x1p-13F, kLargest = 0x1.fffffep-1F;  // the latter is rounded to 8,192
    const std::vector<float> borders{kLargest,     -kLargest,     8127 * kUnit, -8128 * kUnit,
                                     8064 * kUnit, -8191 * kUnit, 63 * kUnit,   -64 * kUnit,
                                     64 * kUnit,   -8129 * kUnit, 8128 * kUnit, 0.0F};
    constexpr std::int64_t kLength = 2 * kernels::kQ14BlockLength;
    const auto count = static_cast<std::int64_t>(borders.size());
    for (const std::int64_t length : {kLength / 2, kLength}) {
        std::vector<float> x;
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t k = 0; k < length; ++k)
                x.push_back(k % 1024 == 0 ? kLargest : borders[size(i)]);  // exponent 0
        std::vector<float> expected(size(count * count));
        for (const bool turned : {false, true}) {
            const kernels::MatmulShape shape{count, count, length, turned, turned};
            const std::vector<float> a = turned ? transposed(x, count) : x;
            macro_matmul(context_, workspace_, shape, a.data(), a.data(), expected.data());
            float* const out = room(count * count);
            cuda::macro_matmul(*device_, shape, up(a), up(a), out);
            expect_bits(expected, out, "product");
        }
    }
}

void DeviceShapes::attention(const kernels::AttentionShape& shape,
                             const std::vector<float>& documents) {
    const std::int64_t rows = shape.batch * shape.context, width = shape.width();
    const auto qkv = random(rows * 3 * width), d_o = random(rows * width);
    std::vector<float> o(size(rows * width)), m(size(rows * shape.heads)), l(m), d_qkv(qkv);
    const float* const host_documents = documents.empty() ? nullptr : documents.data();
    macro_attention(context_, workspace_,
                    {shape, qkv.data(), o.data(), m.data(), l.data(), host_documents});
    macro_attention_grad(context_, workspace_,
                         {shape, qkv.data(), o.data(), m.data(), l.data(), d_o.data(), d_qkv.data(),
                          host_documents});

    const float* const on_device = documents.empty() ? nullptr : up(documents);
    float* const x = up(qkv);
    float *const y = room(rows * width), *const dx = room(rows * 3 * width);
    float *const maxima = room(rows * shape.heads), *const sums = room(rows * shape.heads);
    cuda::macro_attention(*device_, {shape, x, y, maxima, sums, on_device});
    expect_bits(o, y, "o");
    expect_bits(m, maxima, "m");
    expect_bits(l, sums, "l");
    cuda::macro_attention_grad(*device_, {shape, x, y, maxima, sums, up(d_o), dx, on_device});
    expect_bits(d_qkv, dx, "d_qkv");
}

TEST_F(DeviceShapes, AttentionOfManyTiles) {
    attention({2, 150, 2, 5, 0.35355339F, true}, {});
    attention({1, 200, 1, 70, 0.5F, false}, {});
}

TEST_F(DeviceShapes, AttentionBeyondOneBlockOfTokens) {
    // From PTX a head takes 17 seconds of CPU time, as C++ seven.
    const bool from_ptx = std::getenv("GYM_CUDA_PTX") != nullptr;
    attention({1, 1030, from_ptx ? 1 : 2, 3, 0.35355339F, true}, {});
}

TEST_F(DeviceShapes, AttentionWithinDocuments) {
    constexpr std::int64_t kWindows = 2, kTokens = 140;
    std::vector<float> documents;
    for (std::int64_t i = 0; i < kWindows * kTokens; ++i)
        documents.push_back(static_cast<float>(i % kTokens / 37));
    attention({kWindows, kTokens, 2, 6, 0.35355339F, true}, documents);
}

/// Five windows of two heads in parts of two, two and one, because of memory or of a grid's size.
TEST_F(DeviceShapes, AttentionInSeveralParts) {
    constexpr std::int64_t kWindows = 5, kTokens = 20, kHeads = 2;
    constexpr std::int64_t kWindowBytes = 2 * kHeads * kTokens * kTokens * sizeof(float);
    constexpr kernels::AttentionShape kShape{kWindows, kTokens, kHeads, 3, 0.35355339F, true};
    std::vector<float> documents;
    for (std::int64_t i = 0; i < kWindows * kTokens; ++i)
        documents.push_back(static_cast<float>(i % kTokens / (5 + i / kTokens)));
    for (const cuda::AttentionLimits limits :
         {cuda::AttentionLimits{.scores_bytes = 3 * kWindowBytes - 1},
          cuda::AttentionLimits{.heads = 3 * kHeads - 1}}) {
        ASSERT_EQ(cuda::windows_at_once(kShape, limits), 2);
        device_->set_attention_limits(limits);
        attention(kShape, documents);
    }
    // The gradient computes again what the forward pass left: both have the same parts.
    with_checks(true, [&] { attention(kShape, {}); });
}

TEST_F(DeviceShapes, SumsOfManyBlocks) {
    constexpr std::array<std::array<std::int64_t, 2>, 4> kShapes{
        {{600, 70}, {257, 33}, {1, 300}, {3, 2600}}};
    for (const auto& [rows, columns] : kShapes) {
        SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
        const auto x = random(rows * columns, Fill::kWide);
        const float* const memory = up(x);
        std::vector<float> by_column(size(columns)), by_row(size(rows)), squares(1);
        macro_column_sum(context_, x.data(), rows, columns, by_column.data());
        macro_row_sum(context_, x.data(), rows, columns, by_row.data());
        macro_sum_squares(context_, workspace_, x.data(), rows * columns, squares.data());
        float *const c = room(columns), *const r = room(rows), *const s = room(1);
        cuda::macro_column_sum(*device_, memory, rows, columns, c);
        cuda::macro_row_sum(*device_, memory, {rows, columns}, r);
        cuda::macro_sum_squares(*device_, memory, rows * columns, s);
        expect_bits(by_column, c, "columns");
        expect_bits(by_row, r, "rows");
        expect_bits(squares, s, "squares");
    }
}

TEST(ColumnParts, AreNoMoreThanAGridIsHigh) {
    constexpr std::int64_t kManyRows = 256 * 65535;
    for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{257}, kManyRows, kManyRows + 1,
                                    std::int64_t{1} << 31, std::int64_t{1} << 40}) {
        const std::int64_t part = cuda::column_part_rows(rows), parts = (rows + part - 1) / part;
        EXPECT_LE(parts, 65535) << rows;
        EXPECT_GE(parts * part, rows) << rows;
        EXPECT_EQ(part == 256, rows <= kManyRows) << rows;
    }
}

TEST_F(DeviceShapes, GradientsOfEmbeddingsOfManyBlocks) {
    constexpr std::int64_t kRows = 700, kWidth = 3, kVocabulary = 400;
    const auto dy = random(kRows * kWidth);
    std::vector<std::int32_t> indices(size(kRows));
    for (std::int32_t& index : indices)
        index = index_value(rng_);
    std::vector<float> expected(size(kVocabulary * kWidth));
    macro_embedding_grad(context_, workspace_,
                         {kRows, kWidth, kVocabulary, dy.data(), indices.data(), expected.data()});
    float* const table = room(kVocabulary * kWidth);
    cuda::macro_embedding_grad(
        *device_, {kRows, kWidth, kVocabulary, up(dy), uploaded(*device_, indices), table});
    expect_bits(expected, table, "table");
}

/// Every pair of zeros, NaN, infinities, subnormals, borders and equal values.
struct Pairs {
    std::vector<float> first, second;

    Pairs() {
        const std::vector<float> kinds{
            0.0F,     -0.0F,     1.0F,         -1.0F,     0.7F,     -2.5F,    40.0F,
            -90.0F,   0x1p-149F, -0x1.8p-127F, 0x1p-126F, 0x1p-64F, 0x1p120F, -0x1.fffffep127F,
            INFINITY, -INFINITY, std::nanf("")};
        for (const float a : kinds)
            for (const float b : kinds) {
                first.push_back(a);
                second.push_back(b);
            }
    }
};

TEST_F(DeviceShapes, BinaryOpsOfEveryPair) {
    const Pairs pairs;
    const auto count = static_cast<std::int64_t>(pairs.first.size());
    const cuda::Operand a{up(pairs.first), 1, count}, b{up(pairs.second), 1, count};
    std::vector<float> expected(size(count));
    for (const auto op : {kernels::BinaryOp::kAdd, kernels::BinaryOp::kSub, kernels::BinaryOp::kMul,
                          kernels::BinaryOp::kDiv, kernels::BinaryOp::kMax, kernels::BinaryOp::kMin,
                          kernels::BinaryOp::kLessEqual}) {
        map_binary(kernels::Isa::kScalar, op, pairs.first.data(), pairs.second.data(),
                   expected.data(), count);
        float* const y = room(count);
        cuda::map_binary(*device_, op, a, b, y, count);
        expect_bits(expected, y, std::to_string(static_cast<int>(op)).c_str());
    }
    for (std::size_t i = 0; i < expected.size(); ++i)
        expected[i] = kernels::f32::select(pairs.first[i] > 0.0F, pairs.first[i], pairs.second[i]);
    float* const y = room(count);
    cuda::select(*device_, a, a, b, y, count);
    expect_bits(expected, y, "select");
}

TEST_F(DeviceShapes, ActivationsOfEveryPair) {
    const Pairs pairs;
    const auto count = static_cast<std::int64_t>(pairs.first.size());
    const float *const x = up(pairs.first), *const z = up(pairs.second);
    std::vector<float> expected(size(count)), other(expected);
    float *const y = room(count), *const also = room(count);
    macro_swiglu(context_, pairs.first.data(), pairs.second.data(), expected.data(), count);
    cuda::macro_swiglu(*device_, x, z, y, count);
    expect_bits(expected, y, "swiglu");
    macro_gelu_grad(context_, pairs.first.data(), pairs.second.data(), expected.data(), count);
    cuda::macro_gelu_grad(*device_, x, z, y, count);
    expect_bits(expected, y, "gelu_grad");
    for (const float gate : {0.7F, -2.5F, INFINITY}) {
        const std::vector<float> gates(size(count), gate);
        macro_swiglu_grad(context_, {count, gates.data(), pairs.first.data(), pairs.second.data(),
                                     expected.data(), other.data()});
        cuda::macro_swiglu_grad(*device_, {count, up(gates), x, z, y, also});
        expect_bits(expected, y, "d_gate");
        expect_bits(other, also, "d_up");
    }
}

template <typename T>
std::vector<T> random_words(Rng& rng, std::size_t count) {
    std::vector<T> values(count);
    for (T& value : values)
        value = static_cast<T>(rng());
    return values;
}

/// A view of `x_count` elements with up to five dims, some of them repeated (stride 0) or reversed
/// in their order.
struct RandomView {
    cuda::StridedLayout layout{};
    std::int64_t x_count = 1, count = 1;

    explicit RandomView(Rng& rng) {
        layout.rank = static_cast<int>(between(rng, 1, cuda::StridedLayout::kRankMax));
        layout.offset = between(rng, 0, 9);
        std::int64_t last = layout.offset;
        for (int d = 0; d < layout.rank; ++d) {
            layout.dims[d] = between(rng, 1, layout.rank > 3 ? 5 : 12);
            layout.strides[d] = between(rng, 0, 40);
            last += (layout.dims[d] - 1) * layout.strides[d];
            count *= layout.dims[d];
        }
        x_count = last + 1;
    }
    /// Of output element `i`.
    [[nodiscard]] std::int64_t source(std::int64_t i) const {
        std::int64_t at = layout.offset;
        for (int d = layout.rank - 1; d >= 0; --d) {
            at += i % layout.dims[d] * layout.strides[d];
            i /= layout.dims[d];
        }
        return at;
    }
};

template <typename T>
void check_strided_copy(cuda::Device& device, Rng& rng) {
    const RandomView view(rng);
    const auto x = random_words<T>(rng, size(view.x_count));
    T* const out = poisoned_array<T>(device, size(view.count));
    cuda::strided_copy(device, uploaded(device, x), view.layout, sizeof(T), out);
    const auto found = downloaded(device, out, size(view.count));
    for (std::int64_t i = 0; i < view.count; ++i)
        ASSERT_EQ(found[size(i)], x[size(view.source(i))]) << "element " << i;
}

TEST_F(DeviceShapes, MovesElementsOfEverySize) {
    for (int round = 0; round < 20 * test_scale(); ++round) {
        check_strided_copy<std::uint16_t>(*device_, rng_);
        check_strided_copy<std::uint32_t>(*device_, rng_);
        check_strided_copy<std::uint64_t>(*device_, rng_);
        if (HasFatalFailure()) return;
    }
}

TEST_F(DeviceShapes, CopiesRowsOfAnyEvenLength) {
    for (int round = 0; round < 10 * test_scale(); ++round) {
        const std::int64_t rows = between(rng_, 1, 40), words = between(rng_, 1, 60);
        const std::int64_t pitch = words + between(rng_, 0, 9);
        const auto x = random_words<std::uint16_t>(rng_, size(rows * words));
        std::vector<std::uint16_t> expected(size(rows * pitch));
        auto* const out = uploaded(*device_, expected);
        for (std::int64_t i = 0; i < rows * words; ++i)
            expected[size(i / words * pitch + i % words)] = x[size(i)];
        cuda::copy_rows(*device_, uploaded(*device_, x), {rows, 2 * words, 2 * pitch}, out);
        ASSERT_EQ(downloaded(*device_, out, expected.size()), expected) << rows << ", " << words;
    }
}

}  // namespace
}  // namespace gym::engine
