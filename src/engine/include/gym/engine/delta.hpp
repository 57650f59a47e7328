#pragma once

#include <cstdint>
#include <vector>

#include "gym/blob/verified_blob.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/state.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

inline constexpr std::uint32_t kDeltaCodecRaw = 0;

/// Codec 0: theta_end - theta_base per element (one f32 subtraction), parameters in slot order,
/// canonical bytes. `end` may be a training state or a base state.
[[nodiscard]] Result<Bytes> encode_delta(const program::Program& train, const State& base,
                                         const State& end);

/// A delta that was hashed and decoded: its bytes, their root, and where the tensor of each
/// parameter of the program lies in them. Only decode() makes one, so a holder checks neither
/// again. Immutable; copies share the bytes. Thread-safe.
class Delta {
  public:
    /// @param train the job's train program, or one derived from it: the parameters count.
    /// @errors kMalformed: not a delta, or it holds a NaN that no op produces; kShapeMismatch: its
    /// tensors are not the program's parameters.
    [[nodiscard]] static Result<Delta> decode(const program::Program& train,
                                              const blob::VerifiedBlob& blob);

    [[nodiscard]] const blob::VerifiedBlob& blob() const { return blob_; }
    [[nodiscard]] const Digest& root() const { return blob_.root(); }
    [[nodiscard]] std::size_t parameters() const { return tensors_.size(); }
    /// The elements of a parameter, by its place among the program's parameters: f32,
    /// little-endian.
    [[nodiscard]] ByteView tensor(std::size_t parameter) const;

    /// Bits of sqrt of the exact sum of squares over all elements; NaN if any element is not
    /// finite. Inclusion rules compare it with a bound: `!(norm <= bound)` rejects NaN too. Reads
    /// every element.
    [[nodiscard]] std::uint32_t norm_bits() const;
    [[nodiscard]] double norm() const;

  private:
    struct Range {
        std::size_t begin = 0;
        std::size_t size = 0;
    };
    Delta(const blob::VerifiedBlob& blob, std::vector<Range> tensors)
        : blob_(blob), tensors_(std::move(tensors)) {}
    blob::VerifiedBlob blob_;
    std::vector<Range> tensors_;  ///< within the blob's bytes, by parameter
};

}  // namespace gym::engine
