#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gym/common/result.hpp"

namespace gym::registry {

inline constexpr std::size_t kReferenceNameBytesMax = 64;
inline constexpr std::uint32_t kReferenceVersionMax = 1'000'000;

/// NAME or NAME@VERSION as people write it, of a dataset or a model.
struct NameReference {
    std::string name;
    std::optional<std::uint32_t> version;  ///< absent: the newest
};

/// @param thing that has the name, for errors: "dataset", "model".
/// @errors kInvalidArgument unless the name has 1 to 64 lower-case letters, digits, '.', '_' and
/// '-', begins with a letter or digit and is not hexadecimal, as roots are; and for a version that
/// is not 1 to kReferenceVersionMax.
[[nodiscard]] Result<NameReference> parse_name_reference(std::string_view text,
                                                         std::string_view thing);
/// What parse_name_reference() reads.
[[nodiscard]] std::string to_string(const NameReference& reference);

}  // namespace gym::registry
