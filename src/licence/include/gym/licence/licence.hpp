#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "gym/common/result.hpp"

/// Licences of texts and datasets: which are known, and what they forbid (docs/DATA.md,
/// "Licences"). Pure functions of one table; not legal advice.
namespace gym::licence {

inline constexpr std::size_t kBytesMax = 256;

/// Under which a text of nobody else's concern is registered: only its owner's jobs train on it.
inline constexpr std::string_view kPrivate = "LicenseRef-private";

/// `text` as it is stored. Takes an SPDX license expression (SPDX specification 2.3, annex D) of
/// identifiers on SPDX's list, in any case, with an optional "+", LicenseRef- and
/// DocumentRef-...:LicenseRef- references, WITH, AND, OR and parentheses; and one of our words:
/// private, proprietary, no-training, public-domain. AND binds tighter than OR.
/// @errors kInvalidArgument saying what is wrong and where, with near identifiers. NONE and
/// NOASSERTION are refused, because they name no licence.
[[nodiscard]] Result<std::string> canonical(std::string_view text);

/// What the owner of a job declares about the trained weights.
enum class Use : std::uint8_t { kCommercial, kNonCommercial };
[[nodiscard]] std::string_view to_string(Use use) noexcept;
/// @errors kInvalidArgument for other words than "commercial" and "non-commercial".
[[nodiscard]] Result<Use> parse_use(std::string_view text);

/// Why somebody other than the owner of the data may not train on it for this use, such as
/// "CC-BY-NC-4.0 forbids commercial use"; empty: it is permitted. Of alternatives (OR) one must
/// permit it, of AND every one. Text that canonical() refuses permits nothing.
[[nodiscard]] std::string forbidden(std::string_view text, Use use);

/// A duty of `part`'s licence that `whole`'s does not have, such as "CC-BY-4.0 asks for
/// attribution"; empty: there is none. Attribution and share-alike are compared: CC0, public domain
/// and the like ask for neither, every other listed licence asks for attribution, and those called
/// SA, the GPLs, GFDL, LAL and ODbL ask for share-alike. Of alternatives (OR) all must have the
/// duty, of AND one. LicenseRef-... is taken to have what is asked; text that canonical() refuses
/// asks for nothing.
[[nodiscard]] std::string dropped_duty(std::string_view part, std::string_view whole);

/// The licence of a text made of several: all of theirs together, each once, ascending.
/// @param texts as canonical() takes them. @errors those of canonical(), also for none, or for a
/// text of more than kBytesMax.
[[nodiscard]] Result<std::string> joined(const std::set<std::string>& texts);

/// Whether the licence reserves training to the owner: an opt-out.
[[nodiscard]] bool opts_out(std::string_view text);

/// Whether only its owner may train, whatever for: private, proprietary, no-training.
[[nodiscard]] bool reserved_to_owner(std::string_view text);

}  // namespace gym::licence
