#pragma once

#include <cstdint>

#include "gym/common/bytes.hpp"
#include "gym/dispute/trace_program.hpp"

// Where the elements of a delta lie in its bytes, in every codec (docs/PROTOCOL.md, "States,
// deltas, datasets").
namespace gym::dispute {

/// Whether elements of a parameter can begin at this byte of a delta.
[[nodiscard]] bool is_delta_place(program::DeltaCodec codec, std::uint64_t offset);

/// The first byte behind a parameter.
/// @pre its delta offset is_delta_place() and at most kDeltaBytesMax.
[[nodiscard]] std::uint64_t delta_end(program::DeltaCodec codec, const StateRecord& record);

/// The bytes that an element is read from: itself, or its row. They lie in one chunk.
struct DeltaSpan {
    std::uint64_t begin = 0;
    std::uint64_t length = 0;
};
/// @param record a parameter's. @param element below 2^40.
[[nodiscard]] DeltaSpan delta_span(program::DeltaCodec codec, const StateRecord& record,
                                   std::uint64_t element);

/// The element that a byte of a parameter is part of, in codec 1 the first one of its row.
/// @pre the byte lies between the parameter's delta offset and delta_end(), and in a row.
[[nodiscard]] std::uint64_t first_element(program::DeltaCodec codec, const StateRecord& record,
                                          std::uint64_t byte);

/// The bits of an element, from the bytes of its delta_span(). Total: bytes that no encoder writes
/// have a value, too.
[[nodiscard]] std::uint32_t delta_element(program::DeltaCodec codec, std::uint64_t element,
                                          ByteView bytes);

}  // namespace gym::dispute
