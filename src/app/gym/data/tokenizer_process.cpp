#include "data/tokenizer_process.hpp"

#include <filesystem>
#include <utility>
#include <vector>

#include "cli/cli_context.hpp"
#include "gym/common/data_folder.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/common/temporary_folder.hpp"

namespace gym::app {
namespace {

constexpr int kTokenizeMsMax = 12 * 3600 * 1000;  // 8 GiB of text take about half an hour

/// A folder of our own for the files that go to and fro.
class Exchange {
  public:
    static Result<Exchange> create() {
        GYM_TRY(TemporaryFolder folder, TemporaryFolder::create("gym-tokens"));
        return Exchange(std::move(folder));
    }
    [[nodiscard]] std::filesystem::path input() const { return folder_ / "input"; }
    [[nodiscard]] std::filesystem::path output() const { return folder_ / "output"; }

    /// Runs `gym-tokenizer COMMAND` on input(), which makes output().
    [[nodiscard]] Status run(const char* command, const std::string& model) const {
        const std::filesystem::path log = folder_ / "log";
        GYM_TRY(Subprocess child,
                Subprocess::start({.argv = {program_folder() / "gym-tokenizer", command, "--model",
                                            model, "--input", input(), "--output", output()},
                                   .env = {},
                                   .log_file = log,
                                   .folder = {},
                                   .with_secrets = false}));
        GYM_TRY(const int code, child.wait(kTokenizeMsMax));
        if (code == static_cast<int>(ExitCode::kOk)) return {};
        GYM_TRY(const Bytes said, read_file(log));
        return fail(code == static_cast<int>(ExitCode::kUsage) ? ErrorCode::kInvalidArgument
                                                               : ErrorCode::kIo,
                    message_in(said, code));
    }

  private:
    explicit Exchange(TemporaryFolder folder) : folder_(std::move(folder)) {}
    /// The program's own message; its library logs lines before it.
    static std::string message_in(const Bytes& said, int code) {
        constexpr std::string_view kBegin = "gym-tokenizer: ";
        std::string text(said.begin(), said.end());
        while (text.ends_with('\n'))
            text.pop_back();
        const auto begin = text.rfind(kBegin);
        if (begin != std::string::npos) return text.substr(begin + kBegin.size());
        return "gym-tokenizer ended with code " + std::to_string(code) + ": " + text;
    }

    TemporaryFolder folder_;
};

}  // namespace

Result<blob::Dataset> tokenize(const std::string& model, ByteView text) {
    GYM_TRY(const Exchange exchange, Exchange::create());
    GYM_CHECK(write_file_atomic(exchange.input(), text, 0600));
    GYM_CHECK(exchange.run("encode", model));
    return blob::Dataset::load(exchange.output(), std::nullopt);
}

Result<std::string> detokenize(const std::string& model, std::span<const std::int32_t> tokens) {
    if (tokens.empty()) return std::string();
    GYM_TRY(const Exchange exchange, Exchange::create());
    const std::vector<std::uint32_t> ids(tokens.begin(), tokens.end());
    GYM_TRY(const auto dataset,
            blob::Dataset::from_tokens(ids, blob::Tokenization{blob::kVocabularyMax, {}}));
    GYM_CHECK(write_file_atomic(exchange.input(), dataset.encode(), 0600));
    GYM_CHECK(exchange.run("decode", model));
    GYM_TRY(const Bytes text, read_file(exchange.output()));
    return std::string(text.begin(), text.end());
}

}  // namespace gym::app
