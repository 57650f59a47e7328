#include "sentence_piece.hpp"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <boost/locale/utf.hpp>
#include <string_view>
#include <utility>

#include "gym/common/file.hpp"

namespace gym::app {
namespace {

constexpr int kPiecesMax = 1 << 20;  // of token files
constexpr std::uint64_t kModelBytesMax = std::uint64_t{1} << 30;

std::string_view view_of(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status check_utf8(std::string_view text) {
    using Utf8 = boost::locale::utf::utf_traits<char>;
    for (const char* at = text.begin(); at != text.end();) {
        const char* const begin = at;
        const auto code = Utf8::decode(at, text.end());
        if (code == boost::locale::utf::illegal || code == boost::locale::utf::incomplete)
            return fail(ErrorCode::kMalformed, "the text is not UTF-8 (byte " +
                                                   std::to_string(begin - text.begin()) +
                                                   "); convert it, for instance with iconv");
    }
    return {};
}

std::optional<int> line_end_of(const sentencepiece::SentencePieceProcessor& model) {
    for (const std::string_view piece : {"\n", "<0x0A>"}) {
        const int id = model.PieceToId(piece);  // the unknown piece's if there is no such piece
        if (model.IdToPiece(id) == piece) return id;
    }
    if (model.eos_id() >= 0) return model.eos_id();
    return std::nullopt;
}

}  // namespace

struct SentencePiece::Impl {
    sentencepiece::SentencePieceProcessor model;
    std::optional<int> line_end;
};

SentencePiece::SentencePiece(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SentencePiece::SentencePiece(SentencePiece&&) noexcept = default;
SentencePiece& SentencePiece::operator=(SentencePiece&&) noexcept = default;
SentencePiece::~SentencePiece() = default;

Result<SentencePiece> SentencePiece::load(const std::string& model_path) {
    GYM_TRY(const Bytes file, read_file(model_path, kModelBytesMax));
    auto impl = std::make_unique<Impl>();
    const auto status = impl->model.LoadFromSerializedProto(view_of(file));
    if (!status.ok() || impl->model.GetPieceSize() < 1)
        return fail(ErrorCode::kMalformed, model_path + " is not a SentencePiece model");
    if (impl->model.GetPieceSize() > kPiecesMax)
        return fail(ErrorCode::kOutOfRange,
                    model_path + " has " + std::to_string(impl->model.GetPieceSize()) +
                        " pieces; token files name at most " + std::to_string(kPiecesMax) +
                        ": train it with a smaller --vocab_size");
    impl->line_end = line_end_of(impl->model);
    return SentencePiece(std::move(impl));
}

std::uint32_t SentencePiece::pieces() const {
    return static_cast<std::uint32_t>(impl_->model.GetPieceSize());
}

std::optional<std::uint32_t> SentencePiece::end_of_sentence() const {
    if (impl_->model.eos_id() < 0) return std::nullopt;
    return static_cast<std::uint32_t>(impl_->model.eos_id());
}

Result<std::vector<std::uint32_t>> SentencePiece::encode(ByteView text) const {
    std::string_view rest = view_of(text);
    GYM_CHECK(check_utf8(rest));
    std::vector<std::uint32_t> tokens;
    std::vector<int> line_tokens;
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        const auto status = impl_->model.Encode(rest.substr(0, end), &line_tokens);
        if (!status.ok()) return fail(ErrorCode::kInternal, status.ToString());
        tokens.insert(tokens.end(), line_tokens.begin(), line_tokens.end());
        if (end == std::string_view::npos) break;
        if (impl_->line_end) tokens.push_back(static_cast<std::uint32_t>(*impl_->line_end));
        rest.remove_prefix(end + 1);
    }
    if (tokens.empty())
        return fail(ErrorCode::kInvalidArgument, "the text gives no token: is it empty?");
    return tokens;
}

Result<std::string> SentencePiece::decode(TokenView tokens) const {
    std::string text;
    auto begin = tokens.begin();
    while (true) {
        const auto end = std::ranges::find_if(begin, tokens.end(), [&](std::uint32_t id) {
            return impl_->line_end && id == static_cast<std::uint32_t>(*impl_->line_end);
        });
        const std::vector<int> line(begin, end);
        if (const auto bad = std::ranges::find_if(
                line, [&](int id) { return id >= impl_->model.GetPieceSize(); });
            bad != line.end())
            return fail(ErrorCode::kOutOfRange,
                        "token " + std::to_string(*bad) + " is not among the model's " +
                            std::to_string(pieces()) + " pieces: use the model that made the data");
        std::string line_text;
        const auto status = impl_->model.Decode(line, &line_text);
        if (!status.ok()) return fail(ErrorCode::kInternal, status.ToString());
        text += line_text;
        if (end == tokens.end()) return text;
        text += '\n';
        begin = end + 1;
    }
}

}  // namespace gym::app
