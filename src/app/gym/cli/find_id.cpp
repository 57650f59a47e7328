#include "cli/find_id.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <optional>

#include "cli/api_json.hpp"
#include "cli/api_request.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::size_t kPrefixMin = 4;
constexpr std::size_t kDigits = 64;
constexpr std::size_t kPageItems = 1000;  // what the API gives at once
constexpr std::size_t kPagesMax = 100;

/// "0x" and the digits in lower case, as the API writes ids.
std::string normal(const std::string& text) {
    std::string out = text.starts_with("0x") ? text : "0x" + text;
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
    return out;
}

}  // namespace

bool is_id_prefix(const std::string& text) {
    const std::string digits = text.starts_with("0x") ? text.substr(2) : text;
    return digits.size() >= kPrefixMin && digits.size() <= kDigits &&
           std::ranges::all_of(digits, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

Result<Digest> find_id(const std::string& api_url, const IdList& list, const std::string& text) {
    const std::string what = list.what;
    if (auto id = Digest::parse(text); id.ok()) return id;
    if (!is_id_prefix(text))
        return fail(ErrorCode::kInvalidArgument, "'" + text + "' is no id of a " + what +
                                                     " (64 hex digits, or at least the first 4)");
    const std::string prefix = normal(text);
    std::optional<Digest> found;
    for (std::size_t page = 0; page < kPagesMax; ++page) {
        GYM_TRY(const json::value answer,
                api_get(api_url, std::string(list.path) + "?limit=" + std::to_string(kPageItems) +
                                     "&offset=" + std::to_string(page * kPageItems)));
        bool several = false;
        GYM_TRY(const std::size_t count, api_json::read_answer(list.what, [&] {
                    const json::array& items = answer.as_object().at(list.items).as_array();
                    for (const json::value& item : items) {
                        const auto id = api_json::fixed_of<Digest>(item.as_object(), list.key);
                        if (!id.hex().starts_with(prefix)) continue;
                        several = several || (found && *found != id);
                        found = id;
                    }
                    return items.size();
                }));
        if (several)
            return fail(
                ErrorCode::kInvalidArgument,
                fmt::format("several ids of a {} begin with {}: give more digits", what, prefix));
        if (count < kPageItems) break;
        if (page + 1 == kPagesMax)
            return fail(ErrorCode::kOutOfRange,
                        "there are more " + what + "s than are looked through: give the whole id");
    }
    if (found) return *found;
    return fail(ErrorCode::kNotFound, "no " + what + " has an id that begins with " + prefix);
}

}  // namespace gym::app
