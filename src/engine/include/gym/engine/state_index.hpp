#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gym/blob/blob_store.hpp"
#include "gym/commit/merkle.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/state_layout.hpp"

/// Where everything lies in an encoded state (docs/PROTOCOL.md, "States, deltas, datasets"): a head
/// that names the tensors, then each tensor's bytes, each followed by zeros up to a multiple of
/// commit::kChunkBytes. So the leaves of a tensor's tree are leaves of the blob's tree, too, and
/// what is known about a tensor's chunks is known about the blob's.
namespace gym::engine {

/// Whether bytes begin as an encoded state does.
[[nodiscard]] bool begins_as_state(ByteView bytes);

/// The head of an encoded state. Immutable.
class StateIndex {
  public:
    /// Bytes of a head that say how many it has: magic, then its number of chunks u32.
    static constexpr std::size_t kBeginBytes = 8 + 4;

    /// @errors kOutOfRange: more than 2^16 tensors, or more than kStateBytesMax in all.
    [[nodiscard]] static Result<StateIndex> of(StateLayout layout);
    /// @param head all of it. @errors as decode_state().
    [[nodiscard]] static Result<StateIndex> decode(ByteView head);
    /// Reads the head of a stored state. @errors as decode_state(), also for a blob of another size
    /// than its head says; those of the reader.
    [[nodiscard]] static Result<StateIndex> read(const blob::BlobReader& state);
    /// Of an encoded state in memory. @errors as read().
    [[nodiscard]] static Result<StateIndex> of_state(ByteView state);
    /// How many bytes a head has. @param begin its first kBeginBytes. @errors as decode_state().
    [[nodiscard]] static Result<std::uint64_t> head_bytes_of(ByteView begin);

    [[nodiscard]] Bytes encode() const;
    /// Whether bytes are an encoded state of these tensors, as far as its head and size say: not
    /// whether there are zeros behind the tensors. @errors as decode_state() and check_layout().
    [[nodiscard]] Status check(ByteView state) const;
    [[nodiscard]] const StateLayout& layout() const { return layout_; }
    [[nodiscard]] std::size_t tensors() const { return layout_.size(); }
    /// Where a tensor begins: a multiple of commit::kChunkBytes, as the next three are.
    [[nodiscard]] std::uint64_t begin(std::size_t tensor) const { return begins_.at(tensor); }
    /// Where the next tensor begins, or the state ends.
    [[nodiscard]] std::uint64_t end(std::size_t tensor) const { return begins_.at(tensor + 1); }
    [[nodiscard]] std::uint64_t head_bytes() const { return begins_.front(); }
    [[nodiscard]] std::uint64_t size_bytes() const { return begins_.back(); }  ///< of all
    /// Of a tensor alone, without the zeros behind it.
    [[nodiscard]] std::uint64_t tensor_bytes(std::size_t tensor) const { return sizes_.at(tensor); }

  private:
    StateIndex() = default;
    [[nodiscard]] static Result<StateIndex> decode_in_front_of(ByteView state);

    StateLayout layout_;
    std::vector<std::uint64_t> sizes_;
    std::vector<std::uint64_t> begins_;  ///< one more than tensors
};

/// state_root() of an encoded state. @pre index.check(state) is a success.
[[nodiscard]] Digest state_root(const StateIndex& index, ByteView state, unsigned threads = 1);

/// state_root() of with_fresh_optimizer(), for which no training state is made: of the optimizer's
/// tensors one at a time is in memory.
/// @param base encoded. @errors as with_fresh_optimizer() and StateIndex::check().
[[nodiscard]] Result<Digest> fresh_state_root(const program::Program& train, ByteView base,
                                              unsigned threads = 1);
/// The same of a decoded one.
[[nodiscard]] Result<Digest> fresh_state_root(const program::Program& train, const State& base,
                                              unsigned threads = 1);

}  // namespace gym::engine
