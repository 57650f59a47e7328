#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gym/common/yaml.hpp"

namespace gym {

/// The mappings in the list at the top-level `key` of a YAML text, each read strictly.
/// @errors kInvalidArgument naming `origin` and key: no YAML mapping, no such key, no list, or an
/// entry that is not a mapping.
[[nodiscard]] Result<std::vector<YamlMap>> list_of_maps(const std::string& text,
                                                        const std::string& origin,
                                                        std::string_view key);

}  // namespace gym
