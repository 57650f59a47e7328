#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/blob/piece_list.hpp"
#include "gym/blob/verified_blob.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/parameter_ranges.hpp"
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

/// The delta of a state of finite elements and itself.
/// @errors those of program::delta_codec().
[[nodiscard]] Result<Bytes> zero_delta(const program::Program& train);

/// Where something lies in a delta's blob.
struct DeltaSpan {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
};

/// Bytes of a delta's blob that are in memory, and where they begin in it.
struct DeltaBytes {
    std::uint64_t begin = 0;
    ByteView bytes;
};

/// Where the elements of each parameter lie in a program's deltas. Immutable.
class DeltaLayout {
  public:
    /// @errors those of program::delta_codec().
    [[nodiscard]] static Result<DeltaLayout> of(const program::Program& train);

    [[nodiscard]] program::DeltaCodec codec() const { return codec_; }
    [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
    [[nodiscard]] std::size_t parameters() const { return tensors_.size(); }
    /// Elements of a parameter, by its place among the program's parameters.
    [[nodiscard]] std::uint64_t elements(std::size_t parameter) const;
    /// Of codec 1 the bytes of whole rows. @pre count > 0; of codec 1 `first` begins a row.
    [[nodiscard]] DeltaSpan span_of(const ParameterPart& part) const;
    /// All elements whose bytes lie between two bytes of the blob, multiples of 1,024 or its ends.
    [[nodiscard]] std::vector<ParameterPart> parts_in(const DeltaSpan& span) const;
    /// Elements first, first + 1, ... of a parameter, as many as `out` has.
    /// @pre `from` holds their bytes.
    void read(const DeltaBytes& from, std::size_t parameter, std::uint64_t first,
              std::span<float> out) const;
    /// The 33 bytes of elements 64 * row, 64 * row + 1, ... of a parameter. @pre codec 1; `from`
    /// holds them.
    [[nodiscard]] const std::uint8_t* dense_row(const DeltaBytes& from, std::size_t parameter,
                                                std::uint64_t row) const;

  private:
    struct Tensor {
        std::uint64_t begin = 0;  ///< its first byte; in codec 1 the number of its first row
        std::uint64_t elements = 0;
    };
    DeltaLayout(program::DeltaCodec codec, std::vector<Tensor> tensors, std::uint64_t size_bytes)
        : codec_(codec), tensors_(std::move(tensors)), size_bytes_(size_bytes) {}
    void read_rows(const DeltaBytes& from, const Tensor& tensor, std::uint64_t first,
                   std::span<float> out) const;

    program::DeltaCodec codec_;
    std::vector<Tensor> tensors_;  ///< by parameter
    std::uint64_t size_bytes_;
};

/// A delta that was hashed and checked: its root, where its elements lie, and either its bytes or a
/// reader of them. Only decode(), open() and open_part() make one, so a holder checks neither
/// again. Immutable; copies share the bytes or the reader. Thread-safe.
class Delta {
  public:
    /// A delta in memory.
    /// @param train the job's train program: its parameters count, and its codec.
    /// @errors kMalformed: not a delta of this codec, or it holds a NaN that no op produces or a
    /// row that no encoder writes; kShapeMismatch: its tensors are not the program's parameters.
    [[nodiscard]] static Result<Delta> decode(const program::Program& train,
                                              const blob::VerifiedBlob& blob);
    /// A delta that stays in its store: reads, hashes and checks it once, 1 MiB at a time, and
    /// takes its norm (of codec 0 that reads it once more). The reader stays open for those who
    /// need its elements. They rely on it to give the same bytes again: a store keeps a blob in a
    /// file that nothing changes, and a sealed one authenticates each piece that is read.
    /// @errors as decode(); kMismatch: the bytes do not hash to `root`; those of the reader.
    [[nodiscard]] static Result<Delta> open(const program::Program& train, const Digest& root,
                                            std::shared_ptr<const blob::BlobReader> stored);

    /// Some chunks of a delta that stays in its store, for those who need no others: checks the
    /// pieces that they lie in, and the chunks' form. As of open() the reader stays open. The delta
    /// has no norm. What is wrong with other chunks is for those who need them to notice.
    /// @param pieces of the delta. @param stored need not have any other piece.
    /// @param span whole chunks of 1,024 bytes (RangePlan::delta_bytes()).
    /// @errors as open(); kMismatch names the piece.
    [[nodiscard]] static Result<Delta> open_part(const program::Program& train,
                                                 const blob::PieceList& pieces,
                                                 std::shared_ptr<const blob::BlobReader> stored,
                                                 const DeltaSpan& span);

    [[nodiscard]] const Digest& root() const { return root_; }
    [[nodiscard]] const DeltaLayout& layout() const { return *layout_; }
    [[nodiscard]] program::DeltaCodec codec() const { return layout_->codec(); }
    [[nodiscard]] std::size_t parameters() const { return layout_->parameters(); }
    [[nodiscard]] std::uint64_t elements(std::size_t parameter) const {
        return layout_->elements(parameter);
    }
    /// The reader of a delta that open() or open_part() made; nullptr of one in memory.
    [[nodiscard]] const blob::BlobReader* stored() const { return stored_.get(); }
    /// All bytes. @pre decode() made it.
    [[nodiscard]] DeltaBytes bytes() const;
    /// Elements first, first + 1, ... of a parameter, as many as `out` has. @pre decode() made it.
    void read(std::size_t parameter, std::uint64_t first, std::span<float> out) const {
        layout_->read(bytes(), parameter, first, out);
    }

    /// Bits of sqrt of the exact sum of squares over all elements; NaN if any element is not
    /// finite. Inclusion rules compare it with a bound: `!(norm <= bound)` rejects NaN too. Of a
    /// delta in memory this reads every element. @pre open_part() did not make it.
    [[nodiscard]] std::uint32_t norm_bits() const;
    [[nodiscard]] double norm() const;

  private:
    Delta(const Digest& root, DeltaLayout layout)
        : root_(root), layout_(std::make_shared<const DeltaLayout>(std::move(layout))) {}

    Digest root_;
    std::shared_ptr<const DeltaLayout> layout_;
    blob::VerifiedBlob blob_;                         ///< of one in memory
    std::shared_ptr<const blob::BlobReader> stored_;  ///< of any other
    std::optional<std::uint32_t> stored_norm_bits_;   ///< of a whole one in its store
};

}  // namespace gym::engine
