#include "gym/api/key_terms.hpp"

#include <algorithm>
#include <array>

namespace gym::api {
namespace {

constexpr std::array<std::string_view, 4> kScopeNames = {"read", "data", "jobs", "spend"};

Result<KeyScope> parse_scope(std::string_view name) {
    const auto found = std::ranges::find(kScopeNames, name);
    if (found != kScopeNames.end()) return static_cast<KeyScope>(found - kScopeNames.begin());
    return fail(ErrorCode::kInvalidArgument,
                "'" + std::string(name) +
                    "' is no scope of an API key: name some of read, data, jobs and spend, "
                    "separated by commas");
}

}  // namespace

std::string_view to_string(KeyScope scope) noexcept {
    return kScopeNames.at(static_cast<std::size_t>(scope));
}

Result<std::vector<KeyScope>> parse_scopes(std::string_view text) {
    std::vector<KeyScope> out;
    while (true) {
        const std::size_t comma = text.find(',');
        GYM_TRY(const KeyScope scope, parse_scope(text.substr(0, comma)));
        if (std::ranges::find(out, scope) == out.end()) out.push_back(scope);
        if (comma == std::string_view::npos) return out;
        text.remove_prefix(comma + 1);
    }
}

std::string to_string(const std::vector<KeyScope>& scopes) {
    std::string out;
    for (const KeyScope scope : scopes)
        out += (out.empty() ? "" : ",") + std::string(to_string(scope));
    return out;
}

Status check_scope(const KeyHolder& holder, KeyScope scope) {
    if (std::ranges::find(holder.scopes, scope) != holder.scopes.end()) return {};
    return fail(ErrorCode::kPermissionDenied,
                "the API key lacks the scope '" + std::string(to_string(scope)) + "', it has " +
                    to_string(holder.scopes) +
                    ": use another key, or ask the operator for one with this scope");
}

}  // namespace gym::api
