#include "tiktoken.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "gym/tokenizer/tokenizer.hpp"
#include "patterns.hpp"

namespace gym::tokenizer {
namespace {

struct NamedId {
    std::string_view text;
    std::uint32_t id;
};

struct Encoding {
    std::string_view name;
    std::string_view pattern;
    std::uint32_t ranks;
    std::span<const NamedId> special;
};

constexpr std::array<NamedId, 1> kGpt2Special{{{"<|endoftext|>", 50256}}};
constexpr std::array<NamedId, 5> kCl100kSpecial{{{"<|endoftext|>", 100257},
                                                 {"<|fim_prefix|>", 100258},
                                                 {"<|fim_middle|>", 100259},
                                                 {"<|fim_suffix|>", 100260},
                                                 {"<|endofprompt|>", 100276}}};
constexpr std::array<NamedId, 2> kO200kSpecial{
    {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}};
// Llama 3 has 256 special tokens; those without a use are numbered (add_llama3_special()).
constexpr std::uint32_t kLlama3Ranks = 128000, kLlama3SpecialCount = 256;
constexpr std::array<NamedId, 5> kLlama3Special{{{"<|begin_of_text|>", 128000},
                                                 {"<|end_of_text|>", 128001},
                                                 {"<|start_header_id|>", 128006},
                                                 {"<|end_header_id|>", 128007},
                                                 {"<|eot_id|>", 128009}}};

constexpr std::array<Encoding, 6> kEncodings{{
    {"gpt2", kGpt2Pattern, 50256, kGpt2Special},
    {"r50k_base", kGpt2Pattern, 50256, kGpt2Special},
    {"p50k_base", kGpt2Pattern, 50280, kGpt2Special},
    {"cl100k_base", kCl100kPattern, 100256, kCl100kSpecial},
    {"o200k_base", kO200kPattern, 199998, kO200kSpecial},
    {"llama3", kLlama3Pattern, kLlama3Ranks, kLlama3Special},
}};

const Encoding* find_encoding(std::string_view name) {
    const auto* const found = std::ranges::find(kEncodings, name, &Encoding::name);
    return found == kEncodings.end() ? nullptr : found;
}

/// Strict base64: nothing but whole groups of the alphabet, in their only form.
std::optional<std::string> from_base64(std::string_view text) {
    if (text.empty() || text.size() % 4 != 0 || text.size() > 2 * kTokenBytesMax)
        return std::nullopt;
    std::string out(text.size() / 4 * 3, '\0');
    const auto length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                        reinterpret_cast<const unsigned char*>(text.data()),
                                        static_cast<int>(text.size()));
    if (length < 0) return std::nullopt;
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    out.resize(static_cast<std::size_t>(length) - padding);
    std::string again(text.size() + 1, '\0');
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(again.data()),
                    reinterpret_cast<const unsigned char*>(out.data()),
                    static_cast<int>(out.size()));
    again.pop_back();  // its terminator
    if (again != text) return std::nullopt;
    return out;
}

struct Rank {
    std::string token;
    std::uint32_t rank;
};

std::optional<Rank> parse_line(std::string_view line) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    auto token = from_base64(line.substr(0, space));
    if (!token || token->empty()) return std::nullopt;
    Rank out{*std::move(token), 0};
    const char* const end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data() + space + 1, end, out.rank);
    if (error != std::errc() || stop != end) return std::nullopt;
    return out;
}

Status read_lines(std::string_view text, Definition& out, std::size_t& count) {
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        const std::string where = "line " + std::to_string(number);
        auto rank = parse_line(line);
        if (!rank)
            return fail(
                ErrorCode::kMalformed,
                where + ": expected a token in base64, a space and its rank, found " + shown(line));
        if (rank->rank >= kVocabularyMax)
            return fail(ErrorCode::kOutOfRange, where + ": rank " + std::to_string(rank->rank) +
                                                    " is not below " +
                                                    std::to_string(kVocabularyMax));
        if (rank->rank >= out.tokens.size()) out.tokens.resize(std::size_t{rank->rank} + 1);
        std::string& place = out.tokens[rank->rank];
        if (!place.empty())
            return fail(ErrorCode::kMalformed,
                        where + ": rank " + std::to_string(rank->rank) + " is there twice");
        place = std::move(rank->token);
        ++count;
    }
    return {};
}

/// All ways to make a token of two others, by the ranks of the token, then of its parts.
void add_merges(Definition& out) {
    boost::unordered_flat_map<std::string_view, std::uint32_t> ids;
    ids.reserve(out.tokens.size());
    for (std::size_t id = 0; id < out.tokens.size(); ++id)
        if (!out.tokens[id].empty()) ids.emplace(out.tokens[id], static_cast<std::uint32_t>(id));
    for (std::size_t id = 0; id < out.tokens.size(); ++id) {
        const std::string_view token = out.tokens[id];
        const std::size_t first = out.merges.size();
        for (std::size_t cut = 1; cut < token.size(); ++cut) {
            const auto left = ids.find(token.substr(0, cut));
            if (left == ids.end()) continue;
            const auto right = ids.find(token.substr(cut));
            if (right == ids.end()) continue;
            out.merges.push_back({left->second, right->second, static_cast<std::uint32_t>(id)});
        }
        std::ranges::sort(out.merges.begin() + static_cast<std::ptrdiff_t>(first), out.merges.end(),
                          {},
                          [](const Merge& merge) { return std::pair(merge.left, merge.right); });
    }
}

void add_special(const Encoding& encoding, Definition& out) {
    for (const NamedId& special : encoding.special)
        out.added.push_back({special.id, std::string(special.text), true, false});
    if (encoding.ranks != kLlama3Ranks) return;
    std::uint32_t number = 0;
    for (std::uint32_t id = kLlama3Ranks; id < kLlama3Ranks + kLlama3SpecialCount; ++id)
        if (std::ranges::find(encoding.special, id, &NamedId::id) == encoding.special.end())
            out.added.push_back(
                {id, "<|reserved_special_token_" + std::to_string(number++) + "|>", true, false});
}

}  // namespace

bool is_rank_file(std::string_view text) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size()));
    return parse_line(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line).has_value();
}

std::string encoding_names() {
    std::string out;
    for (const Encoding& encoding : kEncodings)
        out += (out.empty() ? "" : ", ") + std::string(encoding.name);
    return out;
}

bool is_encoding(std::string_view name) {
    return find_encoding(name) != nullptr;
}

Result<Definition> read_ranks(std::string_view text, std::string_view encoding_name) {
    const Encoding* const encoding = find_encoding(encoding_name);
    if (encoding == nullptr)
        return fail(ErrorCode::kInvalidArgument, "unknown encoding \"" +
                                                     std::string(encoding_name) + "\"; there are " +
                                                     encoding_names());
    Definition out;
    std::size_t count = 0;
    GYM_CHECK(read_lines(text, out, count));
    if (count != encoding->ranks)
        return fail(ErrorCode::kInvalidArgument,
                    "it has " + std::to_string(count) + " ranks, but " +
                        std::string(encoding->name) + " has " + std::to_string(encoding->ranks) +
                        ": the file is cut off, or of another encoding");
    out.steps.push_back({Step::Kind::kSplit, std::string(encoding->pattern)});
    add_merges(out);
    add_special(*encoding, out);
    out.whole_piece_first = true;
    out.end_of_text = usual_end_of_text(out.added);
    GYM_CHECK(complete(out));
    return out;
}

}  // namespace gym::tokenizer
