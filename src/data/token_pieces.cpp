#include "token_pieces.hpp"

#include <cerrno>
#include <cstring>
#include <string>

namespace gym::data {
namespace {

constexpr std::uint64_t kHeaderBytes = 20;
constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

}  // namespace

Result<TokenFile> TokenFile::open(const std::filesystem::path& path) {
    std::FILE* const file = std::fopen(path.c_str(), "rbe");
    if (file == nullptr)
        return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                    "cannot open " + path.string() + ": " + std::strerror(errno));
    TokenFile out(file, path);
    out.at_ = kUnknown;
    return out;
}

Status TokenFile::read(std::uint64_t first, std::uint64_t count, std::vector<std::uint16_t>& out) {
    // Mostly what follows the last piece: a seek would drop the buffer.
    if (first != at_ &&
        ::fseeko(file_.get(), static_cast<off_t>(kHeaderBytes + first * 2), SEEK_SET) != 0)
        return fail(ErrorCode::kIo, "cannot read " + path_.string() + ": " + std::strerror(errno));
    at_ = kUnknown;
    bytes_.resize(count * 2);
    if (std::fread(bytes_.data(), 1, bytes_.size(), file_.get()) != bytes_.size())
        return fail(ErrorCode::kOutOfRange, path_.string() + " has no " + std::to_string(count) +
                                                " tokens from " + std::to_string(first));
    at_ = first + count;
    out.resize(count);
    for (std::size_t i = 0; i < count; ++i)
        out[i] = static_cast<std::uint16_t>(bytes_[2 * i] | bytes_[2 * i + 1] << 8);
    return {};
}

}  // namespace gym::data
