#include "parquet_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "gym/common/data_folder.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/common/temporary_folder.hpp"
#include "gym/data/byte_source.hpp"
#include "record_readers.hpp"

namespace gym::data {
namespace {

constexpr int kEndMsMax = 10'000;  // after it has closed its output
constexpr std::size_t kSaidBytesMax = 2'000;

/// What a child writes to its standard output; an error if the child ends with one.
class ChildOutput final : public ByteSource {
  public:
    static Result<std::unique_ptr<ByteSource>> start(std::vector<std::string> argv) {
        GYM_TRY(TemporaryFolder folder, TemporaryFolder::create("gym-parquet"));
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0)
            return fail(ErrorCode::kIo, std::string("cannot make a pipe: ") + std::strerror(errno));
        auto child = Subprocess::start({.argv = std::move(argv),
                                        .env = {},
                                        .log_file = folder / "log",
                                        .folder = {},
                                        .output = ends[1],
                                        .with_secrets = false});
        ::close(ends[1]);
        if (!child.ok()) {
            ::close(ends[0]);
            return child.error();
        }
        return std::unique_ptr<ByteSource>(
            new ChildOutput(std::move(*child), std::move(folder), ends[0]));
    }
    ChildOutput(const ChildOutput&) = delete;
    ChildOutput& operator=(const ChildOutput&) = delete;
    ~ChildOutput() override { ::close(pipe_); }

    Result<std::size_t> read(std::span<std::uint8_t> out) override {
        if (ended_) return std::size_t{0};
        while (true) {
            const ssize_t got = ::read(pipe_, out.data(), out.size());
            if (got > 0) return static_cast<std::size_t>(got);
            if (got == 0) break;
            if (errno != EINTR)
                return fail(ErrorCode::kIo,
                            std::string("reading Parquet: ") + std::strerror(errno));
        }
        ended_ = true;
        GYM_TRY(const int code, child_.wait(kEndMsMax));
        if (code == 0) return std::size_t{0};
        GYM_TRY(const Bytes said, read_file(folder_ / "log"));
        std::string text(said.begin(), said.begin() + static_cast<std::ptrdiff_t>(
                                                          std::min(said.size(), kSaidBytesMax)));
        while (text.ends_with('\n'))
            text.pop_back();
        return fail(ErrorCode::kMalformed, text);
    }

  private:
    ChildOutput(Subprocess child, TemporaryFolder folder, int pipe)
        : child_(std::move(child)), folder_(std::move(folder)), pipe_(pipe) {}
    Subprocess child_;
    TemporaryFolder folder_;
    int pipe_;
    bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<RecordReader>> open_parquet(const std::filesystem::path& path) {
    const std::filesystem::path tool = data_folder() / "tools" / "parquet";
    if (std::error_code error; !std::filesystem::exists(tool / "node_modules" / "hyparquet", error))
        return fail(ErrorCode::kNotFound,
                    "Parquet files need the npm packages of " + tool.string() +
                        ": run `npm ci` there (`make setup` does it), or convert the file to "
                        "JSON lines");
    auto output = ChildOutput::start({"node", (tool / "read_parquet.mjs").string(), path.string()});
    if (!output.ok() && output.error().code == ErrorCode::kNotFound)
        return fail(ErrorCode::kNotFound,
                    "Parquet files need Node.js: install Debian's nodejs, or convert the file to "
                    "JSON lines");
    if (!output.ok()) return output.error();
    return json_lines(std::move(*output));
}

}  // namespace gym::data
