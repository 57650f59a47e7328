#include "definition.hpp"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/common/printable.hpp"
#include "gym/tokenizer/tokenizer.hpp"

namespace gym::tokenizer {
namespace {

constexpr std::string_view kRootDomain = "gym tokenizer 1";
constexpr std::size_t kShownMax = 40;
constexpr unsigned kBytes = 256;

Error malformed(std::string what) {
    return fail(ErrorCode::kMalformed, std::move(what));
}

std::string id_text(std::uint64_t id) {
    return std::to_string(id);
}

Status check_bounds(const Definition& definition) {
    const auto check = [](std::string_view what, std::uint64_t found, std::uint64_t max) -> Status {
        if (found <= max) return {};
        return fail(ErrorCode::kOutOfRange, std::string(what) + ": " + std::to_string(found) +
                                                " is more than the limit of " +
                                                std::to_string(max));
    };
    GYM_CHECK(check("ids of tokens", definition.vocabulary(), kVocabularyMax));
    GYM_CHECK(check("merges", definition.merges.size(), kMergesMax));
    GYM_CHECK(check("added tokens", definition.added.size(), kAddedTokensMax));
    GYM_CHECK(check("steps of the pre-tokenizer", definition.steps.size(), kSplitsMax));
    for (const Step& step : definition.steps)
        GYM_CHECK(check("bytes of a pattern", step.pattern.size(), kPatternBytesMax));
    for (const std::string& token : definition.tokens)
        GYM_CHECK(check("bytes of a token", token.size(), kTokenBytesMax));
    for (const AddedToken& token : definition.added)
        GYM_CHECK(check("bytes of an added token", token.text.size(), kAddedTokenBytesMax));
    return {};
}

Status check_tokens_differ(const Definition& definition) {
    boost::unordered_flat_map<std::string_view, std::size_t> seen;
    seen.reserve(definition.tokens.size());
    for (std::size_t id = 0; id < definition.tokens.size(); ++id) {
        if (definition.tokens[id].empty()) continue;
        const auto [first, inserted] = seen.emplace(definition.tokens[id], id);
        if (!inserted)
            return malformed("tokens " + id_text(first->second) + " and " + id_text(id) +
                             " are both " + shown(definition.tokens[id]));
    }
    for (unsigned byte = 0; byte < kBytes; ++byte) {
        const char text = static_cast<char>(byte);
        if (!seen.contains(std::string_view(&text, 1)))
            return malformed("no token stands for the byte " + shown({&text, 1}) +
                             ": byte-level BPE needs all 256; train the tokenizer with them as its "
                             "initial alphabet");
    }
    return {};
}

/// Texts and ids are unique, and an id that the model has too stands for the same text there.
Status check_added(const Definition& definition) {
    boost::unordered_flat_set<std::string_view> texts;
    const AddedToken* last = nullptr;
    for (const AddedToken& token : definition.added) {
        if (token.text.empty()) return malformed("added token " + id_text(token.id) + " is empty");
        if (last != nullptr && last->id == token.id)
            return malformed("the added tokens " + shown(last->text) + " and " + shown(token.text) +
                             " both have the id " + id_text(token.id));
        if (!texts.insert(token.text).second)
            return malformed("the added token " + shown(token.text) + " is there twice");
        if (token.id < definition.tokens.size() && !definition.tokens[token.id].empty() &&
            definition.tokens[token.id] != token.text)
            return malformed("id " + id_text(token.id) + " is " +
                             shown(definition.tokens[token.id]) + " in the vocabulary, but " +
                             shown(token.text) + " among the added tokens");
        last = &token;
    }
    return {};
}

Status check_holes(const Definition& definition) {
    std::uint64_t found = 0;
    for (const std::string& token : definition.tokens)
        found += token.empty() ? 0 : 1;
    for (const AddedToken& token : definition.added)
        found +=
            token.id < definition.tokens.size() && !definition.tokens[token.id].empty() ? 0 : 1;
    const std::uint64_t ids = definition.vocabulary();
    if (ids - found <= found) return {};
    return malformed("ids reach " + id_text(ids - 1) + ", but only " + std::to_string(found) +
                     " of them have a token: is a part of the file missing?");
}

Status check_merges(const Definition& definition) {
    boost::unordered_flat_set<std::uint64_t> seen;
    seen.reserve(definition.merges.size());
    const auto& tokens = definition.tokens;
    for (std::size_t i = 0; i < definition.merges.size(); ++i) {
        const Merge& merge = definition.merges[i];
        const std::string where = "merge " + std::to_string(i);
        for (const std::uint32_t id : {merge.left, merge.right, merge.merged})
            if (id >= tokens.size() || tokens[id].empty())
                return malformed(where + " names token " + id_text(id) + ", which does not exist");
        if (tokens[merge.merged] != tokens[merge.left] + tokens[merge.right])
            return malformed(where + " makes " + shown(tokens[merge.merged]) + " of " +
                             shown(tokens[merge.left]) + " and " + shown(tokens[merge.right]));
        if (!seen.insert(std::uint64_t{merge.left} << 32 | merge.right).second)
            return malformed(where + " of " + shown(tokens[merge.left]) + " and " +
                             shown(tokens[merge.right]) + " is there twice");
    }
    return {};
}

/// One form for one meaning: a text that is an added token, and that no merge knows, is no token of
/// the model besides; without a normalizer, all added tokens are looked for in the text as it is.
void make_canonical(Definition& definition) {
    std::ranges::stable_sort(definition.added, {}, &AddedToken::id);
    std::vector<bool> in_merges(definition.tokens.size());
    for (const Merge& merge : definition.merges)
        for (const std::uint32_t id : {merge.left, merge.right, merge.merged})
            if (id < in_merges.size()) in_merges[id] = true;
    for (AddedToken& token : definition.added) {
        if (!definition.nfc) token.normalized = false;
        if (token.id >= definition.tokens.size() || token.text.size() == 1) continue;
        std::string& model = definition.tokens[token.id];
        if (model == token.text && !in_merges[token.id]) model.clear();
    }
    while (!definition.tokens.empty() && definition.tokens.back().empty())
        definition.tokens.pop_back();
}

}  // namespace

std::uint32_t Definition::vocabulary() const {
    std::uint64_t ids = tokens.size();
    for (const AddedToken& token : added)
        ids = std::max(ids, std::uint64_t{token.id} + 1);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(ids, UINT32_MAX));
}

std::string shown(std::string_view token) {
    return "\"" + printable_ascii(token, kShownMax) + "\" (" +
           to_hex(as_bytes(token.substr(0, kShownMax))) + ")";
}

Status complete(Definition& definition) {
    make_canonical(definition);
    GYM_CHECK(check_bounds(definition));
    GYM_CHECK(check_tokens_differ(definition));
    GYM_CHECK(check_added(definition));
    GYM_CHECK(check_holes(definition));
    return check_merges(definition);
}

std::optional<std::uint32_t> usual_end_of_text(const std::vector<AddedToken>& added) {
    constexpr std::array<std::string_view, 5> kNames{"<|endoftext|>", "<|end_of_text|>", "</s>",
                                                     "<|im_end|>", "<eos>"};
    for (const std::string_view name : kNames) {
        const auto found = std::ranges::find(added, name, &AddedToken::text);
        if (found != added.end()) return found->id;
    }
    return std::nullopt;
}

Digest root_of(const Definition& definition) {
    commit::Encoder out;
    out.string(kRootDomain).boolean(definition.nfc).boolean(definition.whole_piece_first);
    out.u32(static_cast<std::uint32_t>(definition.steps.size()));
    for (const Step& step : definition.steps)
        out.u8(static_cast<std::uint8_t>(step.kind)).string(step.pattern);
    out.u32(static_cast<std::uint32_t>(definition.tokens.size()));
    for (const std::string& token : definition.tokens)
        out.string(token);
    out.u32(static_cast<std::uint32_t>(definition.merges.size()));
    for (const Merge& merge : definition.merges)
        out.u32(merge.left).u32(merge.right).u32(merge.merged);
    out.u32(static_cast<std::uint32_t>(definition.added.size()));
    for (const AddedToken& token : definition.added)
        out.u32(token.id).string(token.text).boolean(token.special).boolean(token.normalized);
    return commit::sha256(out.view());
}

}  // namespace gym::tokenizer
