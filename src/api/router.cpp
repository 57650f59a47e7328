#include "gym/api/router.hpp"

#include <charconv>

namespace gym::api {
namespace {

constexpr std::size_t kTargetBytesMax = 4096;

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

Result<std::string> percent_decode(std::string_view text, bool plus_is_space) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += plus_is_space && text[i] == '+' ? ' ' : text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0 || high * 16 + low == 0)
            return fail(ErrorCode::kMalformed, "the request target has a bad %-escape");
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return out;
}

/// Calls `take(piece)` for each piece of `text` between separators.
template <class F>
Status for_each_piece(std::string_view text, char separator, F&& take) {
    while (true) {
        const std::size_t end = text.find(separator);
        GYM_CHECK(take(text.substr(0, end)));
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + 1);
    }
}

using Values = std::map<std::string, std::string, std::less<>>;

/// The values of {parameters} if `path` has the form of `pattern`.
std::optional<Values> match_pattern(std::string_view pattern, std::string_view path) {
    Values values;
    while (true) {
        const std::size_t pattern_end = pattern.find('/');
        const std::size_t path_end = path.find('/');
        const std::string_view wanted = pattern.substr(0, pattern_end);
        const std::string_view found = path.substr(0, path_end);
        if (wanted.size() > 2 && wanted.front() == '{') {
            auto decoded = percent_decode(found, false);
            if (!decoded.ok() || decoded->empty()) return std::nullopt;
            values.emplace(wanted.substr(1, wanted.size() - 2), *decoded);
        } else if (wanted != found) {
            return std::nullopt;
        }
        if ((pattern_end == std::string_view::npos) != (path_end == std::string_view::npos))
            return std::nullopt;
        if (pattern_end == std::string_view::npos) return values;
        pattern.remove_prefix(pattern_end + 1);
        path.remove_prefix(path_end + 1);
    }
}

Result<Values> parse_query(std::string_view query, const Route& route) {
    Values values;
    if (query.empty()) return values;
    GYM_CHECK(for_each_piece(query, '&', [&](std::string_view item) -> Status {
        const std::size_t equals = item.find('=');
        GYM_TRY(std::string name, percent_decode(item.substr(0, equals), true));
        GYM_TRY(std::string value,
                percent_decode(
                    equals == std::string_view::npos ? std::string_view{} : item.substr(equals + 1),
                    true));
        bool known = false;
        for (const Parameter& parameter : route.query)
            known = known || parameter.name == name;
        if (!known) return fail(ErrorCode::kMalformed, "unknown query parameter '" + name + "'");
        if (!values.emplace(name, std::move(value)).second)
            return fail(ErrorCode::kMalformed, "query parameter '" + name + "' stands there twice");
        return {};
    }));
    return values;
}

}  // namespace

KeyScope scope_of(const Route& route) {
    if (route.scope) return *route.scope;
    return route.method == "GET" ? KeyScope::kRead : KeyScope::kData;
}

Result<Router::Match> Router::match(std::string_view method, std::string_view target) const {
    if (target.size() > kTargetBytesMax || target.empty() || target.front() != '/')
        return fail(ErrorCode::kMalformed,
                    "the request target must be a path of at most 4096 bytes");
    const std::size_t question = target.find('?');
    const std::string_view path = target.substr(0, question);
    const std::string_view query =
        question == std::string_view::npos ? std::string_view{} : target.substr(question + 1);
    std::string allowed;
    for (const Route& route : routes_) {
        auto values = match_pattern(route.pattern, path);
        if (!values) continue;
        if (route.method != method && !(method == "HEAD" && route.method == "GET")) {
            allowed += (allowed.empty() ? "" : ", ") + route.method;
            continue;
        }
        GYM_TRY(Values query_values, parse_query(query, route));
        return Match{&route, std::move(*values), std::move(query_values)};
    }
    if (!allowed.empty()) return fail(ErrorCode::kConflict, allowed);
    return fail(ErrorCode::kNotFound, "nothing is at " + std::string(path));
}

Result<std::string> Call::text(std::string_view name) const {
    if (const auto found = path.find(name); found != path.end()) return found->second;
    if (const auto found = query.find(name); found != query.end()) return found->second;
    return fail(ErrorCode::kMalformed, "parameter '" + std::string(name) + "' is missing");
}

Result<Address> Call::address(std::string_view name) const {
    GYM_TRY(const std::string value, text(name));
    auto parsed = Address::parse(value);
    if (parsed.ok()) return parsed;
    return fail(ErrorCode::kMalformed,
                "'" + std::string(name) + "' must be an address: 40 hexadecimal digits");
}

Result<Digest> Call::digest(std::string_view name) const {
    GYM_TRY(const std::string value, text(name));
    auto parsed = Digest::parse(value);
    if (parsed.ok()) return parsed;
    return fail(ErrorCode::kMalformed,
                "'" + std::string(name) + "' must be an id: 64 hexadecimal digits");
}

Result<std::uint64_t> Call::number(std::string_view name, std::uint64_t max,
                                   std::uint64_t fallback) const {
    if (!query.contains(name) && !path.contains(name)) return fallback;
    GYM_TRY(const std::string value, text(name));
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || number > max)
        return fail(
            ErrorCode::kMalformed,
            "'" + std::string(name) + "' must be a whole number of at most " + std::to_string(max));
    return number;
}

}  // namespace gym::api
