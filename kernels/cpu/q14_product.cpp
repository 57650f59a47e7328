#include "gym/kernels/q14_product.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "cpu/check.hpp"
#include "cpu/onednn.hpp"
#include "cpu/q14_tasks.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/q14.h"

namespace gym::kernels {

std::byte* AlignedBuffer::reserve(size_t bytes) {
    if (bytes > capacity_bytes_) {
        constexpr size_t kHugePage = size_t{1} << 21;
        const size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
        const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
        data_.reset();  // before the new memory, not after
        capacity_bytes_ = 0;
        data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
        if (!data_) throw std::bad_alloc();
#if defined(__linux__)
        // Column-wise passes touch a page a row: with small pages they wait for address
        // translation. Advice only; a refusal changes nothing but speed.
        if (alignment == kHugePage) madvise(data_.get(), rounded, MADV_HUGEPAGE);
#endif
        capacity_bytes_ = rounded;
    }
    return data_.get();
}

void AlignedBuffer::Free::operator()(std::byte* memory) const {
    std::free(memory);
}

void QuantisedMatrix::reshape(int64_t vectors, int64_t length) {
    GYM_KERNELS_REQUIRE(vectors >= 0 && length >= 0 && length <= kQ14LengthMax);
    vectors_ = vectors;
    length_ = length;
    blocks_ = q14_block_count(length);
    q_.reserve(static_cast<size_t>(panels() * pairs() * kQ14PanelRow) * sizeof(int16_t));
    const int64_t exponents = (blocks_ + 1) * panels() * kPanel;
    exponents_.reserve(static_cast<size_t>(exponents + blocks_ * panels()) * sizeof(int32_t));
}

int32_t* QuantisedMatrix::block_exponents(int64_t index) {
    return reinterpret_cast<int32_t*>(exponents_.data()) + index * panels() * kPanel;
}

const int32_t* QuantisedMatrix::block_exponents(int64_t index) const {
    return reinterpret_cast<const int32_t*>(exponents_.data()) + index * panels() * kPanel;
}

namespace {

static_assert(QuantisedMatrix::kPanel == kQ14Panel);

Q14Operand operand(const QuantisedMatrix& matrix) {
    // The kernels only read their inputs; one structure serves both directions.
    auto& writable = const_cast<QuantisedMatrix&>(matrix);
    return {writable.panel(0),
            writable.block_exponents(0),
            writable.energies(),
            matrix.vectors(),
            matrix.panels() * kQ14Panel,
            matrix.length(),
            matrix.pairs(),
            matrix.blocks()};
}

struct QuantiseCall {
    Q14Source source;
    Q14Operand out;
    void (*kernel)(const Q14Source&, const Q14Operand&, int64_t, int64_t);
};

QuantiseCall prepare_quantise(Isa isa, MatrixView view, Along along, QuantisedMatrix& out,
                              std::optional<int32_t> fixed_exponent, Q14Zeros zeros) {
    GYM_KERNELS_REQUIRE(view.rows >= 0 && view.columns >= 0 && view.row_stride >= view.columns);
    if (fixed_exponent) {
        GYM_KERNELS_REQUIRE(*fixed_exponent >= kExponentMin && *fixed_exponent <= kExponentMax);
    }
    const bool rows = along == Along::kRows;
    out.reshape(rows ? view.rows : view.columns, rows ? view.columns : view.rows);
    return {
        {view.data, view.row_stride, fixed_exponent.has_value(), fixed_exponent.value_or(0), zeros},
        operand(out),
        rows ? GYM_SELECT_KERNEL(isa, q14_quantise_rows)
             : GYM_SELECT_KERNEL(isa, q14_quantise_columns)};
}

void zero_rows(const Q14Operand& a, const Q14Operand& b, MutableMatrixView out) {
    for (int64_t m = 0; m < a.vectors; ++m) {
        for (int64_t n = 0; n < b.vectors; ++n)
            out.data[m * out.row_stride + n] = 0.0f;
    }
}

bool writes_past_caches(int64_t rows, int64_t columns) {
    // The most that the caches may hold until the next op reads it.
    constexpr int64_t kCachedBytes = int64_t{8} << 20;
    return rows * columns * static_cast<int64_t>(sizeof(float)) > kCachedBytes;
}

int64_t panel_count(const Q14Operand& operand) {
    return operand.padded_vectors / kQ14Panel;
}

/// Tiles of a product: runs of b's panels, which stay in the second-level cache while a's rows pass
/// by, a few at a time; so the output is written along its rows.
class Tiling {
  public:
    Tiling(const Q14Operand& a, const Q14Operand& b, int threads)
        : panels_a_(panel_count(a)),
          panels_b_(panel_count(b)),
          past_caches_(writes_past_caches(a.vectors, b.vectors)) {
        constexpr int64_t kRunBytes = int64_t{3} << 18;
        const int64_t panel_bytes = b.pairs * kQ14PanelRow * static_cast<int64_t>(sizeof(int16_t));
        run_ = even(std::min(kRunBytes / panel_bytes, panels_b_));
        // Shorter runs where whole ones would leave threads without work.
        constexpr int64_t kTilesPerThread = 8;
        while (threads > 1 && run_ > 2 && tiles() < kTilesPerThread * threads)
            run_ = even(run_ / 2);
    }

    [[nodiscard]] int64_t tiles() const { return row_tiles() * ((panels_b_ + run_ - 1) / run_); }

    [[nodiscard]] Q14Tile tile(int64_t index) const {
        const int64_t m = index % row_tiles() * kPanelsPerTile, n = index / row_tiles() * run_;
        return {.m_begin = m,
                .m_end = std::min(m + kPanelsPerTile, panels_a_),
                .n = n,
                .n_end = std::min(n + run_, panels_b_),
                .past_caches = past_caches_};
    }

  private:
    static constexpr int64_t kPanelsPerTile = kQ14TileRows / kQ14Panel;
    [[nodiscard]] int64_t row_tiles() const {
        return (panels_a_ + kPanelsPerTile - 1) / kPanelsPerTile;
    }
    /// At least two: kernels take panels of b in pairs.
    static int64_t even(int64_t panels) { return std::max<int64_t>(panels / 2, 1) * 2; }

    int64_t panels_a_;
    int64_t panels_b_;
    bool past_caches_;
    int64_t run_;
};

bool finished_trivially(const Q14Operand& a, const Q14Operand& b, MutableMatrixView out) {
    GYM_KERNELS_REQUIRE(a.length == b.length && out.row_stride >= b.vectors);
    if (a.vectors == 0 || b.vectors == 0) return true;
    if (a.blocks > 0) return false;
    zero_rows(a, b, out);
    return true;
}

}  // namespace

void quantise(const Context& context, MatrixView view, Along along, QuantisedMatrix& out,
              std::optional<int32_t> fixed_exponent) {
    const QuantiseCall call =
        prepare_quantise(context.isa(), view, along, out, fixed_exponent, Q14Zeros::kNone);
    // Groups of panels keep whole cache lines of the source in one thread.
    constexpr int64_t kPanelsPerGrain = 4;
    context.pool().parallel_for_dynamic(out.panels(), kPanelsPerGrain, [&](LoopChunk chunk) {
        call.kernel(call.source, call.out, chunk.begin, chunk.end);
    });
}

void quantise_serial(Isa isa, MatrixView view, Along along, QuantisedMatrix& out,
                     std::optional<int32_t> fixed_exponent, Q14Zeros zeros) {
    const QuantiseCall call = prepare_quantise(isa, view, along, out, fixed_exponent, zeros);
    call.kernel(call.source, call.out, 0, out.panels());
}

namespace {

double seconds_of(const std::function<void()>& work) {
    constexpr int kTries = 3;
    double best = 1e9;
    for (int i = 0; i < kTries; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        best = std::min(best, elapsed.count());
    }
    return best;
}

/// Whether AMX through oneDNN beats the tiles above at a product of 1024 x 1024 results.
bool onednn_wins_at(int threads, int64_t length) {
    constexpr int64_t kSize = 1024;
    std::vector<float> x(static_cast<size_t>(kSize * length)), out(kSize * kSize);
    for (size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(static_cast<int64_t>(i * 2654435761u % 8191) - 4095);
    QuantisedMatrix matrix;
    quantise_serial(Isa::kAvx512, {x.data(), kSize, length, length}, Along::kRows, matrix);
    const Context tiles(Isa::kAvx512, threads);
    const double by_tiles = seconds_of([&] {
        q14_product(tiles, matrix, matrix, {out.data(), kSize});
    });
    const double by_onednn = seconds_of([&] {
        onednn_q14_product(tiles.pool(), operand(matrix), operand(matrix), out.data(), kSize);
    });
    return by_onednn < by_tiles;
}

/// Whether to use AMX through oneDNN on this machine: it multiplies many times faster, but writes
/// and reads three products a result, and its OpenMP threads compete with those of the pool. CPUs
/// differ in what that costs. The bits are equal, so the clock may decide; it is asked once, about
/// long and short rows on one thread and on two. Where oneDNN wins, it wins a little; where it
/// loses, a product takes up to three times as long: so it must win all of them.
bool onednn_wins() {
    static const bool wins = [] {
        const int threads_max = std::thread::hardware_concurrency() > 1 ? 2 : 1;
        for (int threads = 1; threads <= threads_max; ++threads) {
            if (!onednn_wins_at(threads, 384) || !onednn_wins_at(threads, 1024)) return false;
        }
        return true;
    }();
    return wins;
}

bool use_onednn(Isa isa, int64_t a_vectors, int64_t b_vectors, int64_t length) {
    // Below this, setting up costs more than multiplying.
    const bool large = length >= 256 && a_vectors >= 256 && b_vectors >= 256;
    return isa == Isa::kAmx && onednn_available() && large && onednn_wins();
}

}  // namespace

void q14_product(const Context& context, const QuantisedMatrix& a, const QuantisedMatrix& b,
                 MutableMatrixView out) {
    const Q14Operand left = operand(a), right = operand(b);
    if (finished_trivially(left, right, out)) return;
    if (use_onednn(context.isa(), left.vectors, right.vectors, left.length)) {
        onednn_q14_product(context.pool(), left, right, out.data, out.row_stride);
        return;
    }
    const auto kernel = GYM_SELECT_KERNEL(context.isa(), q14_tile);
    const Tiling tiling(left, right, context.threads());
    // Pieces of neighbouring tiles, which share b's panels.
    const int64_t grain = std::max<int64_t>(tiling.tiles() / (int64_t{8} * context.threads()), 1);
    context.pool().parallel_for_dynamic(tiling.tiles(), grain, [&](LoopChunk chunk) {
        for (int64_t i = chunk.begin; i < chunk.end; ++i)
            kernel(left, right, tiling.tile(i), out.data, out.row_stride);
    });
}

void q14_product_serial(Isa isa, const QuantisedMatrix& a, const QuantisedMatrix& b,
                        MutableMatrixView out, Q14Zeros zeros) {
    const Q14Operand left = operand(a), right = operand(b);
    if (finished_trivially(left, right, out)) return;
    const auto kernel = GYM_SELECT_KERNEL(isa, q14_tile);
    const Tiling tiling(left, right, 1);
    for (int64_t i = 0; i < tiling.tiles(); ++i) {
        Q14Tile tile = tiling.tile(i);
        tile.zeros = zeros;
        kernel(left, right, tile, out.data, out.row_stride);
    }
}

namespace {

/// Vectors begin <= v < end of a factor.
MatrixView part_of(const Q14Factor& factor, int64_t begin, int64_t end) {
    MatrixView view = factor.view;
    if (factor.along == Along::kRows) {
        view.data += begin * view.row_stride;
        view.rows = end - begin;
    } else {
        view.data += begin;
        view.columns = end - begin;
    }
    return view;
}

/// Vectors of a part: few, so that the parts, the data that they are made of and all of the other
/// factor share the second-level cache; whole cache lines of the source along columns.
constexpr int64_t kPartVectors = 4 * kQ14Panel;

/// Whether to quantise `streamed` by parts. Otherwise both are quantised as a whole.
bool by_parts(const Context& context, const Q14Factor& streamed, const Q14Factor& whole) {
    constexpr int64_t kWholeBytes = int64_t{3} << 19;
    constexpr int64_t kPartsPerThread = 3;  // or there are threads without work
    const int64_t length = whole.length();
    const int64_t bytes = whole.vectors() * length * static_cast<int64_t>(sizeof(int16_t));
    return length > 0 && bytes <= kWholeBytes &&
           streamed.vectors() >= kPartsPerThread * context.threads() * kPartVectors &&
           !use_onednn(context.isa(), streamed.vectors(), whole.vectors(), length);
}

}  // namespace

void q14_multiply(const Context& context, const Q14Factor& a, const Q14Factor& b,
                  Q14Buffers& buffers, MutableMatrixView out) {
    GYM_KERNELS_REQUIRE(a.length() == b.length() && out.row_stride >= b.vectors());
    const bool parts_of_a = a.vectors() >= b.vectors();
    const Q14Factor& streamed = parts_of_a ? a : b;
    const Q14Factor& whole = parts_of_a ? b : a;
    if (!by_parts(context, streamed, whole)) {
        quantise(context, a.view, a.along, buffers.a);
        quantise(context, b.view, b.along, buffers.b);
        return q14_product(context, buffers.a, buffers.b, out);
    }
    QuantisedMatrix& quantised = parts_of_a ? buffers.b : buffers.a;
    quantise(context, whole.view, whole.along, quantised);
    if (buffers.parts.size() < static_cast<size_t>(context.threads()))
        buffers.parts.resize(static_cast<size_t>(context.threads()));
    const auto kernel = GYM_SELECT_KERNEL(context.isa(), q14_tile);
    const bool past_caches = writes_past_caches(a.vectors(), b.vectors());
    context.pool().parallel_for_dynamic(streamed.vectors(), kPartVectors, [&](LoopChunk chunk) {
        QuantisedMatrix& own = buffers.parts[static_cast<size_t>(chunk.thread)];
        for (int64_t v = chunk.begin; v < chunk.end; v += kPartVectors) {
            const int64_t end = std::min(v + kPartVectors, chunk.end);
            quantise_serial(context.isa(), part_of(streamed, v, end), streamed.along, own);
            const Q14Operand left = operand(parts_of_a ? own : quantised);
            const Q14Operand right = operand(parts_of_a ? quantised : own);
            kernel(left, right,
                   {.m_begin = 0,
                    .m_end = panel_count(left),
                    .n = 0,
                    .n_end = panel_count(right),
                    .past_caches = past_caches},
                   out.data + v * (parts_of_a ? out.row_stride : 1), out.row_stride);
        }
    });
}

void q14_product_batch(const Context& context, std::span<const Q14BatchItem> items) {
    const auto count = static_cast<int64_t>(items.size());
    context.pool().parallel_for_dynamic(count, 1, [&](LoopChunk chunk) {
        static thread_local QuantisedMatrix a, b;
        for (int64_t i = chunk.begin; i < chunk.end; ++i) {
            const Q14BatchItem& item = items[static_cast<size_t>(i)];
            quantise_serial(context.isa(), item.a, item.a_along, a, item.a_fixed_exponent);
            quantise_serial(context.isa(), item.b, item.b_along, b, item.b_fixed_exponent);
            q14_product_serial(context.isa(), a, b, item.out);
        }
    });
}

}  // namespace gym::kernels
