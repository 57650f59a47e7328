#include "gym/codec/encode.hpp"

#include "gym/codec/dense_code.hpp"
#include "gym/codec/sparse_code.hpp"
#include "gym/kernels/float_environment.hpp"

namespace gym::codec {

/// Codes that encode() wrote itself.
class OwnCode {
  public:
    static SparseCode sparse(const TensorGrid& tensor, ByteView bytes) { return {tensor, bytes}; }
    static DenseCode dense(const TensorGrid& tensor, ByteView bytes) { return {tensor, bytes}; }
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

/// Writes codes and takes decoded blocks from y: one of each form.
class Sparse {
  public:
    explicit Sparse(const Job& job) : job_(job) {}
    void write(std::uint64_t block, const std::int32_t* y, Bytes& code) const {
        write_sparse_block(kernels::sparse_block(job_.isa, y),
                           code.data() + sparse_block_offset(block));
    }
    [[nodiscard]] SparseCode decoded(const Bytes& code) const {
        return OwnCode::sparse(job_.tensor, code);
    }
    void subtract(const SparseCode& code, std::uint64_t block, std::int32_t weight,
                  std::int32_t* y) const {
        const SparseBlock entries = code.block(block);
        for (int i = 0; i < entries.count; ++i)
            y[entries.index[i]] -= weight * entries.level[i] * (1 << entries.scale);
    }

  private:
    const Job& job_;
};

class Dense {
  public:
    explicit Dense(const Job& job) : job_(job) {}
    void write(std::uint64_t block, const std::int32_t* y, Bytes& code) const {
        DenseBlock parts;
        kernels::dense_block(job_.isa, y, parts.levels, parts.scales);
        write_dense_block(parts, job_.elements(block), code.data() + block * kDenseBlockBytes);
    }
    [[nodiscard]] DenseCode decoded(const Bytes& code) const {
        return OwnCode::dense(job_.tensor, code);
    }
    void subtract(const DenseCode& code, std::uint64_t block, std::int32_t weight,
                  std::int32_t* y) const {
        const DenseBlock parts = code.block(block);
        kernels::subtract_dense(job_.isa, parts.levels, parts.scales, weight, y);
    }

  private:
    const Job& job_;
};

/// Two passes, since the clip weight needs the norm of the whole code; the second computes y again,
/// which is cheaper than to keep 4 bytes an element.
template <class Code>
Encoding encode_as(const Code& form, const Job& job, std::uint64_t size, std::uint64_t bound) {
    Encoding out;
    out.code.resize(size);
    alignas(64) std::int32_t y[kBlock];
    const std::uint64_t blocks = blocks_of(job.tensor.elements);
    for (std::uint64_t b = 0; b < blocks; ++b) {
        job.fixed(b, y);
        form.write(b, y, out.code);
    }
    const auto code = form.decoded(out.code);
    out.squared_norm = code.squared_norm();
    out.weight = kernels::clip_weight(out.squared_norm, bound);
    if (job.incoming == nullptr) return out;
    out.residual = Residual::zero(job.tensor.elements);
    for (std::uint64_t b = 0; b < blocks; ++b) {
        job.fixed(b, y);
        form.subtract(code, b, out.weight, y);
        job.leave(b, y, *out.residual);
    }
    return out;
}

}  // namespace

std::uint64_t code_bytes(Form form, std::uint64_t elements) {
    return form == Form::kDense ? dense_code_bytes(elements) : sparse_code_bytes(elements);
}

Encoding encode(Form form, const TensorGrid& tensor, std::span<const float> x, std::uint64_t bound,
                const Residual* incoming, kernels::Isa isa) {
    GYM_ASSERT(check(tensor).ok() && x.size() == tensor.elements, "a tensor of this size and grid");
    GYM_ASSERT(incoming == nullptr || (incoming->levels.size() == tensor.elements &&
                                       incoming->scales.size() == blocks_of(tensor.elements)),
               "the residual of this tensor");
    const kernels::ExactFloatEnvironment environment;
    const Job job{tensor, x, incoming, isa};
    const std::uint64_t size = code_bytes(form, tensor.elements);
    return form == Form::kDense ? encode_as(Dense(job), job, size, bound)
                                : encode_as(Sparse(job), job, size, bound);
}

}  // namespace gym::codec
