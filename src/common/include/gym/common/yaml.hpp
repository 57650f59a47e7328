#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/result.hpp"

namespace YAML {
class Node;
}

namespace gym {

/// One mapping of a YAML document, read strictly: `finish()` rejects every key that was not read
/// for, and every error names file, line, key and what was expected. Not thread-safe.
class YamlMap {
  public:
    /// @errors kIo if the file cannot be read, kInvalidArgument if it is not a YAML mapping.
    static Result<YamlMap> load_file(const std::string& path);
    static Result<YamlMap> parse(const std::string& text, const std::string& origin);

    YamlMap(YamlMap&&) noexcept;
    YamlMap& operator=(YamlMap&&) noexcept;
    ~YamlMap();

    [[nodiscard]] bool has(std::string_view key) const;
    // Required keys. @errors kInvalidArgument when absent, of another type, or out of [min, max].
    Result<std::string> string(std::string_view key);
    Result<std::int64_t> integer(std::string_view key, std::int64_t min, std::int64_t max);
    Result<double> real(std::string_view key, double min, double max);
    Result<bool> boolean(std::string_view key);
    Result<YamlMap> map(std::string_view key);
    Result<std::vector<std::string>> list_of_strings(std::string_view key);
    // The same with a default for an absent key.
    Result<std::string> string_or(std::string_view key, std::string fallback);
    Result<std::int64_t> integer_or(std::string_view key, std::int64_t min, std::int64_t max,
                                    std::int64_t fallback);
    Result<double> real_or(std::string_view key, double min, double max, double fallback);
    Result<bool> boolean_or(std::string_view key, bool fallback);
    /// Overwrites `out` if the key is there. `max` must fit into T.
    template <std::integral T>
    Status read_integer(std::string_view key, std::int64_t min, std::int64_t max, T& out) {
        GYM_TRY(const std::int64_t value,
                integer_or(key, min, max, static_cast<std::int64_t>(out)));
        out = static_cast<T>(value);
        return {};
    }
    /// One of `choices`. @errors kInvalidArgument naming the choices.
    Result<std::string> choice(std::string_view key, const std::vector<std::string>& choices);

    /// An error at this mapping's place in the file, for rules between keys.
    [[nodiscard]] Error error_at(std::string_view key, std::string message) const;
    /// @errors kInvalidArgument naming the first unknown key and the keys that exist here.
    [[nodiscard]] Status finish() const;

  private:
    struct Impl;
    explicit YamlMap(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym
