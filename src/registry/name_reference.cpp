#include "gym/registry/name_reference.hpp"

#include <algorithm>
#include <charconv>

namespace gym::registry {
namespace {

bool is_lower_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_hexadecimal(std::string_view text) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    return std::ranges::all_of(
        text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

Result<NameReference> parse_name_reference(std::string_view text, std::string_view thing) {
    const std::size_t at = text.find('@');
    NameReference out{.name = std::string(text.substr(0, at)), .version = {}};
    const bool plain = std::ranges::all_of(
        out.name, [](char c) { return is_lower_or_digit(c) || c == '.' || c == '_' || c == '-'; });
    if (out.name.empty() || out.name.size() > kReferenceNameBytesMax || !plain ||
        !is_lower_or_digit(out.name[0]) || is_hexadecimal(out.name))
        return fail(ErrorCode::kInvalidArgument,
                    "a " + std::string(thing) +
                        "'s name has 1 to 64 lower-case letters, digits, '.', '_' and '-', "
                        "begins with a letter or digit and is not hexadecimal");
    if (at == std::string_view::npos) return out;
    const std::string_view digits = text.substr(at + 1);
    std::uint32_t version = 0;
    const auto [after, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), version);
    if (error != std::errc{} || after != digits.data() + digits.size() || version == 0 ||
        version > kReferenceVersionMax)
        return fail(ErrorCode::kInvalidArgument,
                    "the version of a " + std::string(thing) + " is a number from 1 to " +
                        std::to_string(kReferenceVersionMax) + ", as in " + out.name + "@2");
    out.version = version;
    return out;
}

std::string to_string(const NameReference& reference) {
    return reference.name + (reference.version ? "@" + std::to_string(*reference.version) : "");
}

}  // namespace gym::registry
