#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "gym/commit/sha256.hpp"
#include "gym/common/data_folder.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/common/temporary_folder.hpp"
#include "gym/data/encoder.hpp"

namespace gym::data {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;
constexpr std::uint64_t kModelBytesMax = std::uint64_t{1} << 30;
constexpr int kEncoderEndMsMax = 10'000;

/// A gym-tokenizer process that answers texts with tokens (`gym-tokenizer serve`): a frame is a
/// count, u32 of this machine, and so many bytes or u32 tokens. One end of a socket pair is its
/// standard input and output.
class SentencePieceEncoder final : public Encoder {
  public:
    static Result<std::unique_ptr<Encoder>> start(const std::string& model) {
        GYM_TRY(const Bytes file, read_file(model, kModelBytesMax));
        GYM_TRY(TemporaryFolder folder, TemporaryFolder::create("gym-tokens"));
        std::array<int, 2> ends{};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
            return fail(ErrorCode::kIo, std::string("no socket pair: ") + std::strerror(errno));
        auto child = Subprocess::start(
            {.argv = {program_folder() / "gym-tokenizer", "serve", "--model", model},
             .env = {},
             .log_file = folder / "log",
             .folder = {},
             .input = ends[1],
             .output = ends[1],
             .with_secrets = false});
        ::close(ends[1]);
        if (!child.ok()) {
            ::close(ends[0]);
            return child.error();
        }
        auto out = std::unique_ptr<SentencePieceEncoder>(new SentencePieceEncoder(
            std::move(*child), std::move(folder), ends[0], commit::sha256(file)));
        GYM_CHECK(out->read(&out->vocabulary_, sizeof out->vocabulary_));
        GYM_CHECK(out->read(&out->end_of_text_, sizeof out->end_of_text_));
        return std::unique_ptr<Encoder>(std::move(out));
    }
    SentencePieceEncoder(const SentencePieceEncoder&) = delete;
    SentencePieceEncoder& operator=(const SentencePieceEncoder&) = delete;
    ~SentencePieceEncoder() override {
        ::close(socket_);  // the child ends
        (void)child_.wait(kEncoderEndMsMax);
    }

    [[nodiscard]] std::string name() const override { return "sentencepiece " + root_.hex(); }
    [[nodiscard]] Digest tokenizer_root() const override { return root_; }
    [[nodiscard]] std::uint32_t vocabulary() const override { return vocabulary_; }
    [[nodiscard]] std::optional<std::uint32_t> end_of_text() const override {
        return end_of_text_ == kNone ? std::nullopt : std::optional(end_of_text_);
    }
    Status encode(std::string_view text, std::vector<std::uint32_t>& tokens) override {
        const auto size = static_cast<std::uint32_t>(text.size());
        GYM_CHECK(write(&size, sizeof size));
        GYM_CHECK(write(text.data(), text.size()));
        std::uint32_t count = 0;
        GYM_CHECK(read(&count, sizeof count));
        constexpr std::uint64_t kTokensPerByteMax = 4;
        if (count > kTokensPerByteMax * (std::uint64_t{size} + 16))
            return fail(ErrorCode::kInternal, "gym-tokenizer answers more tokens than bytes");
        const std::size_t used = tokens.size();
        tokens.resize(used + count);
        return read(tokens.data() + used, count * sizeof(std::uint32_t));
    }

  private:
    SentencePieceEncoder(Subprocess child, TemporaryFolder folder, int socket, const Digest& root)
        : child_(std::move(child)), folder_(std::move(folder)), socket_(socket), root_(root) {}

    Status write(const void* data, std::size_t size) {
        for (const char* at = static_cast<const char*>(data); size > 0;) {
            const ssize_t sent = ::send(socket_, at, size, MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) continue;
            if (sent <= 0) return ended();
            at += sent;
            size -= static_cast<std::size_t>(sent);
        }
        return {};
    }
    Status read(void* data, std::size_t size) {
        for (char* at = static_cast<char*>(data); size > 0;) {
            const ssize_t got = ::recv(socket_, at, size, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return ended();
            at += got;
            size -= static_cast<std::size_t>(got);
        }
        return {};
    }
    /// The process's own message; its library logs lines before it.
    Error ended() {
        constexpr std::string_view kBegin = "gym-tokenizer: ";
        const auto code = child_.wait(kEncoderEndMsMax);
        const auto said = read_file(folder_ / "log");
        std::string text = said.ok() ? std::string(said->begin(), said->end()) : std::string();
        while (text.ends_with('\n'))
            text.pop_back();
        if (const auto at = text.rfind(kBegin); at != std::string::npos)
            text.erase(0, at + kBegin.size());
        constexpr int kUsage = 2;
        return fail(code.ok() && *code == kUsage ? ErrorCode::kInvalidArgument : ErrorCode::kIo,
                    text.empty() ? "gym-tokenizer ended" : text);
    }

    Subprocess child_;
    TemporaryFolder folder_;
    int socket_;
    Digest root_;
    std::uint32_t vocabulary_ = 0;
    std::uint32_t end_of_text_ = kNone;
};

}  // namespace

Result<std::unique_ptr<Encoder>> sentence_piece_encoder(const std::string& model) {
    return SentencePieceEncoder::start(model);
}

}  // namespace gym::data
