#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace gym {

/// Letters to insert, remove or replace, or to swap with the next one (optimal string alignment).
[[nodiscard]] std::size_t edits_between(std::string_view a, std::string_view b);

/// The words that a mistyped `word` may mean, nearest first, then in the order of `known`: of at
/// most as many edits as a third of its letters, at least 1 and at most 3, whatever their case; and
/// words that begin with it, if it has two letters or more.
[[nodiscard]] std::vector<std::string_view> near_words(std::string_view word,
                                                       std::span<const std::string_view> known,
                                                       std::size_t count_max);

}  // namespace gym
