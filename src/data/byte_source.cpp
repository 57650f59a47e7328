#include "gym/data/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace gym::data {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;
constexpr std::array<std::uint8_t, 2> kGzipMagic{0x1f, 0x8b};
constexpr std::array<std::uint8_t, 4> kZstdMagic{0x28, 0xb5, 0x2f, 0xfd};

class FileSource final : public ByteSource {
  public:
    FileSource(int file, std::filesystem::path path) : file_(file), path_(std::move(path)) {}
    FileSource(const FileSource&) = delete;
    FileSource& operator=(const FileSource&) = delete;
    ~FileSource() override { ::close(file_); }

    Result<std::size_t> read(std::span<std::uint8_t> out) override {
        while (true) {
            const ssize_t got = ::read(file_, out.data(), out.size());
            if (got >= 0) return static_cast<std::size_t>(got);
            if (errno != EINTR)
                return fail(ErrorCode::kIo,
                            "cannot read " + path_.string() + ": " + std::strerror(errno));
        }
    }

  private:
    int file_;
    std::filesystem::path path_;
};

/// What both decompressors share: a buffer of compressed bytes.
class Compressed {
  public:
    explicit Compressed(std::unique_ptr<ByteSource> source)
        : source_(std::move(source)), buffer_(kBufferBytes) {}
    /// Bytes that wait, after reading some if none did. Empty at the end.
    Result<std::span<const std::uint8_t>> waiting() {
        if (begin_ == end_) {
            GYM_TRY(end_, source_->read(buffer_));
            begin_ = 0;
        }
        return std::span<const std::uint8_t>(buffer_).subspan(begin_, end_ - begin_);
    }
    void take(std::size_t count) { begin_ += count; }

  private:
    std::unique_ptr<ByteSource> source_;
    std::vector<std::uint8_t> buffer_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

Error damaged(std::string_view format, std::string_view why) {
    return fail(ErrorCode::kMalformed, "its " + std::string(format) + " stream is damaged (" +
                                           std::string(why) + "): copy the file again");
}

class GzipSource final : public ByteSource {
  public:
    static Result<std::unique_ptr<ByteSource>> create(std::unique_ptr<ByteSource> source) {
        auto out = std::make_unique<GzipSource>(std::move(source));
        constexpr int kGzipOnly = 16;
        if (::inflateInit2(&out->stream_, MAX_WBITS + kGzipOnly) != Z_OK)
            return fail(ErrorCode::kInternal, "zlib does not start");
        out->open_ = true;
        return std::unique_ptr<ByteSource>(std::move(out));
    }
    explicit GzipSource(std::unique_ptr<ByteSource> source) : input_(std::move(source)) {}
    GzipSource(const GzipSource&) = delete;
    GzipSource& operator=(const GzipSource&) = delete;
    ~GzipSource() override {
        if (open_) ::inflateEnd(&stream_);
    }

    Result<std::size_t> read(std::span<std::uint8_t> out) override {
        stream_.next_out = out.data();
        stream_.avail_out = static_cast<uInt>(out.size());
        while (stream_.avail_out == out.size()) {
            GYM_TRY(const auto bytes, input_.waiting());
            if (bytes.empty()) {
                if (!between_members_) return damaged("gzip", "it is cut off");
                return std::size_t{0};
            }
            if (std::exchange(between_members_, false)) ::inflateReset(&stream_);
            stream_.next_in = const_cast<Bytef*>(bytes.data());
            stream_.avail_in = static_cast<uInt>(bytes.size());
            const int code = ::inflate(&stream_, Z_NO_FLUSH);
            input_.take(bytes.size() - stream_.avail_in);
            if (code == Z_STREAM_END)
                between_members_ = true;
            else if (code != Z_OK && code != Z_BUF_ERROR)
                return damaged("gzip", stream_.msg != nullptr ? stream_.msg : "not gzip");
        }
        return out.size() - stream_.avail_out;
    }

  private:
    Compressed input_;
    z_stream stream_{};
    bool open_ = false;
    bool between_members_ = false;
};

class ZstdSource final : public ByteSource {
  public:
    explicit ZstdSource(std::unique_ptr<ByteSource> source)
        : input_(std::move(source)), stream_(::ZSTD_createDStream()) {}
    ZstdSource(const ZstdSource&) = delete;
    ZstdSource& operator=(const ZstdSource&) = delete;
    ~ZstdSource() override { ::ZSTD_freeDStream(stream_); }

    Result<std::size_t> read(std::span<std::uint8_t> out) override {
        ZSTD_outBuffer to{out.data(), out.size(), 0};
        while (to.pos == 0) {
            GYM_TRY(const auto bytes, input_.waiting());
            ZSTD_inBuffer from{bytes.data(), bytes.size(), 0};
            const std::size_t left = ::ZSTD_decompressStream(stream_, &to, &from);
            if (::ZSTD_isError(left) != 0) return damaged("zstd", ::ZSTD_getErrorName(left));
            input_.take(from.pos);
            if (!bytes.empty()) in_frame_ = left != 0;
            if (bytes.empty() && to.pos == 0) {
                if (in_frame_) return damaged("zstd", "it is cut off");
                return std::size_t{0};
            }
        }
        return to.pos;
    }

  private:
    Compressed input_;
    ZSTD_DStream* stream_;
    bool in_frame_ = false;
};

Result<std::vector<std::uint8_t>> first_bytes(int file, const std::filesystem::path& path) {
    std::vector<std::uint8_t> out(4);
    const ssize_t got = ::pread(file, out.data(), out.size(), 0);
    if (got < 0)
        return fail(ErrorCode::kIo, "cannot read " + path.string() + ": " + std::strerror(errno));
    out.resize(static_cast<std::size_t>(got));
    return out;
}

template <std::size_t N>
bool begins_with(const std::vector<std::uint8_t>& bytes, const std::array<std::uint8_t, N>& magic) {
    return bytes.size() >= N && std::memcmp(bytes.data(), magic.data(), N) == 0;
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_bytes(const std::filesystem::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                    "cannot open " + path.string() + ": " + std::strerror(errno));
    auto source = std::make_unique<FileSource>(file, path);
    struct stat info {};
    if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode))
        return fail(ErrorCode::kIo, "cannot read " + path.string() + ": not a regular file");
    GYM_TRY(const auto first, first_bytes(file, path));
    if (begins_with(first, kGzipMagic)) return GzipSource::create(std::move(source));
    if (begins_with(first, kZstdMagic))
        return std::unique_ptr<ByteSource>(std::make_unique<ZstdSource>(std::move(source)));
    if (const auto extension = path.extension(); extension == ".gz" || extension == ".zst")
        return fail(ErrorCode::kMalformed, path.string() + " is not a " +
                                               (extension == ".gz" ? "gzip" : "zstd") +
                                               " file, though its name says so");
    return std::unique_ptr<ByteSource>(std::move(source));
}

LineReader::LineReader(ByteSource& source) : source_(source) {}

Result<bool> LineReader::next(std::string& line, std::size_t bytes_max) {
    std::size_t searched = begin_;
    while (true) {
        const void* const found =
            std::memchr(buffer_.data() + searched, '\n', buffer_.size() - searched);
        if (found != nullptr || at_end_) {
            if (found == nullptr && begin_ == buffer_.size()) return false;
            const std::size_t end =
                found == nullptr
                    ? buffer_.size()
                    : static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
            ++number_;
            line.assign(buffer_, begin_, end - begin_);
            begin_ = found == nullptr ? end : end + 1;
            return true;
        }
        if (buffer_.size() - begin_ > bytes_max)
            return fail(ErrorCode::kOutOfRange, "line " + std::to_string(number_ + 1) +
                                                    " has more than " + std::to_string(bytes_max) +
                                                    " bytes");
        buffer_.erase(0, begin_);
        begin_ = 0;
        searched = buffer_.size();
        buffer_.resize(searched + kBufferBytes);
        GYM_TRY(const std::size_t got,
                source_.read(
                    {reinterpret_cast<std::uint8_t*>(buffer_.data()) + searched, kBufferBytes}));
        buffer_.resize(searched + got);
        at_end_ = got == 0;
    }
}

}  // namespace gym::data
