#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gym/blob/verified_blob.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/state.hpp"
#include "gym/program/delta_codec.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// theta_end - theta_base per element (one f32 subtraction), parameters in slot order, in the
/// program's codec; canonical bytes. `end` may be a training state or a base state.
/// @errors those of program::delta_codec().
[[nodiscard]] Result<Bytes> encode_delta(const program::Program& train, const State& base,
                                         const State& end);

/// Bytes of every delta of the program.
/// @errors those of program::delta_codec().
[[nodiscard]] Result<std::uint64_t> delta_bytes(const program::Program& train);

/// A delta that was hashed and checked: its bytes, their root, and where the elements of each
/// parameter of the program lie in them. Only decode() makes one, so a holder checks neither
/// again. Immutable; copies share the bytes. Thread-safe.
class Delta {
  public:
    /// @param train the job's train program: its parameters count, and its codec.
    /// @errors kMalformed: not a delta of this codec, or it holds a NaN that no op produces or a
    /// row that no encoder writes; kShapeMismatch: its tensors are not the program's parameters.
    [[nodiscard]] static Result<Delta> decode(const program::Program& train,
                                              const blob::VerifiedBlob& blob);

    [[nodiscard]] const blob::VerifiedBlob& blob() const { return blob_; }
    [[nodiscard]] const Digest& root() const { return blob_.root(); }
    [[nodiscard]] program::DeltaCodec codec() const { return codec_; }
    [[nodiscard]] std::size_t parameters() const { return tensors_.size(); }
    /// Elements of a parameter, by its place among the program's parameters.
    [[nodiscard]] std::uint64_t elements(std::size_t parameter) const;
    /// Elements first, first + 1, ... of a parameter, as many as `out` has.
    void read(std::size_t parameter, std::uint64_t first, std::span<float> out) const;

    /// The 33 bytes of elements 64 * row, 64 * row + 1, ... of a parameter. @pre codec 1.
    [[nodiscard]] const std::uint8_t* dense_row(std::size_t parameter, std::uint64_t row) const;

    /// Bits of sqrt of the exact sum of squares over all elements; NaN if any element is not
    /// finite. Inclusion rules compare it with a bound: `!(norm <= bound)` rejects NaN too. Reads
    /// every element.
    [[nodiscard]] std::uint32_t norm_bits() const;
    [[nodiscard]] double norm() const;

  private:
    struct Tensor {
        std::uint64_t begin = 0;  ///< its first byte; in codec 1 the number of its first row
        std::uint64_t elements = 0;
    };
    Delta(const blob::VerifiedBlob& blob, program::DeltaCodec codec, std::vector<Tensor> tensors)
        : blob_(blob), codec_(codec), tensors_(std::move(tensors)) {}
    [[nodiscard]] Status check_words(const program::Program& train) const;
    [[nodiscard]] Status check_rows(const program::Program& train) const;
    void read_rows(const Tensor& tensor, std::uint64_t first, std::span<float> out) const;

    blob::VerifiedBlob blob_;
    program::DeltaCodec codec_;
    std::vector<Tensor> tensors_;  ///< by parameter
};

}  // namespace gym::engine
