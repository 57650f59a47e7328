#include "s3_list.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace gym::data {
namespace {

struct Element {
    std::string_view content;
    std::string_view rest;  ///< behind its end
};

/// The first element of this name in `xml`, up to the next end of that name: in a list, none is
/// within another of its name. Whatever the server sends, this reads it once and calls itself for
/// nothing.
std::optional<Element> find_element(std::string_view xml, const std::string& name) {
    const std::string begin = "<" + name, end = "</" + name + ">";
    for (std::size_t at = xml.find(begin); at != std::string_view::npos;
         at = xml.find(begin, at + begin.size())) {
        const std::size_t after = at + begin.size();
        if (after == xml.size()) break;
        if (std::string_view("> \t\r\n").find(xml[after]) == std::string_view::npos) continue;
        const std::size_t from = xml.find('>', after);
        const std::size_t to = from == std::string_view::npos ? from : xml.find(end, from);
        if (to == std::string_view::npos)
            throw std::runtime_error("the element " + name + " has no end");
        return Element{xml.substr(from + 1, to - from - 1), xml.substr(to + end.size())};
    }
    return std::nullopt;
}

/// A character by its number, as UTF-8.
std::string utf8_of(std::uint32_t code) {
    const auto tail = [&](unsigned shift) {
        return static_cast<char>(0x80U | ((code >> shift) & 0x3FU));
    };
    if (code < 0x80) return {static_cast<char>(code)};
    if (code < 0x800) return {static_cast<char>(0xC0U | (code >> 6)), tail(0)};
    if (code < 0x10000) return {static_cast<char>(0xE0U | (code >> 12)), tail(6), tail(0)};
    return {static_cast<char>(0xF0U | (code >> 18)), tail(12), tail(6), tail(0)};
}

/// What "&NAME;" stands for.
std::string character_of(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, char>, 5> kNamed{
        {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
    for (const auto& [known, character] : kNamed)
        if (name == known) return {character};
    const bool hex = name.starts_with("#x");
    const std::string_view digits = name.substr(std::min<std::size_t>(name.size(), hex ? 2 : 1));
    std::uint32_t code = 0;
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
    constexpr std::uint32_t kLast = 0x10FFFF;
    if (!name.starts_with('#') || error != std::errc() || stop != digits.data() + digits.size() ||
        code == 0 || code > kLast)
        throw std::runtime_error("&" + std::string(name) + "; is no character");
    return utf8_of(code);
}

std::string text_of(std::string_view content) {
    std::string out;
    while (true) {
        const std::size_t at = std::min(content.find('&'), content.size());
        out += content.substr(0, at);
        if (at == content.size()) return out;
        const std::size_t end = content.find(';', at);
        if (end == std::string_view::npos) throw std::runtime_error("an '&' without a ';'");
        out += character_of(content.substr(at + 1, end - at - 1));
        content.remove_prefix(end + 1);
    }
}

std::optional<std::string> text_in(std::string_view xml, const std::string& name) {
    const auto found = find_element(xml, name);
    if (!found) return std::nullopt;
    return text_of(found->content);
}

std::string required(std::string_view xml, const std::string& name) {
    auto text = text_in(xml, name);
    if (!text) throw std::runtime_error("it has no " + name);
    return *std::move(text);
}

std::uint64_t number_of(const std::string& text) {
    std::uint64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || end != text.data() + text.size())
        throw std::runtime_error("a size that is no number");
    return out;
}

S3Object object_of(std::string_view xml) {
    return {.key = required(xml, "Key"),
            .etag = text_in(xml, "ETag").value_or(""),
            .size_bytes = number_of(text_in(xml, "Size").value_or("0"))};
}

}  // namespace

Result<S3Page> read_s3_page(const std::string& xml) {
    try {
        const auto list = find_element(xml, "ListBucketResult");
        if (!list) throw std::runtime_error("it has no ListBucketResult");
        S3Page out;
        for (auto one = find_element(list->content, "Contents"); one;
             one = find_element(one->rest, "Contents"))
            out.objects.push_back(object_of(one->content));
        if (text_in(list->content, "IsTruncated") == "true")
            out.next = required(list->content, "NextContinuationToken");
        return out;
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed,
                    std::string("the server's list of objects is not S3's: ") + error.what());
    }
}

}  // namespace gym::data
