#include "gym/codec/encode.hpp"

#include "gym/codec/sparse_code.hpp"
#include "gym/kernels/float_environment.hpp"

namespace gym::codec {

/// Codes that encode() wrote itself.
class OwnCode {
  public:
    static SparseCode of(const TensorGrid& tensor, ByteView bytes) { return {tensor, bytes}; }
};

namespace {

using kernels::SparseBlock;

struct Job {
    const TensorGrid& tensor;
    std::span<const float> x;
    const Residual* incoming;
    kernels::Isa isa;

    [[nodiscard]] std::uint64_t elements(std::uint64_t block) const {
        return block_elements(tensor.elements, block);
    }
    /// y of one block.
    void fixed(std::uint64_t block, std::int32_t* y) const {
        kernels::fixed_block(
            isa, x.data() + block * kBlock, static_cast<std::int64_t>(elements(block)),
            tensor.exponent,
            incoming != nullptr ? incoming->block(block) : kernels::ResidualBlock{}, y);
    }
    /// The block of the outgoing residual of what is left in y.
    void leave(std::uint64_t block, const std::int32_t* y, Residual& out) const {
        auto* const levels = reinterpret_cast<std::int8_t*>(out.levels.data()) + block * kBlock;
        out.scales[block] = static_cast<std::uint8_t>(
            kernels::residual_block(isa, y, static_cast<std::int64_t>(elements(block)), levels));
    }
};

Bytes code_of(const Job& job) {
    Bytes code(sparse_code_bytes(job.tensor.elements));
    alignas(64) std::int32_t y[kBlock];
    for (std::uint64_t b = 0; b < blocks_of(job.tensor.elements); ++b) {
        job.fixed(b, y);
        write_sparse_block(kernels::sparse_block(job.isa, y), code.data() + sparse_block_offset(b));
    }
    return code;
}

void subtract(const SparseBlock& entries, std::int32_t weight, std::int32_t* y) {
    for (int i = 0; i < entries.count; ++i)
        y[entries.index[i]] -= weight * entries.level[i] * (1 << entries.scale);
}

Residual residual_of(const Job& job, const SparseCode& code, std::int32_t weight) {
    Residual residual = Residual::zero(job.tensor.elements);
    alignas(64) std::int32_t y[kBlock];
    for (std::uint64_t b = 0; b < blocks_of(job.tensor.elements); ++b) {
        job.fixed(b, y);
        subtract(code.block(b), weight, y);
        job.leave(b, y, residual);
    }
    return residual;
}

}  // namespace

/// Two passes, since the clip weight needs the norm of the whole code; the second computes y again,
/// which is cheaper than to keep 4 bytes an element.
Encoding encode(const TensorGrid& tensor, std::span<const float> x, std::uint64_t bound,
                const Residual* incoming, kernels::Isa isa) {
    GYM_ASSERT(check(tensor).ok() && x.size() == tensor.elements, "a tensor of this size and grid");
    GYM_ASSERT(incoming == nullptr || (incoming->levels.size() == tensor.elements &&
                                       incoming->scales.size() == blocks_of(tensor.elements)),
               "the residual of this tensor");
    const kernels::ExactFloatEnvironment environment;
    const Job job{tensor, x, incoming, isa};
    Encoding out;
    out.code = code_of(job);
    const SparseCode code = OwnCode::of(tensor, out.code);
    out.squared_norm = code.squared_norm();
    out.weight = kernels::clip_weight(out.squared_norm, bound);
    if (incoming != nullptr) out.residual = residual_of(job, code, out.weight);
    return out;
}

}  // namespace gym::codec
