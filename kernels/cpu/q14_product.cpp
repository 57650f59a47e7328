#include "gym/kernels/q14_product.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "cpu/check.hpp"
#include "cpu/onednn.hpp"
#include "cpu/q14_tasks.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/kernels/q14.h"

namespace gym::kernels {

std::byte* AlignedBuffer::reserve(size_t bytes) {
    if (bytes > capacity_bytes_) {
        const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
        data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
        if (!data_) throw std::bad_alloc();
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
    exponents_.reserve(static_cast<size_t>((blocks_ + 1) * panels() * kPanel) * sizeof(int32_t));
}

int32_t* QuantisedMatrix::block_exponents(int64_t index) {
    return reinterpret_cast<int32_t*>(exponents_.data()) + index * panels() * kPanel;
}

const int32_t* QuantisedMatrix::block_exponents(int64_t index) const {
    return reinterpret_cast<const int32_t*>(exponents_.data()) + index * panels() * kPanel;
}

namespace {

static_assert(QuantisedMatrix::kPanel == kQ14Panel);

// A thread's memory for q14_tile. It lives as long as the thread: products are far too many to
// allocate.
void* tile_scratch() {
    static thread_local AlignedBuffer buffer;
    return buffer.reserve(kQ14ScratchBytes);
}

Q14Operand operand(const QuantisedMatrix& matrix) {
    // The kernels only read their inputs; one structure serves both directions.
    auto& writable = const_cast<QuantisedMatrix&>(matrix);
    return {writable.panel(0), writable.block_exponents(0),
            matrix.vectors(),  matrix.panels() * kQ14Panel,
            matrix.length(),   matrix.pairs(),
            matrix.blocks()};
}

struct QuantiseCall {
    Q14Source source;
    Q14Operand out;
    void (*kernel)(const Q14Source&, const Q14Operand&, int64_t, int64_t);
};

QuantiseCall prepare_quantise(Isa isa, MatrixView view, Along along, QuantisedMatrix& out,
                              std::optional<int32_t> fixed_exponent) {
    GYM_KERNELS_REQUIRE(view.rows >= 0 && view.columns >= 0 && view.row_stride >= view.columns);
    if (fixed_exponent) {
        GYM_KERNELS_REQUIRE(*fixed_exponent >= kExponentMin && *fixed_exponent <= kExponentMax);
    }
    const bool rows = along == Along::kRows;
    out.reshape(rows ? view.rows : view.columns, rows ? view.columns : view.rows);
    return {{view.data, view.row_stride, fixed_exponent.has_value(), fixed_exponent.value_or(0)},
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

// AMX needs large operands before its set-up pays.
bool use_onednn(Isa isa, const Q14Operand& a, const Q14Operand& b) {
    return isa == Isa::kAmx && onednn_available() && a.length >= 128 && a.vectors >= 64 &&
           b.vectors >= 64;
}

int64_t panel_count(const Q14Operand& operand) {
    return operand.padded_vectors / kQ14Panel;
}

/// Tiles of a product in the order (panel of b, run of a's panels): neighbours share a panel of b.
struct Tiling {
    int64_t panels_a;
    int64_t run_length;
    int64_t runs_a;
    int64_t tiles;

    Tiling(const Q14Operand& a, const Q14Operand& b, int threads)
        : panels_a(panel_count(a)), run_length(std::min(panels_a, kQ14TilePanels)) {
        // Few panels in b: shorter runs, so that every thread gets some. A run should still be long
        // enough to use the panel of b while it is in the first-level cache.
        constexpr int64_t kTilesPerThread = 4, kRunLengthMin = 4;
        while (threads > 1 && run_length >= 2 * kRunLengthMin &&
               panel_count(b) * (panels_a / run_length) < kTilesPerThread * threads) {
            run_length /= 2;
        }
        runs_a = (panels_a + run_length - 1) / run_length;
        tiles = runs_a * panel_count(b);
    }

    [[nodiscard]] Q14Tile tile(int64_t index) const {
        const int64_t begin = index % runs_a * run_length;
        return {begin, std::min(begin + run_length, panels_a), index / runs_a};
    }
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
    const QuantiseCall call = prepare_quantise(context.isa(), view, along, out, fixed_exponent);
    // Groups of panels keep whole cache lines of the source in one thread.
    constexpr int64_t kPanelsPerGrain = 4;
    context.pool().parallel_for(out.panels(), kPanelsPerGrain, [&](LoopChunk chunk) {
        call.kernel(call.source, call.out, chunk.begin, chunk.end);
    });
}

void quantise_serial(Isa isa, MatrixView view, Along along, QuantisedMatrix& out,
                     std::optional<int32_t> fixed_exponent) {
    const QuantiseCall call = prepare_quantise(isa, view, along, out, fixed_exponent);
    call.kernel(call.source, call.out, 0, out.panels());
}

void q14_product(const Context& context, const QuantisedMatrix& a, const QuantisedMatrix& b,
                 MutableMatrixView out) {
    const Q14Operand left = operand(a), right = operand(b);
    if (finished_trivially(left, right, out)) return;
    if (use_onednn(context.isa(), left, right)) {
        onednn_q14_product(left, right, out.data, out.row_stride, context.threads());
        return;
    }
    const auto kernel = GYM_SELECT_KERNEL(context.isa(), q14_tile);
    const Tiling tiling(left, right, context.threads());
    context.pool().parallel_for(tiling.tiles, 1, [&](LoopChunk chunk) {
        void* scratch = tile_scratch();
        for (int64_t i = chunk.begin; i < chunk.end; ++i) {
            kernel(left, right, tiling.tile(i), out.data, out.row_stride, scratch);
        }
    });
}

void q14_product_serial(Isa isa, const QuantisedMatrix& a, const QuantisedMatrix& b,
                        MutableMatrixView out) {
    const Q14Operand left = operand(a), right = operand(b);
    if (finished_trivially(left, right, out)) return;
    const auto kernel = GYM_SELECT_KERNEL(isa, q14_tile);
    const Tiling tiling(left, right, 1);
    void* scratch = tile_scratch();
    for (int64_t i = 0; i < tiling.tiles; ++i) {
        kernel(left, right, tiling.tile(i), out.data, out.row_stride, scratch);
    }
}

void q14_product_batch(const Context& context, std::span<const Q14BatchItem> items) {
    const auto count = static_cast<int64_t>(items.size());
    context.pool().parallel_for(count, 1, [&](LoopChunk chunk) {
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
