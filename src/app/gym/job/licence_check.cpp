#include "job/licence_check.hpp"

#include <algorithm>
#include <array>

namespace gym::app {
namespace {

/// Sorted, for the search.
constexpr std::array<std::string_view, 51> kCommon{
    "0BSD",
    "AFL-3.0",
    "AGPL-3.0-only",
    "AGPL-3.0-or-later",
    "Apache-2.0",
    "Artistic-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC-BY-2.0",
    "CC-BY-2.5",
    "CC-BY-3.0",
    "CC-BY-4.0",
    "CC-BY-NC-3.0",
    "CC-BY-NC-4.0",
    "CC-BY-NC-ND-4.0",
    "CC-BY-NC-SA-3.0",
    "CC-BY-NC-SA-4.0",
    "CC-BY-ND-4.0",
    "CC-BY-SA-2.0",
    "CC-BY-SA-2.5",
    "CC-BY-SA-3.0",
    "CC-BY-SA-4.0",
    "CC-PDDC",
    "CC0-1.0",
    "CDLA-Permissive-1.0",
    "CDLA-Permissive-2.0",
    "CDLA-Sharing-1.0",
    "EPL-2.0",
    "EUPL-1.2",
    "GFDL-1.3-only",
    "GFDL-1.3-or-later",
    "GPL-2.0-only",
    "GPL-2.0-or-later",
    "GPL-3.0-only",
    "GPL-3.0-or-later",
    "ISC",
    "LGPL-2.1-only",
    "LGPL-2.1-or-later",
    "LGPL-3.0-only",
    "LGPL-3.0-or-later",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "ODC-By-1.0",
    "ODbL-1.0",
    "OGL-UK-3.0",
    "PDDL-1.0",
    "Unlicense",
    "Zlib",
    "etalab-2.0",
};
static_assert(std::ranges::is_sorted(kCommon));

bool is_known(std::string_view word) {
    if (word.starts_with("LicenseRef-") || word.starts_with("DocumentRef-")) return true;
    if (word.ends_with('+')) word.remove_suffix(1);
    return std::ranges::binary_search(kCommon, word);
}

}  // namespace

std::string uncommon_licence(std::string_view expression) {
    constexpr std::string_view kBetween = " ()";
    bool is_exception = false;  // an exception, not a licence, follows WITH
    while (!expression.empty()) {
        const std::size_t begin = expression.find_first_not_of(kBetween);
        if (begin == std::string_view::npos) break;
        expression.remove_prefix(begin);
        const std::string_view word = expression.substr(0, expression.find_first_of(kBetween));
        expression.remove_prefix(word.size());
        const bool is_operator = word == "AND" || word == "OR" || word == "WITH";
        if (!is_operator && !is_exception && !is_known(word)) return std::string(word);
        is_exception = word == "WITH";
    }
    return {};
}

}  // namespace gym::app
