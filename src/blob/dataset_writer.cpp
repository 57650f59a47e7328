#include "gym/blob/dataset_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gym/blob/dataset.hpp"
#include "gym/commit/codec.hpp"

namespace gym::blob {
namespace {

constexpr std::string_view kMagic = "GYMDATA1";
constexpr std::uint32_t kVocabularyMax = 65536;  // what u16 tokens can name
constexpr std::size_t kHeaderBytes = 8 + 4 + 8;
constexpr std::size_t kPartTokens = std::size_t{1} << 16;

Bytes header(std::uint32_t vocabulary, std::uint64_t tokens) {
    commit::Encoder out;
    out.raw(as_bytes(kMagic)).u32(vocabulary).u64(tokens);
    return out.take();
}

struct Header {
    std::uint32_t vocabulary = 0;
    std::uint64_t tokens = 0;
};

Result<Header> read_header(ByteView bytes) {
    if (bytes.empty()) return fail(ErrorCode::kMalformed, "the token file is empty");
    if (bytes.size() < kMagic.size() ||
        !std::ranges::equal(bytes.first(kMagic.size()), as_bytes(kMagic)))
        return fail(ErrorCode::kMalformed, "not a token file (it does not start with GYMDATA1)");
    commit::Decoder in(bytes.subspan(kMagic.size()));
    Header out;
    GYM_TRY(out.vocabulary, in.u32());
    GYM_TRY(out.tokens, in.u64());
    return out;
}

Status check_vocabulary(std::uint32_t vocabulary) {
    if (vocabulary > 0 && vocabulary <= kVocabularyMax) return {};
    return fail(ErrorCode::kOutOfRange, "vocabulary " + std::to_string(vocabulary) +
                                            " is outside [1, " + std::to_string(kVocabularyMax) +
                                            "], which token files of 16 bits can hold");
}

Error system_error_of(const std::filesystem::path& path, const char* action) {
    const int reason = errno;
    std::string message =
        std::string("cannot ") + action + " " + path.string() + ": " + std::strerror(reason);
    if (reason == ENOSPC || reason == EDQUOT || reason == EFBIG)
        message += "; make room and run the command again";
    return fail(reason == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo, std::move(message));
}

class Descriptor {
  public:
    explicit Descriptor(int value) : value_(value) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    [[nodiscard]] int get() const { return value_; }
    [[nodiscard]] int release() { return std::exchange(value_, -1); }

  private:
    int value_;
};

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

using Visit = FunctionRef<Status(ByteView, std::span<const std::uint16_t>)>;

/// Calls `visit` with the next `count` tokens, a part at a time.
Status read_tokens(int file, const std::filesystem::path& path, std::uint64_t count, Visit visit) {
    Bytes bytes(kPartTokens * 2);
    std::vector<std::uint16_t> tokens(kPartTokens);
    for (std::uint64_t done = 0; done < count;) {
        const std::size_t part = std::min<std::uint64_t>(kPartTokens, count - done);
        const std::span<std::uint8_t> body = std::span(bytes).first(part * 2);
        GYM_TRY(const std::size_t got, read_full(file, body, path));
        if (got != body.size())
            return fail(ErrorCode::kMalformed, "the token file ends within its tokens");
        for (std::size_t i = 0; i < part; ++i)
            tokens[i] = static_cast<std::uint16_t>(body[2 * i] | body[2 * i + 1] << 8);
        GYM_CHECK(visit(body, std::span(tokens).first(part)));
        done += part;
    }
    return {};
}

Status check_tokens(std::span<const std::uint16_t> tokens, std::uint32_t vocabulary,
                    std::uint64_t first) {
    const auto largest = std::ranges::max_element(tokens);
    if (tokens.empty() || *largest < vocabulary) return {};
    return fail(ErrorCode::kOutOfRange,
                "token " +
                    std::to_string(first + static_cast<std::uint64_t>(largest - tokens.begin())) +
                    " is " + std::to_string(*largest) + ", the vocabulary has " +
                    std::to_string(vocabulary));
}

Digest root_of(std::uint64_t tokens, const commit::ChunkTreeHasher& hasher) {
    return commit::tensor_digest(commit::DType::kU16, {&tokens, 1}, hasher.root());
}

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

DatasetWriter::DatasetWriter(int file, std::filesystem::path path, std::uint32_t vocabulary)
    : file_(file), path_(std::move(path)), vocabulary_(vocabulary) {}

DatasetWriter::DatasetWriter(DatasetWriter&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      path_(std::move(other.path_)),
      vocabulary_(other.vocabulary_),
      tokens_(other.tokens_),
      hasher_(std::move(other.hasher_)),
      buffer_(std::move(other.buffer_)) {}

DatasetWriter::~DatasetWriter() {
    if (file_ >= 0) ::close(file_);
}

Error DatasetWriter::system_error(const char* action) const {
    return system_error_of(path_, action);
}

Result<DatasetWriter> DatasetWriter::create(const std::filesystem::path& path,
                                            std::uint32_t vocabulary) {
    GYM_CHECK(check_vocabulary(vocabulary));
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return system_error_of(path, "create");
    DatasetWriter out(file, path, vocabulary);
    GYM_CHECK(out.write(header(vocabulary, 0)));
    return out;
}

Result<DatasetWriter> DatasetWriter::resume(const std::filesystem::path& path,
                                            std::uint32_t vocabulary, std::uint64_t tokens) {
    GYM_CHECK(check_vocabulary(vocabulary));
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return system_error_of(path, "open");
    DatasetWriter out(file, path, vocabulary);
    Bytes first(kHeaderBytes);
    GYM_TRY(const std::size_t got, read_full(file, first, path));
    GYM_TRY(const Header found, read_header(ByteView(first).first(got)));
    if (found.vocabulary != vocabulary)
        return fail(ErrorCode::kMalformed, path.string() + " has another vocabulary");
    GYM_CHECK(read_tokens(file, path, tokens,
                          [&](ByteView body, std::span<const std::uint16_t>) -> Status {
                              out.hasher_.update(body);
                              return {};
                          }));
    out.tokens_ = tokens;
    if (::ftruncate(file, static_cast<off_t>(kHeaderBytes + tokens * 2)) != 0)
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

Status DatasetWriter::append(std::span<const std::uint16_t> tokens) {
    GYM_CHECK(check_tokens(tokens, vocabulary_, tokens_));
    if (tokens.size() > kDatasetTokensMax - tokens_)
        return fail(ErrorCode::kOutOfRange,
                    "a dataset has at most " + std::to_string(kDatasetTokensMax) + " tokens");
    while (!tokens.empty()) {
        const auto part = tokens.first(std::min(tokens.size(), kPartTokens));
        buffer_.resize(part.size() * 2);
        for (std::size_t i = 0; i < part.size(); ++i) {
            buffer_[2 * i] = static_cast<std::uint8_t>(part[i]);
            buffer_[2 * i + 1] = static_cast<std::uint8_t>(part[i] >> 8);
        }
        GYM_CHECK(write(buffer_));
        hasher_.update(buffer_);
        tokens_ += part.size();
        tokens = tokens.subspan(part.size());
    }
    return {};
}

Status DatasetWriter::sync() {
    if (::fdatasync(file_) != 0) return system_error("write");
    return {};
}

Result<DatasetSummary> DatasetWriter::finish(const std::filesystem::path& final_path) {
    if (tokens_ == 0)
        return fail(ErrorCode::kInvalidArgument, "a dataset needs at least one token");
    const Bytes first = header(vocabulary_, tokens_);
    if (::pwrite(file_, first.data(), first.size(), 0) != static_cast<ssize_t>(first.size()) ||
        ::fsync(file_) != 0 || ::close(std::exchange(file_, -1)) != 0)
        return system_error("write");
    if (::rename(path_.c_str(), final_path.c_str()) != 0)
        return system_error_of(final_path, "rename the finished file to");
    return DatasetSummary{.root = root_of(tokens_, hasher_),
                          .vocabulary = vocabulary_,
                          .tokens = tokens_,
                          .file_bytes = kHeaderBytes + tokens_ * 2};
}

Result<DatasetSummary> scan_dataset(
    const std::filesystem::path& path,
    std::optional<FunctionRef<Status(std::span<const std::uint16_t>)>> visit) {
    struct stat info {};
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0 || ::fstat(file.get(), &info) != 0) return system_error_of(path, "open");
    if (!S_ISREG(info.st_mode))
        return fail(ErrorCode::kIo, "cannot read " + path.string() + ": it is not a regular file");
    const auto in = [&](const Error& error) { return error.in(path.string()); };
    Bytes first(kHeaderBytes);
    GYM_TRY(const std::size_t got, read_full(file.get(), first, path));
    const auto header = read_header(ByteView(first).first(got));
    if (!header.ok()) return in(header.error());
    const auto body_bytes = static_cast<std::uint64_t>(info.st_size) - kHeaderBytes;
    if (header->tokens > kDatasetTokensMax || body_bytes != header->tokens * 2)
        return in(fail(ErrorCode::kMalformed,
                       "the token file declares " + std::to_string(header->tokens) +
                           " tokens and holds " + std::to_string(body_bytes) + " bytes of them"));
    if (header->tokens == 0)
        return in(fail(ErrorCode::kInvalidArgument, "a dataset needs at least one token"));
    if (const Status fits = check_vocabulary(header->vocabulary); !fits.ok())
        return in(fits.error());
    commit::ChunkTreeHasher hasher;
    std::uint64_t done = 0;
    const Status read =
        read_tokens(file.get(), path, header->tokens,
                    [&](ByteView body, std::span<const std::uint16_t> tokens) -> Status {
                        GYM_CHECK(check_tokens(tokens, header->vocabulary, done));
                        hasher.update(body);
                        done += tokens.size();
                        return visit ? (*visit)(tokens) : Status();
                    });
    if (!read.ok()) return in(read.error());
    return DatasetSummary{.root = root_of(header->tokens, hasher),
                          .vocabulary = header->vocabulary,
                          .tokens = header->tokens,
                          .file_bytes = static_cast<std::uint64_t>(info.st_size)};
}

}  // namespace gym::blob
