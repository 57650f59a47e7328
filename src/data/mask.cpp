#include <arpa/inet.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>

#include "gym/data/filters.hpp"

namespace gym::data {
namespace {

constexpr std::size_t kMatchBytesMax = 64;  // of a number; e-mail addresses have their own
constexpr std::size_t kNameBytesMax = 64, kDomainBytesMax = 255;  // RFC 5321, section 4.5.3.1

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_word(char c) {
    return is_digit(c) || is_letter(c) || c == '_';
}
bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// A place in the text that is replaced.
struct Found {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::string_view mask;
    std::size_t Masked::*count = nullptr;
};

std::optional<Found> email_at(std::string_view text, std::size_t at_sign, std::size_t from) {
    const auto in_name = [](char c) {
        return is_word(c) || c == '.' || c == '%' || c == '+' || c == '-';
    };
    std::size_t begin = at_sign;
    while (begin > from && at_sign - begin < kNameBytesMax && in_name(text[begin - 1]))
        --begin;
    while (begin < at_sign && text[begin] == '.')
        ++begin;
    std::size_t end = at_sign + 1;
    const auto in_domain = [](char c) {
        return is_digit(c) || is_letter(c) || c == '.' || c == '-';
    };
    while (end < text.size() && end - at_sign <= kDomainBytesMax && in_domain(text[end]))
        ++end;
    while (end > at_sign + 1 && !is_letter(text[end - 1]))
        --end;
    const std::string_view domain = text.substr(at_sign + 1, end - at_sign - 1);
    const std::size_t dot = domain.rfind('.');
    if (begin == at_sign || dot == std::string_view::npos || dot == 0 || domain.size() - dot < 3)
        return std::nullopt;
    if (!std::ranges::all_of(domain.substr(dot + 1), is_letter)) return std::nullopt;
    return Found{begin, end, "<email>", &Masked::emails};
}

std::optional<Found> address_at(std::string_view text, std::size_t begin) {
    std::size_t end = begin, dots = 0, colons = 0;
    bool digit = false;
    while (end < text.size() && end - begin < kMatchBytesMax &&
           (is_hex(text[end]) || text[end] == '.' || text[end] == ':')) {
        dots += text[end] == '.' ? 1 : 0;
        colons += text[end] == ':' ? 1 : 0;
        digit |= is_digit(text[end]);
        ++end;
    }
    if (!digit || (dots < 3 && colons < 2) || (end < text.size() && is_word(text[end])))
        return std::nullopt;
    if (colons == 1) end = std::min(text.find(':', begin), end);  // a port
    while (end > begin && (text[end - 1] == '.' || (text[end - 1] == ':' && text[end - 2] != ':')))
        --end;
    const std::string candidate(text.substr(begin, end - begin));
    std::array<unsigned char, 16> ignored{};
    if (::inet_pton(colons >= 2 ? AF_INET6 : AF_INET, candidate.c_str(), ignored.data()) != 1)
        return std::nullopt;
    return Found{begin, end, "<ip>", &Masked::addresses};
}

bool passes_luhn(std::string_view digits) {
    unsigned sum = 0;
    bool twice = false;
    for (std::size_t i = digits.size(); i-- > 0; twice = !twice) {
        const auto digit = static_cast<unsigned>(digits[i] - '0') * (twice ? 2 : 1);
        sum += digit > 9 ? digit - 9 : digit;
    }
    return sum % 10 == 0;
}

std::optional<Found> card_at(std::string_view text, std::size_t begin) {
    if (text[begin] < '2' || text[begin] > '6') return std::nullopt;
    std::string digits;
    std::size_t end = begin;
    for (std::size_t at = begin; at < text.size(); ++at) {
        const bool between = text[at] == ' ' || text[at] == '-';
        if (!is_digit(text[at]) && !(between && is_digit(text[at - 1]))) break;
        if (between) continue;
        digits += text[at];
        end = at + 1;
        if (digits.size() > 19) return std::nullopt;
    }
    if (digits.size() < 13 || !passes_luhn(digits) || (end < text.size() && is_word(text[end])))
        return std::nullopt;
    return Found{begin, end, "<card>", &Masked::cards};
}

/// + and groups of digits with at most one sign between them, which may be in brackets: as many
/// groups as make 8 to 15 digits (ITU-T E.164).
std::optional<Found> international_phone_at(std::string_view text, std::size_t begin) {
    constexpr std::size_t kDigitsMin = 8, kDigitsMax = 15;
    std::size_t digits = 0, end = begin;
    for (std::size_t at = begin + 1; at < text.size() && digits <= kDigitsMax;) {
        if (at > begin + 1 && std::string_view(" .-").find(text[at]) != std::string_view::npos)
            ++at;
        const bool bracket = at > begin + 1 && at < text.size() && text[at] == '(';
        std::size_t group = at + (bracket ? 1 : 0);
        const std::size_t first = group;
        while (group < text.size() && is_digit(text[group]))
            ++group;
        if (group == first) break;
        digits += group - first;
        if (bracket && (group == text.size() || text[group++] != ')')) break;
        at = group;
        if (digits >= kDigitsMin && digits <= kDigitsMax &&
            (at == text.size() || !is_word(text[at])))
            end = at;
    }
    if (end == begin) return std::nullopt;
    return Found{begin, end, "<phone>", &Masked::phones};
}

std::optional<Found> phone_at(std::string_view text, std::size_t begin) {
    if (text[begin] == '+') return international_phone_at(text, begin);
    static const re2::RE2 kNorthAmerican(R"((?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4})");
    const std::string_view window = text.substr(begin, kMatchBytesMax);
    re2::StringPiece match;
    if (!kNorthAmerican.Match({window.data(), window.size()}, 0, window.size(),
                              re2::RE2::ANCHOR_START, &match, 1))
        return std::nullopt;
    const std::size_t end = begin + match.size();
    if (end < text.size() && is_word(text[end])) return std::nullopt;
    return Found{begin, end, "<phone>", &Masked::phones};
}

/// What begins at `at`, or around it for the sign of an e-mail address. Nothing before `from` is
/// looked at: it is replaced already.
std::optional<Found> find_at(std::string_view text, std::size_t at, std::size_t from) {
    const char c = text[at];
    if (c == '@') return email_at(text, at, from);
    const bool digit = is_digit(c);
    if (!digit && c != '+' && c != '(' && c != ':' && !is_hex(c)) return std::nullopt;
    if (at > 0 &&
        (is_word(text[at - 1]) || (text[at - 1] == '.' && at > 1 && is_digit(text[at - 2]))))
        return std::nullopt;
    if (digit || is_hex(c) || c == ':')
        if (auto found = address_at(text, at)) return found;
    if (digit)
        if (auto found = card_at(text, at)) return found;
    if (digit || c == '+' || c == '(') return phone_at(text, at);
    return std::nullopt;
}

}  // namespace

Masked mask(std::string& text) {
    Masked out;
    std::string replaced;
    std::size_t copied = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto found = find_at(text, at, copied);
        if (!found) continue;
        replaced.append(text, copied, found->begin - copied).append(found->mask);
        copied = found->end;
        at = found->end - 1;
        ++(out.*found->count);
    }
    if (copied == 0) return out;
    replaced.append(text, copied);
    text = std::move(replaced);
    return out;
}

}  // namespace gym::data
