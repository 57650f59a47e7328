#include "gym/common/yaml.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "gym/common/file.hpp"
#include "gym/common/near_words.hpp"

namespace gym {
namespace {

constexpr std::uint64_t kFileSizeBytesMax = std::uint64_t{1} << 20;

std::string join(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words)
        out += (out.empty() ? "" : ", ") + word;
    return out;
}

constexpr std::size_t kTypingErrorEditsMax = 2;

/// " (did you mean tokens?)", for a key that was mistyped.
std::string meant(const std::string& key, const std::vector<std::string>& known) {
    constexpr std::size_t kNearMax = 3;
    const std::vector<std::string_view> words(known.begin(), known.end());
    std::string out;
    for (const std::string_view one : near_words(key, words, kNearMax))
        out += (out.empty() ? " (did you mean " : " or ") + std::string(one);
    return out.empty() ? out : out + "?)";
}

}  // namespace

struct YamlMap::Impl {
    YAML::Node node;
    std::string origin;  // file, then the path of keys to this mapping
    std::set<std::string, std::less<>> asked;
    mutable std::set<std::string, std::less<>> looked_for;  // by has(); read only where they are

    /// The node with the line of `at`. A value that is left out has the line of what follows it, so
    /// its key counts.
    [[nodiscard]] YAML::Node marked(const YAML::Node& at, std::string_view key) const {
        if (key.empty() || !at.IsNull() || !node.IsMap()) return at;
        for (const auto& item : node)
            if (item.first.as<std::string>("") == key) return item.first;
        return at;
    }

    [[nodiscard]] std::string place(const YAML::Node& at, std::string_view key) const {
        const YAML::Mark mark = marked(at, key).Mark();
        const std::string line = mark.is_null() ? "" : ":" + std::to_string(mark.line + 1);
        return origin + line + (key.empty() ? "" : ": '" + std::string(key) + "'");
    }

    [[nodiscard]] Error error(const YAML::Node& at, std::string_view key,
                              std::string message) const {
        return fail(ErrorCode::kInvalidArgument, place(at, key) + " " + std::move(message));
    }

    /// "; 'round' in line 11 is like it", for a key that was mistyped.
    [[nodiscard]] std::string similar_to(std::string_view key) const {
        for (const auto& item : node) {
            const auto name = item.first.as<std::string>("");
            if (edits_between(name, key) <= std::min(kTypingErrorEditsMax, key.size() / 3))
                return "; '" + name + "' in line " + std::to_string(item.first.Mark().line + 1) +
                       " is like it";
        }
        return "";
    }

    Result<YAML::Node> find(std::string_view key) {
        asked.emplace(key);
        // A const node: operator[] of a mutable one would insert the key.
        const YAML::Node& view = node;
        YAML::Node found = view[std::string(key)];
        if (!found.IsDefined()) return error(node, key, "is missing" + similar_to(key));
        return found;
    }

    template <class T>
    Result<T> scalar(std::string_view key, const char* expected) {
        GYM_TRY(const YAML::Node found, find(key));
        try {
            if (found.IsScalar()) return found.as<T>();
        } catch (const YAML::Exception&) {  // reported below, with the key and what was expected
        }
        return error(found, key, std::string("must be ") + expected);
    }

    template <class T>
    Result<T> bounded(std::string_view key, T min, T max, const char* expected) {
        GYM_TRY(const T value, scalar<T>(key, expected));
        if (!(value >= min && value <= max)) {
            std::ostringstream text;
            text << "must be between " << min << " and " << max << ", is " << value;
            return error(node[std::string(key)], key, text.str());
        }
        return value;
    }

    Result<std::unique_ptr<Impl>> child(const YAML::Node& found, std::string_view key,
                                        const std::string& suffix) const {
        if (!found.IsMap()) return error(found, key, "must be a mapping of keys to values");
        auto out = std::make_unique<Impl>();
        out->node = found;
        out->origin = origin + " (" + std::string(key) + suffix + ")";
        return out;
    }

    /// That no key appears twice in this mapping or below: of two values only the first would be
    /// read. @param seen positions of the mappings and lists that were looked at: an alias leads to
    /// one once more, or around in a circle.
    Status check_keys(std::set<int>& seen) const {
        std::set<std::string> keys;
        for (const auto& item : node) {
            const auto key = item.first.as<std::string>();
            if (!keys.insert(key).second) return error(item.first, key, "appears twice");
            GYM_CHECK(check_value(item.second, key, "", seen));
        }
        return {};
    }

    Status check_value(const YAML::Node& value, std::string_view key, const std::string& suffix,
                       std::set<int>& seen) const {
        if (!value.IsMap() && !value.IsSequence()) return {};
        if (!seen.insert(value.Mark().pos).second) return {};
        if (value.IsMap()) {
            GYM_TRY(const auto below, child(value, key, suffix));
            return below->check_keys(seen);
        }
        std::size_t index = 0;
        for (const YAML::Node& item : value)
            GYM_CHECK(check_value(item, key, suffix + "[" + std::to_string(index++) + "]", seen));
        return {};
    }
};

YamlMap::YamlMap(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
YamlMap::YamlMap(YamlMap&&) noexcept = default;
YamlMap& YamlMap::operator=(YamlMap&&) noexcept = default;
YamlMap::~YamlMap() = default;

Result<YamlMap> YamlMap::load_file(const std::string& path) {
    GYM_TRY(const Bytes bytes, read_file(path, kFileSizeBytesMax));
    return parse(std::string(bytes.begin(), bytes.end()), path);
}

Result<YamlMap> YamlMap::parse(const std::string& text, const std::string& origin) {
    try {
        auto impl = std::make_unique<Impl>();
        const std::vector<YAML::Node> documents = YAML::LoadAll(text);
        if (documents.size() > 1)
            return fail(ErrorCode::kInvalidArgument,
                        origin + " holds " + std::to_string(documents.size()) +
                            " YAML documents, but only one is allowed: remove everything after the "
                            "line `---`, or move it into another file");
        impl->node = documents.empty() ? YAML::Node() : documents.front();
        impl->origin = origin;
        if (!impl->node.IsMap())
            return fail(ErrorCode::kInvalidArgument,
                        origin + " must hold a mapping of keys to values");
        std::set<int> seen;
        GYM_CHECK(impl->check_keys(seen));
        return YamlMap(std::move(impl));
    } catch (const YAML::Exception& error) {
        return fail(ErrorCode::kInvalidArgument, origin + " is not valid YAML: " + error.what());
    }
}

bool YamlMap::has(std::string_view key) const {
    impl_->looked_for.emplace(key);
    const YAML::Node& view = impl_->node;
    return view[std::string(key)].IsDefined();
}

Result<std::string> YamlMap::string(std::string_view key) {
    return impl_->scalar<std::string>(key, "text");
}

Result<std::int64_t> YamlMap::integer(std::string_view key, std::int64_t min, std::int64_t max) {
    return impl_->bounded<std::int64_t>(key, min, max, "a whole number");
}

Result<double> YamlMap::real(std::string_view key, double min, double max) {
    return impl_->bounded<double>(key, min, max, "a number");
}

Result<bool> YamlMap::boolean(std::string_view key) {
    return impl_->scalar<bool>(key, "true or false");
}

Result<YamlMap> YamlMap::map(std::string_view key) {
    GYM_TRY(const YAML::Node found, impl_->find(key));
    GYM_TRY(auto child, impl_->child(found, key, ""));
    return YamlMap(std::move(child));
}

Result<std::vector<std::string>> YamlMap::list_of_strings(std::string_view key) {
    GYM_TRY(const YAML::Node found, impl_->find(key));
    if (!found.IsSequence()) return impl_->error(found, key, "must be a list");
    std::vector<std::string> out;
    for (const YAML::Node& item : found) {
        if (!item.IsScalar()) return impl_->error(item, key, "must be a list of texts");
        out.push_back(item.Scalar());
    }
    return out;
}

Result<std::string> YamlMap::string_or(std::string_view key, std::string fallback) {
    impl_->asked.emplace(key);
    return has(key) ? string(key) : Result<std::string>(std::move(fallback));
}

Result<std::int64_t> YamlMap::integer_or(std::string_view key, std::int64_t min, std::int64_t max,
                                         std::int64_t fallback) {
    impl_->asked.emplace(key);
    return has(key) ? integer(key, min, max) : Result<std::int64_t>(fallback);
}

Result<double> YamlMap::real_or(std::string_view key, double min, double max, double fallback) {
    impl_->asked.emplace(key);
    return has(key) ? real(key, min, max) : Result<double>(fallback);
}

Result<bool> YamlMap::boolean_or(std::string_view key, bool fallback) {
    impl_->asked.emplace(key);
    return has(key) ? boolean(key) : Result<bool>(fallback);
}

Result<std::string> YamlMap::choice(std::string_view key, const std::vector<std::string>& choices) {
    GYM_TRY(std::string value, string(key));
    if (std::ranges::find(choices, value) == choices.end())
        return error_at(key, "must be one of " + join(choices) + ", is '" + value + "'");
    return value;
}

Error YamlMap::error_at(std::string_view key, std::string message) const {
    const YAML::Node& view = impl_->node;
    const YAML::Node found = view[std::string(key)];
    return impl_->error(found.IsDefined() ? found : impl_->node, key, std::move(message));
}

Status YamlMap::finish() const {
    for (const auto& item : impl_->node) {
        const auto key = item.first.as<std::string>();
        if (impl_->asked.contains(key)) continue;
        std::set<std::string, std::less<>> keys = impl_->looked_for;
        keys.insert(impl_->asked.begin(), impl_->asked.end());
        const std::vector<std::string> known(keys.begin(), keys.end());
        return impl_->error(
            item.first, key,
            "is not a known key" + meant(key, known) + "; known here: " + join(known));
    }
    return {};
}

}  // namespace gym
