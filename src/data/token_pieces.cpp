#include "token_pieces.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include "gym/blob/dataset_writer.hpp"

namespace gym::data {
namespace {

constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

}  // namespace

Result<TokenFile> TokenFile::open(const std::filesystem::path& path) {
    GYM_TRY(const blob::DatasetHeader header, blob::peek_dataset(path));
    std::FILE* const file = std::fopen(path.c_str(), "rbe");
    if (file == nullptr)
        return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                    "cannot open " + path.string() + ": " + std::strerror(errno));
    TokenFile out(file, path, header);
    out.at_ = kUnknown;
    return out;
}

Status TokenFile::read(std::uint64_t first, std::uint64_t count, std::vector<std::uint32_t>& out) {
    // Mostly what follows the last piece: a seek would drop the buffer.
    const std::uint64_t size = header_.token_bytes();
    if (first != at_ &&
        ::fseeko(file_.get(), static_cast<off_t>(header_.size_bytes() + first * size), SEEK_SET) !=
            0)
        return fail(ErrorCode::kIo, "cannot read " + path_.string() + ": " + std::strerror(errno));
    at_ = kUnknown;
    bytes_.resize(count * size);
    if (std::fread(bytes_.data(), 1, bytes_.size(), file_.get()) != bytes_.size())
        return fail(ErrorCode::kOutOfRange, path_.string() + " has no " + std::to_string(count) +
                                                " tokens from " + std::to_string(first));
    at_ = first + count;
    out.resize(count);
    for (std::size_t i = 0; i < count; ++i)
        out[i] = blob::token_at(header_, bytes_, i);
    return {};
}

}  // namespace gym::data
