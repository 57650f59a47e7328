#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// The safetensors format (github.com/huggingface/safetensors, "Format"): eight bytes with the size
/// of a JSON header, the header, the tensors' bytes. Files come from strangers, so nothing in them
/// is believed before it is checked.
namespace gym::interchange {

// Bounds beyond which a file is refused.
inline constexpr std::uint64_t kSafetensorsHeaderBytesMax = 100'000'000;  // the format's own
inline constexpr std::size_t kSafetensorsTensorsMax = std::size_t{1} << 16;
inline constexpr std::size_t kSafetensorsRankMax = 8;

/// One tensor of a file: row-major, little-endian, borrowed from the file's bytes.
struct SafetensorsEntry {
    std::string name;
    std::string dtype;  ///< as the format names it: "F32", "BF16", "I64", ...
    std::vector<std::uint64_t> dims;
    ByteView bytes;
};

struct SafetensorsFile {
    std::map<std::string, std::string> metadata;
    std::vector<SafetensorsEntry> tensors;  ///< in the order of their bytes
};

/// Bytes of an element of `dtype`; 0 for a name that the format does not have.
[[nodiscard]] std::uint64_t safetensors_element_bytes(std::string_view dtype);

/// Borrows from `bytes`.
/// @errors kMalformed, naming the tensor: a header that is truncated, no JSON, too deep or with a
/// name twice; an unknown dtype; a tensor whose dims and offsets disagree; tensors that overlap,
/// leave holes or end before or after the file. kOutOfRange beyond the bounds.
[[nodiscard]] Result<SafetensorsFile> parse_safetensors(ByteView bytes);

/// The bytes before the tensors in a file that holds `tensors` in this order: the size, the
/// header, and spaces up to a multiple of 8. Dtypes and dims count, the tensors' bytes are not
/// read.
[[nodiscard]] Bytes safetensors_header(std::span<const SafetensorsEntry> tensors,
                                       const std::map<std::string, std::string>& metadata);

}  // namespace gym::interchange
