#pragma once

#include <string>
#include <string_view>

#include "gym/common/result.hpp"

namespace gym {

/// `text` as a YAML value in double quotes. @pre printable text, as names and paths are.
[[nodiscard]] std::string yaml_quoted(std::string_view text);

/// The text of a YAML file whose top level is a mapping in block style, edited key by key: all that
/// is not edited, comments included, stays as it is written, and no line before an edit moves.
/// Not thread-safe.
class YamlText {
  public:
    /// @param origin names the text in errors.
    YamlText(std::string text, std::string origin);

    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    [[nodiscard]] const std::string& origin() const noexcept { return origin_; }
    /// Whether a value stands at the path "key" or "key.inner.innermost".
    /// @errors kInvalidArgument for a text that is not a YAML mapping.
    [[nodiscard]] Result<bool> has(std::string_view path) const;
    /// Gives `path` the value `value`, which is YAML ("5", "[a, b]", "\"text\""). A value at the
    /// top level takes the place of the old one, or comes last; of a deeper one the whole top-level
    /// key is written again, in one line.
    /// @errors kInvalidArgument for a value or path that is not YAML, or for a key that does not
    /// begin a line.
    Status set(std::string_view path, std::string_view value);
    /// Replaces the value of a top-level key, or adds it, by lines of YAML that hold the key, too.
    Status replace(std::string_view key, std::string_view lines);
    /// Removes a top-level key. Its lines become comments, so that the others keep their numbers.
    Status erase(std::string_view key);

  private:
    struct Block;
    [[nodiscard]] Result<Block> find(std::string_view key) const;
    std::string text_;
    std::string origin_;
};

}  // namespace gym
