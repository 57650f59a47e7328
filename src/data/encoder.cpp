#include "gym/data/encoder.hpp"

#include "gym/blob/dataset.hpp"

namespace gym::data {
namespace {

class ByteEncoder final : public Encoder {
  public:
    [[nodiscard]] std::string name() const override { return "bytes"; }
    [[nodiscard]] std::uint32_t vocabulary() const override { return blob::kByteVocabulary; }
    [[nodiscard]] Digest tokenizer_root() const override { return {}; }
    [[nodiscard]] std::optional<std::uint32_t> end_of_text() const override { return std::nullopt; }
    Status encode(std::string_view text, std::vector<std::uint32_t>& tokens) override {
        tokens.reserve(tokens.size() + text.size());
        for (const char c : text)
            tokens.push_back(static_cast<unsigned char>(c));
        return {};
    }
};

}  // namespace

std::unique_ptr<Encoder> byte_encoder() {
    return std::make_unique<ByteEncoder>();
}

}  // namespace gym::data
