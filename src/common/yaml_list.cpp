#include "gym/common/yaml_list.hpp"

#include <yaml-cpp/yaml.h>

namespace gym {

Result<std::vector<YamlMap>> list_of_maps(const std::string& text, const std::string& origin,
                                          std::string_view key) {
    const std::string name(key);
    const auto wrong = [&](const std::string& what) {
        return fail(ErrorCode::kInvalidArgument, origin + ": '" + name + "' " + what);
    };
    std::vector<YamlMap> out;
    try {
        const YAML::Node list = YAML::Load(text)[name];
        if (!list) return wrong("is missing");
        if (!list.IsSequence()) return wrong("must be a list");
        out.reserve(list.size());
        for (const YAML::Node& item : list) {
            const std::string place =
                origin + ":" + std::to_string(item.Mark().line + 1) + " (" + name + ")";
            if (!item.IsMap()) return wrong("must be a list of mappings, like [{key: value}]");
            GYM_TRY(YamlMap map, YamlMap::parse(YAML::Dump(item), place));
            out.push_back(std::move(map));
        }
    } catch (const YAML::Exception& error) {
        return fail(ErrorCode::kInvalidArgument, origin + ": " + error.what());
    }
    return out;
}

}  // namespace gym
