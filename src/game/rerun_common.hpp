#pragma once

#include "gym/dispute/macro_trace.hpp"
#include "gym/dispute/opening.hpp"
#include "gym/game/rerun_work.hpp"

namespace gym::game {

/// A copy of a tensor with the leaves of its chunks. @errors kIo.
Result<dispute::TracedTensor> traced(const dispute::Shape& shape, ByteView bytes,
                                     const RerunWorkOptions& options);

/// The chunk that has byte `offset`, with its path to the tensor's tree root.
/// @errors kOutOfRange: there is no such byte.
Result<dispute::ChunksOpening> open_chunk(ByteView bytes, std::uint64_t offset, unsigned threads);

}  // namespace gym::game
