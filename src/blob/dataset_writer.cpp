#include "gym/blob/dataset_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gym/blob/read_once.hpp"
#include "gym/common/descriptor.hpp"

namespace gym::blob {
namespace {

constexpr std::size_t kPartTokens = std::size_t{1} << 16;

/// A token file may be large: says what helps where the disk is full.
Error system_error_of(const std::filesystem::path& path, const char* action) {
    const bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    Error error = system_error(path, action);
    if (full) error.message += "; make room and run the command again";
    return error;
}

/// Fills `out` as far as the file reaches.
Result<std::size_t> read_full(int file, std::span<std::uint8_t> out,
                              const std::filesystem::path& path) {
    std::size_t used = 0;
    while (used < out.size()) {
        const ssize_t got = ::read(file, out.data() + used, out.size() - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return system_error_of(path, "read");
        if (got == 0) break;
        used += static_cast<std::size_t>(got);
    }
    return used;
}

using Visit = FunctionRef<Status(ByteView, TokenView)>;
/// Fills all of a span with the next bytes.
using Fill = FunctionRef<Status(std::span<std::uint8_t>)>;

/// Calls `visit` with the next header.tokens tokens, a part at a time.
Status read_tokens(Fill fill, const DatasetHeader& header, Visit visit) {
    Bytes bytes(kPartTokens * header.token_bytes());
    std::vector<std::uint32_t> tokens(kPartTokens);
    for (std::uint64_t done = 0; done < header.tokens;) {
        const std::size_t part = std::min<std::uint64_t>(kPartTokens, header.tokens - done);
        const std::span<std::uint8_t> body = std::span(bytes).first(part * header.token_bytes());
        GYM_CHECK(fill(body));
        for (std::size_t i = 0; i < part; ++i)
            tokens[i] = token_at(header, body, i);
        GYM_CHECK(visit(body, std::span<const std::uint32_t>(tokens).first(part)));
        done += part;
    }
    return {};
}

/// The same from where an open file is.
Status read_tokens(int file, const std::filesystem::path& path, const DatasetHeader& header,
                   Visit visit) {
    return read_tokens(
        [&](std::span<std::uint8_t> body) -> Status {
            GYM_TRY(const std::size_t got, read_full(file, body, path));
            if (got == body.size()) return {};
            return fail(ErrorCode::kMalformed, "the token file ends within its tokens");
        },
        header, visit);
}

/// The head at the start of an open file, which is then at the first token.
Result<DatasetHeader> read_header(int file, const std::filesystem::path& path,
                                  std::uint64_t file_bytes) {
    Bytes first(kDatasetHeaderBytesMax);
    GYM_TRY(const std::size_t got, read_full(file, first, path));
    GYM_TRY(const DatasetHeader header,
            read_dataset_header(ByteView(first).first(got), file_bytes));
    if (::lseek(file, static_cast<off_t>(header.size_bytes()), SEEK_SET) < 0)
        return system_error_of(path, "read");
    return header;
}

struct OpenFile {
    Descriptor descriptor;
    std::uint64_t bytes = 0;
};

Result<OpenFile> open_file(const std::filesystem::path& path) {
    struct stat info {};
    OpenFile out{Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC))};
    if (out.descriptor.get() < 0 || ::fstat(out.descriptor.get(), &info) != 0)
        return system_error_of(path, "open");
    if (!S_ISREG(info.st_mode))
        return fail(ErrorCode::kIo, "cannot read " + path.string() + ": it is not a regular file");
    out.bytes = static_cast<std::uint64_t>(info.st_size);
    return out;
}

DatasetSummary summary_of(const DatasetHeader& header, const commit::ChunkTreeHasher& hasher) {
    return {.root = header.root(hasher.root()),
            .vocabulary = header.tokenization.vocabulary,
            .tokens = header.tokens,
            .file_bytes = header.file_bytes(),
            .tokenizer = header.tokenization.tokenizer};
}

/// Checks and hashes tokens on their way to who asked for them.
class Scan {
  public:
    Scan(const DatasetHeader& header, const std::optional<FunctionRef<Status(TokenView)>>& visit)
        : header_(header), visit_(visit) {}
    Status add(ByteView body, TokenView tokens) {
        GYM_CHECK(check_tokens(tokens, header_.tokenization.vocabulary, done_));
        hasher_.update(body);
        done_ += tokens.size();
        return visit_ ? (*visit_)(tokens) : Status();
    }
    [[nodiscard]] DatasetSummary summary() const { return summary_of(header_, hasher_); }

  private:
    const DatasetHeader& header_;
    const std::optional<FunctionRef<Status(TokenView)>>& visit_;
    commit::ChunkTreeHasher hasher_;
    std::uint64_t done_ = 0;
};

}  // namespace

Status DatasetSummary::check_windows(std::uint64_t length) const {
    const auto check = [&](const char* part, std::uint64_t available) -> Status {
        if (available >= length) return {};
        return fail(ErrorCode::kInvalidArgument, std::string("the text is too short: its ") + part +
                                                     " part has " + std::to_string(available) +
                                                     " tokens, one window needs " +
                                                     std::to_string(length));
    };
    GYM_CHECK(check("training", train_tokens()));
    return check("validation", validation_tokens());
}

DatasetWriter::DatasetWriter(int file, std::filesystem::path path, const Tokenization& tokenization)
    : file_(file), path_(std::move(path)), header_{tokenization, 0} {}

DatasetWriter::DatasetWriter(DatasetWriter&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      header_(other.header_),
      hasher_(std::move(other.hasher_)),
      buffer_(std::move(other.buffer_)) {}

DatasetWriter::~DatasetWriter() {
    if (file_ >= 0) ::close(file_);
}

Error DatasetWriter::system_error(const char* action) const {
    return system_error_of(path_, action);
}

Result<DatasetWriter> DatasetWriter::create(const std::filesystem::path& path,
                                            const Tokenization& tokenization) {
    GYM_CHECK(check_tokenization(tokenization));
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return system_error_of(path, "create");
    DatasetWriter out(file, path, tokenization);
    GYM_CHECK(out.write(out.header_.encode()));
    return out;
}

Result<DatasetWriter> DatasetWriter::create(const std::filesystem::path& path,
                                            std::uint32_t vocabulary) {
    GYM_CHECK(check_narrow_vocabulary(vocabulary));
    return create(path, Tokenization{vocabulary, {}});
}

Result<DatasetWriter> DatasetWriter::resume(const std::filesystem::path& path,
                                            const Tokenization& tokenization,
                                            std::uint64_t tokens) {
    GYM_CHECK(check_tokenization(tokenization));
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return system_error_of(path, "open");
    DatasetWriter out(file, path, tokenization);
    Bytes first(out.header_.size_bytes());
    GYM_TRY(const std::size_t got, read_full(file, first, path));
    GYM_TRY(const DatasetHeader found, read_unfinished_header(ByteView(first).first(got)));
    if (found.tokenization != tokenization)
        return fail(ErrorCode::kMalformed,
                    path.string() + " was begun with another vocabulary or tokenizer");
    DatasetHeader kept = out.header_;
    kept.tokens = tokens;
    GYM_CHECK(read_tokens(file, path, kept, [&](ByteView body, TokenView) -> Status {
        out.hasher_.update(body);
        return {};
    }));
    out.header_ = kept;
    if (::ftruncate(file, static_cast<off_t>(kept.file_bytes())) != 0)
        return out.system_error("cut");
    return out;
}

Status DatasetWriter::write(ByteView bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file_, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return system_error("write");
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

Status DatasetWriter::append(TokenView tokens) {
    GYM_CHECK(check_tokens(tokens, header_.tokenization.vocabulary, header_.tokens));
    if (tokens.size() > kDatasetTokensMax - header_.tokens)
        return fail(ErrorCode::kOutOfRange,
                    "a dataset has at most " + std::to_string(kDatasetTokensMax) + " tokens");
    while (!tokens.empty()) {
        const TokenView part = tokens.first(std::min(tokens.size(), kPartTokens));
        buffer_.clear();
        append_tokens(header_, part, buffer_);
        GYM_CHECK(write(buffer_));
        hasher_.update(buffer_);
        header_.tokens += part.size();
        tokens = tokens.last(tokens.size() - part.size());
    }
    return {};
}

Status DatasetWriter::sync() {
    if (::fdatasync(file_) != 0) return system_error("write");
    return {};
}

Result<DatasetSummary> DatasetWriter::finish(const std::filesystem::path& final_path) {
    if (header_.tokens == 0)
        return fail(ErrorCode::kInvalidArgument, "a dataset needs at least one token");
    const Bytes first = header_.encode();
    if (::pwrite(file_, first.data(), first.size(), 0) != static_cast<ssize_t>(first.size()) ||
        ::fsync(file_) != 0 || ::close(std::exchange(file_, -1)) != 0)
        return system_error("write");
    if (::rename(path_.c_str(), final_path.c_str()) != 0)
        return system_error_of(final_path, "rename the finished file to");
    return summary_of(header_, hasher_);
}

Result<DatasetSummary> scan_dataset(const std::filesystem::path& path,
                                    std::optional<FunctionRef<Status(TokenView)>> visit) {
    GYM_TRY(const OpenFile file, open_file(path));
    const auto in = [&](const Error& error) { return error.in(path.string()); };
    const auto header = read_header(file.descriptor.get(), path, file.bytes);
    if (!header.ok()) return in(header.error());
    Scan scan(*header, visit);
    const Status read =
        read_tokens(file.descriptor.get(), path, *header,
                    [&](ByteView body, TokenView tokens) { return scan.add(body, tokens); });
    if (!read.ok()) return in(read.error());
    return scan.summary();
}

Result<DatasetSummary> scan_dataset(const BlobReader& file,
                                    std::optional<FunctionRef<Status(TokenView)>> visit) {
    Bytes first(std::min<std::uint64_t>(kDatasetHeaderBytesMax, file.size()));
    GYM_CHECK(file.read(0, first));
    GYM_TRY(const DatasetHeader header, read_dataset_header(first, file.size()));
    Scan scan(header, visit);
    std::uint64_t at = header.size_bytes();
    const auto fill = [&](std::span<std::uint8_t> body) -> Status {
        GYM_CHECK(file.read(at, body));
        at += body.size();
        return {};
    };
    GYM_CHECK(read_tokens(fill, header,
                          [&](ByteView body, TokenView tokens) { return scan.add(body, tokens); }));
    return scan.summary();
}

Result<DatasetHeader> peek_dataset(const std::filesystem::path& path) {
    GYM_TRY(const OpenFile file, open_file(path));
    auto header = read_header(file.descriptor.get(), path, file.bytes);
    if (!header.ok()) return header.error().in(path.string());
    return header;
}

}  // namespace gym::blob
