#include "gym/registry/licence.hpp"

#include <algorithm>
#include <string>

namespace gym::registry {
namespace {

constexpr std::string_view kHint =
    "; write an SPDX expression like CC-BY-4.0, CC0-1.0 OR MIT, or LicenseRef-name for a licence "
    "of your own";
constexpr std::size_t kDepthMax = 16;  // of parentheses
constexpr std::string_view kReference = "LicenseRef-";
constexpr std::string_view kDocument = "DocumentRef-";

bool is_letter_or_digit(char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/// The specification's idstring.
bool is_id(std::string_view text) {
    return !text.empty() && is_letter_or_digit(text.front()) &&
           std::ranges::all_of(
               text, [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; });
}

bool is_operator(std::string_view word) {
    return word == "AND" || word == "OR" || word == "WITH";
}

/// LicenseRef-x, or DocumentRef-y:LicenseRef-x.
bool is_reference(std::string_view word) {
    if (word.starts_with(kDocument)) {
        const std::size_t colon = word.find(':');
        if (colon == std::string_view::npos) return false;
        if (!is_id(word.substr(kDocument.size(), colon - kDocument.size()))) return false;
        word.remove_prefix(colon + 1);
    }
    return word.starts_with(kReference) && is_id(word.substr(kReference.size()));
}

bool is_licence(std::string_view word) {
    if (word.starts_with(kReference) || word.starts_with(kDocument)) return is_reference(word);
    if (word.ends_with('+')) word.remove_suffix(1);
    return is_id(word) && !is_operator(word);
}

/// Recursive descent over the words; `depth` bounds the recursion.
class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) { advance(); }

    Status parse() {
        GYM_CHECK(expression(0));
        if (word_.empty()) return {};
        return wrong(word_ == ")" ? "this ) closes nothing" : "AND, OR or WITH is missing before");
    }

  private:
    Status expression(std::size_t depth) {
        GYM_CHECK(operand(depth));
        while (word_ == "AND" || word_ == "OR") {
            advance();
            GYM_CHECK(operand(depth));
        }
        return {};
    }

    Status operand(std::size_t depth) {
        if (word_ == "(") {
            if (depth == kDepthMax) return wrong("too many parentheses inside each other:");
            advance();
            GYM_CHECK(expression(depth + 1));
            if (word_ != ")") return wrong("a ) is missing before");
            advance();
            return {};
        }
        if (!is_licence(word_)) return wrong("no licence identifier:");
        advance();
        if (word_ != "WITH") return {};
        advance();
        if (!is_id(word_) || is_operator(word_)) return wrong("no exception identifier:");
        advance();
        return {};
    }

    void advance() {
        at_ = std::min(text_.find_first_not_of(' ', end_), text_.size());
        end_ = at_;
        if (end_ < text_.size() && (text_[end_] == '(' || text_[end_] == ')'))
            ++end_;
        else
            end_ = std::min(text_.find_first_of(" ()", end_), text_.size());
        word_ = text_.substr(at_, end_ - at_);
    }

    Status wrong(std::string_view what) const {
        const std::string where =
            word_.empty() ? "the end"
                          : "'" + std::string(word_) + "' at " + std::to_string(at_ + 1);
        return fail(ErrorCode::kInvalidArgument, "the licence '" + std::string(text_) +
                                                     "': " + std::string(what) + " " + where +
                                                     std::string(kHint));
    }

    std::string_view text_;
    std::size_t at_ = 0;   ///< where word_ begins
    std::size_t end_ = 0;  ///< and ends
    std::string_view word_;
};

}  // namespace

Status check_licence(std::string_view text) {
    if (text.empty())
        return fail(ErrorCode::kInvalidArgument, "no licence is given" + std::string(kHint));
    if (text.size() > kLicenceBytesMax)
        return fail(ErrorCode::kInvalidArgument, "the licence has " + std::to_string(text.size()) +
                                                     " bytes, at most " +
                                                     std::to_string(kLicenceBytesMax));
    const bool printable = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
    if (!printable)
        return fail(ErrorCode::kInvalidArgument,
                    "the licence has characters that are not printable ASCII" + std::string(kHint));
    if (text == "NONE" || text == "NOASSERTION")
        return fail(ErrorCode::kInvalidArgument,
                    std::string(text) + " names no licence" + std::string(kHint));
    return Parser(text).parse();
}

}  // namespace gym::registry
