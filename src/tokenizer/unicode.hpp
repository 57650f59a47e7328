#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gym/common/function_ref.hpp"
#include "gym/common/result.hpp"
#include "gym/tokenizer/tokenizer.hpp"

// What ICU does for us: regular expressions and normalization. No other file includes its headers.
namespace gym::tokenizer {

/// A compiled pattern. Immutable, thread-safe; copies share it.
class Pattern {
  public:
    /// @errors kMalformed with the place that ICU does not accept; also for a pattern that matches
    /// the empty text.
    static Result<Pattern> compile(std::string_view utf8);

  private:
    friend class Splitter;
    struct Impl;
    explicit Pattern(std::shared_ptr<const Impl> impl);
    std::shared_ptr<const Impl> impl_;
};

struct SplitterOptions {
    bool ascii_fast = true;            ///< false: the regular expression decides everything
    std::size_t window_bytes_min = 0;  ///< 0: what is fast
};

/// Splits texts by a pattern: matches, and what lies between them. Not for use by two threads.
class Splitter {
  public:
    explicit Splitter(const Pattern& pattern, SplitterOptions options = {});
    Splitter(Splitter&&) noexcept;
    Splitter& operator=(Splitter&&) noexcept;
    ~Splitter();

    /// Calls `piece` with views of `text`, in order, none empty, which together are `text`. Bytes
    /// that are not well-formed UTF-8 count as U+FFFD, one for each maximal subpart.
    /// @errors kOutOfRange: the pattern exceeded ICU's limits of steps or memory, matched the empty
    /// text, or a piece is longer than kPieceBytesMax. Names the byte.
    [[nodiscard]] Status split(std::string_view text, FunctionRef<void(std::string_view)> piece);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// `utf8` in normalization form C; nothing if it is so already. Bytes that are not well-formed
/// UTF-8 stay as they are. @errors kInternal.
[[nodiscard]] Result<std::optional<std::string>> to_nfc(std::string_view utf8);

}  // namespace gym::tokenizer
