#include <utility>

#include "gym/data/encoder.hpp"

namespace gym::data {
namespace {

class BpeEncoder final : public Encoder {
  public:
    explicit BpeEncoder(tokenizer::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}
    [[nodiscard]] std::string name() const override {
        return tokenizer_.name() + " " + tokenizer_.root().hex();
    }
    [[nodiscard]] std::uint32_t vocabulary() const override { return tokenizer_.vocabulary(); }
    [[nodiscard]] Digest tokenizer_root() const override {
        return tokenizer::dataset_root(tokenizer_.root());
    }
    [[nodiscard]] std::optional<std::uint32_t> end_of_text() const override {
        return tokenizer_.end_of_text();
    }
    Status encode(std::string_view text, std::vector<std::uint32_t>& tokens) override {
        GYM_TRY(const std::vector<std::uint32_t> ids, tokenizer_.encode(text));
        tokens.insert(tokens.end(), ids.begin(), ids.end());
        return {};
    }

  private:
    tokenizer::Tokenizer tokenizer_;
};

}  // namespace

std::unique_ptr<Encoder> bpe_encoder(const tokenizer::Tokenizer& tokenizer) {
    return std::make_unique<BpeEncoder>(tokenizer);
}

}  // namespace gym::data
