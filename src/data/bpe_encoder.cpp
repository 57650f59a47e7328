#include <utility>

#include "gym/data/encoder.hpp"

namespace gym::data {
namespace {

constexpr std::uint32_t kVocabularyMax = 65536;  // of u16 tokens

class BpeEncoder final : public Encoder {
  public:
    explicit BpeEncoder(tokenizer::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}
    [[nodiscard]] std::string name() const override {
        return tokenizer_.name() + " " + tokenizer_.root().hex();
    }
    [[nodiscard]] std::uint32_t vocabulary() const override { return tokenizer_.vocabulary(); }
    [[nodiscard]] std::optional<std::uint32_t> end_of_text() const override {
        return tokenizer_.end_of_text();
    }
    Status encode(std::string_view text, std::vector<std::uint16_t>& tokens) override {
        GYM_TRY(const std::vector<std::uint32_t> ids, tokenizer_.encode(text));
        tokens.reserve(tokens.size() + ids.size());
        for (const std::uint32_t id : ids)
            tokens.push_back(static_cast<std::uint16_t>(id));
        return {};
    }

  private:
    tokenizer::Tokenizer tokenizer_;
};

}  // namespace

Result<std::unique_ptr<Encoder>> bpe_encoder(const tokenizer::Tokenizer& tokenizer) {
    if (tokenizer.vocabulary() > kVocabularyMax)
        return fail(ErrorCode::kOutOfRange,
                    tokenizer.name() + " has " + std::to_string(tokenizer.vocabulary()) +
                        " tokens, and token files hold at most 65536: choose a smaller tokenizer");
    return std::unique_ptr<Encoder>(std::make_unique<BpeEncoder>(tokenizer));
}

}  // namespace gym::data
