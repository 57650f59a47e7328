#include <algorithm>

#include "fused.hpp"
#include "gym/kernels/vector_ops.hpp"
#include "gym/program/validate.hpp"

namespace gym::engine {
namespace {

/// Rows of the left operand that meet a row of the right one while it is in the cache.
constexpr std::int64_t kTileRows = 16;

}  // namespace

/// A dispute about a large product spends most of its time here.
bool fused_block_dot(const OpCall& call) {
    const auto& a_dims = call.input_slot(0).dims;
    const auto& b_dims = call.input_slot(1).dims;
    const auto length = static_cast<std::int64_t>(a_dims.back());
    const std::int64_t m_count = a_dims[a_dims.size() - 2], n_count = b_dims[b_dims.size() - 2];
    const auto blocks = static_cast<std::int64_t>(program::block_count(a_dims.back()));
    const std::int64_t tiles = (m_count + kTileRows - 1) / kTileRows;
    const auto batches =
        static_cast<std::int64_t>(program::element_count(a_dims)) / (m_count * length);
    constexpr auto kBlock = static_cast<std::int64_t>(program::kBlockElements);
    const auto run_tile = [&](std::int64_t tile) {
        const std::int64_t batch = tile / tiles, first = tile % tiles * kTileRows;
        const std::int64_t last = std::min(first + kTileRows, m_count);
        for (std::int64_t n = 0; n < n_count; ++n) {
            const auto* b = call.input<std::int16_t>(1) + (batch * n_count + n) * length;
            for (std::int64_t m = first; m < last; ++m) {
                const std::int64_t row = batch * m_count + m;
                const auto* a = call.input<std::int16_t>(0) + row * length;
                auto* out = call.output<std::int64_t>(0) + (row * n_count + n) * blocks;
                for (std::int64_t i = 0; i < blocks; ++i)
                    out[i] = kernels::row_dot(call.context.isa(), a + i * kBlock, b + i * kBlock,
                                              std::min(kBlock, length - i * kBlock));
            }
        }
    };
    call.context.pool().parallel_for(batches * tiles, 1, [&](kernels::LoopChunk chunk) {
        for (std::int64_t tile = chunk.begin; tile < chunk.end; ++tile)
            run_tile(tile);
    });
    return true;
}

}  // namespace gym::engine
