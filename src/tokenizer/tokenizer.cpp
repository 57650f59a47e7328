#include "gym/tokenizer/tokenizer.hpp"

#include <algorithm>
#include <utility>

#include "tokenizer_data.hpp"
#include "tokenizer_json.hpp"

namespace gym::tokenizer {
namespace {

constexpr std::size_t kScratchKeptMax = 64;
constexpr std::size_t kScratchTextBytesMax = std::size_t{1} << 20;  ///< larger ones grow buffers
constexpr std::size_t kBytesPerTokenUsual = 4;

/// Scratch for one call; goes back to the tokenizer for the next.
class ScratchLease {
  public:
    ScratchLease(const TokenizerData& data, std::size_t text_bytes)
        : data_(data), keep_(text_bytes <= kScratchTextBytesMax) {
        {
            const std::lock_guard lock(data.scratch_mutex);
            if (!data.scratch.empty()) {
                scratch_ = std::move(data.scratch.back());
                data.scratch.pop_back();
            }
        }
        if (scratch_) return;
        scratch_ = std::make_unique<EncodeScratch>();
        scratch_->splitters.reserve(data.patterns.size());
        for (const Pattern& pattern : data.patterns)
            scratch_->splitters.emplace_back(pattern);
    }
    ScratchLease(const ScratchLease&) = delete;
    ScratchLease& operator=(const ScratchLease&) = delete;
    ~ScratchLease() {
        if (!keep_) return;
        const std::lock_guard lock(data_.scratch_mutex);
        if (data_.scratch.size() < kScratchKeptMax) data_.scratch.push_back(std::move(scratch_));
    }
    EncodeScratch& operator*() const { return *scratch_; }

  private:
    const TokenizerData& data_;
    bool keep_;
    std::unique_ptr<EncodeScratch> scratch_;
};

/// One call of encode().
class Encoding {
  public:
    Encoding(const TokenizerData& data, EncodeScratch& scratch, bool special)
        : data_(data), scratch_(scratch), special_(special) {}

    Result<std::vector<std::uint32_t>> run(std::string_view text) {
        tokens_.reserve(text.size() / kBytesPerTokenUsual + 1);
        GYM_CHECK(between_added(text, false, [&](std::string_view part) { return raw(part); }));
        return std::move(tokens_);
    }

  private:
    /// Appends the added tokens in `text`, and calls `rest` with what lies between them.
    template <class Rest>
    Status between_added(std::string_view text, bool normalized, const Rest& rest) {
        const AddedFinder& finder = data_.finders[normalized ? 1 : 0][special_ ? 1 : 0];
        std::size_t at = 0;
        while (const auto found = finder.find(text, at)) {
            if (found->begin > at) GYM_CHECK(rest(text.substr(at, found->begin - at)));
            tokens_.push_back(found->id);
            at = found->begin + found->size;
        }
        if (at == text.size()) return {};
        return rest(text.substr(at));
    }

    Status raw(std::string_view text) {
        if (!data_.definition.nfc) return step(0, 0, text);
        GYM_TRY(const auto changed, to_nfc(text));
        return between_added(changed ? std::string_view(*changed) : text, true,
                             [&](std::string_view part) { return step(0, 0, part); });
    }

    /// Applies the steps from `index` on, `split` of which have split before.
    Status step(std::size_t index, std::size_t split, std::string_view text) {
        const auto& steps = data_.definition.steps;
        if (index == steps.size()) return piece(text);
        if (steps[index].kind == Step::Kind::kPrefixSpace) {
            if (text.starts_with(' ')) return step(index + 1, split, text);
            return step(index + 1, split, " " + std::string(text));
        }
        Status status;
        GYM_CHECK(scratch_.splitters[split].split(text, [&](std::string_view part) {
            if (status.ok()) status = step(index + 1, split + 1, part);
        }));
        return status;
    }

    Status piece(std::string_view text) {
        if (text.size() > PieceCache::kPieceBytesMax) return long_piece(text);
        const PieceCache::Key key = PieceCache::key_of(text);
        PieceCache::Entry& entry = scratch_.cache.entry(key);
        if (!(entry.key == key)) {
            const std::size_t before = tokens_.size();
            data_.merger.append(text, scratch_.merge, tokens_);
            const std::size_t count = tokens_.size() - before;
            if (count > PieceCache::kTokensMax) return {};
            entry.key = key;
            entry.count = static_cast<std::uint8_t>(count);
            std::copy_n(tokens_.end() - static_cast<std::ptrdiff_t>(count), count,
                        entry.tokens.begin());
            return {};
        }
        tokens_.insert(tokens_.end(), entry.tokens.begin(), entry.tokens.begin() + entry.count);
        return {};
    }

    Status long_piece(std::string_view text) {
        if (text.size() > kPieceBytesMax && !data_.definition.merges.empty())
            return fail(ErrorCode::kOutOfRange, "a piece of " + std::to_string(text.size()) +
                                                    " bytes cannot be merged (limit " +
                                                    std::to_string(kPieceBytesMax) +
                                                    "): encode the text in parts");
        data_.merger.append(text, scratch_.merge, tokens_);
        return {};
    }

    const TokenizerData& data_;
    EncodeScratch& scratch_;
    bool special_;
    std::vector<std::uint32_t> tokens_;
};

}  // namespace

TokenizerData::TokenizerData(Definition made, std::string tokenizer_name)
    : definition(std::move(made)),
      name(std::move(tokenizer_name)),
      merger(definition),
      root(root_of(definition)),
      texts(definition.vocabulary()) {
    for (std::size_t id = 0; id < definition.tokens.size(); ++id)
        texts[id] = definition.tokens[id];
    for (const AddedToken& token : definition.added) {
        texts[token.id] = token.text;
        if (token.special) special.push_back({token.id, token.text});
    }
    for (const bool normalized : {false, true})
        for (const bool with_special : {false, true})
            finders[normalized ? 1 : 0][with_special ? 1 : 0] =
                AddedFinder(definition.added, normalized, with_special);
}

Result<std::shared_ptr<const TokenizerData>> TokenizerData::make(Definition made, std::string name,
                                                                 std::vector<TokenizerFile> files) {
    auto data = std::make_shared<TokenizerData>(std::move(made), std::move(name));
    for (const Step& step : data->definition.steps) {
        if (step.kind != Step::Kind::kSplit) continue;
        GYM_TRY(Pattern pattern, Pattern::compile(step.pattern));
        data->patterns.push_back(std::move(pattern));
    }
    data->files = std::move(files);
    return std::shared_ptr<const TokenizerData>(std::move(data));
}

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerData> data) : data_(std::move(data)) {}

Tokenizer Tokenizer::bytes() {
    static const std::shared_ptr<const TokenizerData> data = [] {
        constexpr unsigned kBytes = 256;
        Definition definition;
        for (unsigned byte = 0; byte < kBytes; ++byte)
            definition.tokens.emplace_back(1, static_cast<char>(byte));
        return TokenizerData::make(std::move(definition), "bytes", {}).value();
    }();
    return Tokenizer(data);
}

Result<std::vector<std::uint32_t>> Tokenizer::encode(std::string_view utf8,
                                                     const EncodeOptions& options) const {
    if (utf8.size() > kTextBytesMax)
        return fail(ErrorCode::kOutOfRange, "a text of " + std::to_string(utf8.size()) +
                                                " bytes cannot be encoded at once (limit " +
                                                std::to_string(kTextBytesMax) +
                                                "): encode it in parts");
    const ScratchLease scratch(*data_, utf8.size());
    return Encoding(*data_, *scratch, options.special_tokens).run(utf8);
}

Result<std::string> Tokenizer::decode(std::span<const std::uint32_t> tokens) const {
    std::string out;
    out.reserve(tokens.size() * kBytesPerTokenUsual);
    for (const std::uint32_t token : tokens) {
        if (!has_token(token))
            return fail(ErrorCode::kOutOfRange,
                        "token " + std::to_string(token) + " does not exist in " + data_->name +
                            ", whose vocabulary is " + std::to_string(vocabulary()) +
                            ": use the tokenizer that made the data");
        out += data_->texts[token];
    }
    return out;
}

std::uint32_t Tokenizer::vocabulary() const {
    return static_cast<std::uint32_t>(data_->texts.size());
}
bool Tokenizer::has_token(std::uint32_t id) const {
    return id < data_->texts.size() && !data_->texts[id].empty();
}
std::string Tokenizer::name() const {
    return data_->name;
}
std::optional<std::uint32_t> Tokenizer::end_of_text() const {
    return data_->definition.end_of_text;
}
std::optional<std::uint32_t> Tokenizer::find_special(std::string_view text) const {
    const auto found = std::ranges::find(data_->special, text, &SpecialToken::text);
    if (found == data_->special.end()) return std::nullopt;
    return found->id;
}
const std::vector<SpecialToken>& Tokenizer::special_tokens() const {
    return data_->special;
}
std::uint32_t Tokenizer::tokens() const {
    return static_cast<std::uint32_t>(
        std::ranges::count_if(data_->texts, [](std::string_view text) { return !text.empty(); }));
}
std::uint32_t Tokenizer::merges() const {
    return static_cast<std::uint32_t>(data_->definition.merges.size());
}
std::vector<std::string> Tokenizer::patterns() const {
    std::vector<std::string> out;
    for (const Step& step : data_->definition.steps)
        if (step.kind == Step::Kind::kSplit) out.push_back(step.pattern);
    return out;
}
const Digest& Tokenizer::root() const {
    return data_->root;
}

Digest dataset_root(const Digest& tokenizer_root) {
    return tokenizer_root == Tokenizer::bytes().root() ? Digest() : tokenizer_root;
}

const std::vector<TokenizerFile>& Tokenizer::files() const {
    std::call_once(data_->files_made, [&] {
        const auto add = [&](const char* name, const auto& make) {
            if (std::ranges::find(data_->files, name, &TokenizerFile::name) != data_->files.end())
                return;
            const std::string text = make(data_->definition);
            data_->files.push_back({name, Bytes(text.begin(), text.end())});
        };
        add("tokenizer.json", write_tokenizer_json);
        add("tokenizer_config.json", write_tokenizer_config);
    });
    return data_->files;
}

}  // namespace gym::tokenizer
