#include "gym/licence/licence.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "gym/common/near_words.hpp"
#include "spdx_ids.hpp"

namespace gym::licence {
namespace {

constexpr std::string_view kExamples = "CC-BY-4.0, CC0-1.0 OR MIT";
constexpr std::string_view kHint =
    "; write an SPDX expression like CC-BY-4.0, CC0-1.0 OR MIT, or LicenseRef-name for a licence "
    "of your own";
constexpr std::size_t kDepthMax = 16;  // of parentheses
constexpr std::size_t kNearMax = 3;
/// Of equally near identifiers these are named first.
constexpr std::array<std::string_view, 8> kCommon{"CC-BY-4.0",    "CC-BY-SA-4.0", "CC-BY-NC-4.0",
                                                  "CC0-1.0",      "MIT",          "Apache-2.0",
                                                  "BSD-3-Clause", "ODC-By-1.0"};
constexpr std::string_view kReference = "LicenseRef-";
constexpr std::string_view kDocument = "DocumentRef-";

/// A word of ours, what it stands for, and what that forbids to all but the owner.
struct Word {
    std::string_view word;
    std::string_view stands_for;
    std::string_view forbids;  ///< empty: nothing
};
constexpr std::string_view kOptOut = "reserves training to its owner";
constexpr std::string_view kOwnersAlone = "lets only its owner train";
constexpr std::array<Word, 4> kWords{{
    {"private", kPrivate, kOwnersAlone},
    {"proprietary", "LicenseRef-proprietary", kOwnersAlone},
    {"no-training", "LicenseRef-no-training", kOptOut},
    {"public-domain", "LicenseRef-public-domain", ""},
}};

/// Where a licence of the list says it in other words than "NC" and "ND".
constexpr std::string_view kNonCommercialId = "PolyForm-Noncommercial-1.0.0";

/// Duties of those who pass a text on, as a set of bits.
constexpr unsigned kAttribution = 1, kShareAlike = 2, kEveryDuty = 3;
struct Duty {
    unsigned bit;
    std::string_view asks;
};
constexpr std::array<Duty, 2> kDuties{{
    {kAttribution, "asks for attribution"},
    {kShareAlike, "asks that copies stay under such a licence (share-alike)"},
}};
/// Licences that ask for nothing, beside those with a part "PD".
constexpr std::array<std::string_view, 8> kFree{
    "0BSD",  "CC-PDDC",  "CC0-1.0",   "LicenseRef-public-domain",
    "MIT-0", "PDDL-1.0", "Unlicense", "WTFPL"};
/// What names of licences begin with that ask for share-alike, beside those with a part "SA".
constexpr std::array<std::string_view, 6> kShareAlikeIds{"AGPL-", "GFDL-", "GPL-",
                                                         "LAL-",  "LGPL-", "ODbL-"};

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

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
}

/// The list's spelling of an identifier in any case; absent: it is not on the list.
std::optional<std::string_view> find_id(std::string_view id) {
    const std::string wanted = lower(id);
    const auto ids = spdx_ids();
    const auto found = std::ranges::lower_bound(ids, wanted, {}, lower);
    if (found == ids.end() || lower(*found) != wanted) return std::nullopt;
    return *found;
}

/// "; near ones are CC-BY-4.0, CC-BY-3.0", or what could be meant at all.
std::string near_ids(std::string_view word) {
    std::vector<std::string_view> known(kCommon.begin(), kCommon.end());
    for (const std::string_view id : spdx_ids())
        if (std::ranges::find(kCommon, id) == kCommon.end()) known.push_back(id);
    for (const Word& one : kWords)
        known.push_back(one.word);
    std::string out;
    for (const std::string_view near : near_words(word, known, kNearMax))
        out += (out.empty() ? "; near ones are " : ", ") + std::string(near);
    return out.empty() ? "; for example " + std::string(kExamples) +
                             " or public-domain are (spdx.org/licenses lists all)"
                       : out;
}

bool has_part(std::string_view id, std::string_view part) {
    const std::string whole = "-" + std::string(id) + "-";
    return whole.find("-" + std::string(part) + "-") != std::string::npos;
}

/// An expression as it is stored, and by use why it is forbidden.
struct Value {
    std::string text;
    std::array<std::string, 2> forbidden;
    unsigned demands = 0;  ///< duties that it is known to have
    unsigned keeps = 0;    ///< duties that it may have

    std::string& why(Use use) { return forbidden[static_cast<std::size_t>(use)]; }
};

unsigned duties_of(std::string_view id) {
    if (std::ranges::find(kFree, id) != kFree.end() || has_part(id, "PD")) return 0;
    const bool alike =
        has_part(id, "SA") || std::ranges::any_of(kShareAlikeIds, [&](std::string_view start) {
            return id.starts_with(start);
        });
    return alike ? kEveryDuty : kAttribution;
}

Value value_of(std::string_view id) {
    Value out;
    out.text = id;
    // Terms of somebody's own are not known, but for our word.
    const bool known = !is_reference(id) || std::ranges::find(kFree, id) != kFree.end();
    out.demands = known ? duties_of(id) : 0;
    out.keeps = known ? duties_of(id) : kEveryDuty;
    const auto forbid = [&](std::string_view what) {
        for (std::string& why : out.forbidden)
            why = out.text + " " + std::string(what);
    };
    const auto word = std::ranges::find(kWords, id, &Word::stands_for);
    if (word != kWords.end() && !word->forbids.empty()) forbid(word->forbids);
    if (is_reference(id)) return out;
    if (has_part(id, "ND")) forbid("forbids derivatives, and the weights of a job are one");
    if (out.forbidden[0].empty() && (has_part(id, "NC") || id == kNonCommercialId))
        out.why(Use::kCommercial) = out.text + " forbids commercial use";
    return out;
}

Value either(const Value& a, const Value& b) {
    Value out{a.text + " OR " + b.text, {}, a.demands & b.demands, a.keeps & b.keeps};
    for (std::size_t i = 0; i < out.forbidden.size(); ++i)
        if (!b.forbidden[i].empty()) out.forbidden[i] = a.forbidden[i];
    return out;
}

Value both(const Value& a, const Value& b) {
    Value out{a.text + " AND " + b.text, {}, a.demands | b.demands, a.keeps | b.keeps};
    for (std::size_t i = 0; i < out.forbidden.size(); ++i)
        out.forbidden[i] = a.forbidden[i].empty() ? b.forbidden[i] : a.forbidden[i];
    return out;
}

/// Recursive descent over the words; `depth` bounds the recursion.
class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) { advance(); }

    Result<Value> parse() {
        GYM_TRY(Value out, alternatives(0));
        if (word_.empty()) return out;
        return wrong(word_ == ")" ? "this ) closes nothing" : "AND, OR or WITH is missing before");
    }

  private:
    Result<Value> alternatives(std::size_t depth) {
        GYM_TRY(Value out, conjunction(depth));
        while (word_ == "OR") {
            advance();
            GYM_TRY(const Value next, conjunction(depth));
            out = either(out, next);
        }
        return out;
    }

    Result<Value> conjunction(std::size_t depth) {
        GYM_TRY(Value out, operand(depth));
        while (word_ == "AND") {
            advance();
            GYM_TRY(const Value next, operand(depth));
            out = both(out, next);
        }
        return out;
    }

    Result<Value> operand(std::size_t depth) {
        if (word_ == "(") {
            if (depth == kDepthMax) return wrong("too many parentheses inside each other:");
            advance();
            GYM_TRY(Value inner, alternatives(depth + 1));
            if (word_ != ")") return wrong("a ) is missing before");
            advance();
            inner.text = "(" + inner.text + ")";
            return inner;
        }
        GYM_TRY(Value out, licence());
        if (word_ != "WITH") return out;
        advance();
        if (!is_id(word_) || is_operator(word_)) return wrong("no exception identifier:");
        out.text += " WITH " + std::string(word_);
        advance();
        return out;
    }

    Result<Value> licence() {
        if (is_reference(word_)) {
            Value out = value_of(word_);
            advance();
            return out;
        }
        const bool later = word_.ends_with('+');
        const std::string_view id = word_.substr(0, word_.size() - (later ? 1 : 0));
        if (!is_id(id) || is_operator(id) || word_.starts_with(kReference) ||
            word_.starts_with(kDocument))
            return wrong("no licence identifier:");
        const auto word = std::ranges::find(kWords, lower(id), &Word::word);
        const auto known = word != kWords.end() && !later ? std::optional(word->stands_for)
                           : find_id(word_)               ? find_id(word_)  // "GPL-2.0+" is listed
                                                          : find_id(id);
        if (!known) return unknown(id);
        Value out = value_of(*known);
        if (later && !known->ends_with('+')) out.text += "+";
        advance();
        return out;
    }

    Error unknown(std::string_view id) const {
        const std::string whole =
            id == text_ ? std::string() : "the licence '" + std::string(text_) + "': ";
        return fail(ErrorCode::kInvalidArgument,
                    whole + "'" + std::string(id) + "' is not an SPDX identifier" + near_ids(id) +
                        "; LicenseRef-" + std::string(id) + " stands for a licence of your own");
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

    Error wrong(std::string_view what) const {
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

Result<Value> parse(std::string_view text) {
    if (text.empty())
        return fail(ErrorCode::kInvalidArgument, "no licence is given" + std::string(kHint));
    if (text.size() > kBytesMax)
        return fail(ErrorCode::kInvalidArgument, "the licence has " + std::to_string(text.size()) +
                                                     " bytes, at most " +
                                                     std::to_string(kBytesMax));
    const bool printable = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
    if (!printable)
        return fail(ErrorCode::kInvalidArgument,
                    "the licence has characters that are not printable ASCII" + std::string(kHint));
    if (text == "NONE" || text == "NOASSERTION")
        return fail(ErrorCode::kInvalidArgument,
                    std::string(text) + " names no licence" + std::string(kHint));
    GYM_TRY(Value out, Parser(text).parse());
    // A word of ours is longer where it is stored.
    if (out.text.size() <= kBytesMax) return out;
    return fail(ErrorCode::kInvalidArgument,
                "the licence is stored as more than " + std::to_string(kBytesMax) + " bytes");
}

}  // namespace

Result<std::string> canonical(std::string_view text) {
    GYM_TRY(Value out, parse(text));
    return std::move(out.text);
}

std::string_view to_string(Use use) noexcept {
    return use == Use::kNonCommercial ? "non-commercial" : "commercial";
}

Result<std::string> joined(const std::set<std::string>& texts) {
    std::string out;
    for (const std::string& one : texts) {
        const bool composed = texts.size() > 1 && one.find(' ') != std::string::npos;
        out += (out.empty() ? "" : " AND ") + (composed ? "(" + one + ")" : one);
    }
    return canonical(out);
}

Result<Use> parse_use(std::string_view text) {
    for (const Use use : {Use::kCommercial, Use::kNonCommercial})
        if (text == to_string(use)) return use;
    return fail(ErrorCode::kInvalidArgument,
                "'" + std::string(text.substr(0, 40)) + "' must be commercial or non-commercial");
}

std::string forbidden(std::string_view text, Use use) {
    auto value = parse(text);
    if (!value.ok()) return std::string(text.substr(0, kBytesMax)) + " grants nothing";
    return value->why(use);
}

std::string dropped_duty(std::string_view part, std::string_view whole) {
    const auto given = parse(whole);
    const auto asked = parse(part);
    if (!given.ok() || !asked.ok()) return {};
    for (const Duty& duty : kDuties)
        if ((asked->demands & duty.bit) != 0 && (given->keeps & duty.bit) == 0)
            return asked->text + " " + std::string(duty.asks);
    return {};
}

bool opts_out(std::string_view text) {
    return forbidden(text, Use::kNonCommercial).ends_with(kOptOut);
}

bool reserved_to_owner(std::string_view text) {
    return opts_out(text) || forbidden(text, Use::kNonCommercial).ends_with(kOwnersAlone);
}

}  // namespace gym::licence
