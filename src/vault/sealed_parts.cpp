#include "gym/vault/sealed_parts.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "gym/common/assert.hpp"
#include "gym/common/descriptor.hpp"
#include "seal_record.hpp"

namespace gym::vault {

namespace fs = std::filesystem;

struct SealedParts::Impl {
    Impl(fs::path p, int descriptor, std::uint64_t size, PieceCipher c)
        : path(std::move(p)), file(descriptor), size_bytes(size), cipher(std::move(c)) {}

    void check_part(std::uint64_t offset, std::size_t size) const {
        GYM_ASSERT(offset % kPieceBytes == 0 && offset <= size_bytes &&
                       size <= size_bytes - offset &&
                       (size % kPieceBytes == 0 || offset + size == size_bytes),
                   "a part of whole records");
    }

    fs::path path;
    Descriptor file;
    std::uint64_t size_bytes;
    PieceCipher cipher;
};

SealedParts::SealedParts(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SealedParts::SealedParts(SealedParts&&) noexcept = default;
SealedParts::~SealedParts() = default;

Result<SealedParts> SealedParts::open(const fs::path& path, const StoreKey& key, const Digest& root,
                                      std::uint64_t size_bytes) {
    if (size_bytes > kSealedBytesMax)
        return fail(ErrorCode::kOutOfRange,
                    "a blob of " + std::to_string(size_bytes) + " bytes cannot be sealed");
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0660);
    if (descriptor < 0) return seal_io_error(path);
    auto impl = std::make_unique<Impl>(path, descriptor, size_bytes, PieceCipher(key, root, {}));
    GYM_TRY(const std::uint64_t size, size_of(descriptor, path));
    SealHeader header;
    const auto known = read_header(descriptor, path, key);
    if (known.ok() && known->size_bytes == size_bytes && size == sealed_size(size_bytes)) {
        header = *known;
    } else {
        header.key_id = key.id();
        header.size_bytes = size_bytes;
        crypto::secure_random(header.salt);
        if (::ftruncate(descriptor, 0) != 0) return seal_io_error(path);
        GYM_CHECK(write_at(descriptor, path, 0, encode(header)));
        if (::ftruncate(descriptor, static_cast<off_t>(sealed_size(size_bytes))) != 0)
            return seal_io_error(path);
    }
    impl->cipher = PieceCipher(key, root, header);
    return SealedParts(std::move(impl));
}

Status SealedParts::write(std::uint64_t offset, ByteView bytes) {
    impl_->check_part(offset, bytes.size());
    for (std::uint64_t piece = offset / kPieceBytes; !bytes.empty(); ++piece) {
        const ByteView part = bytes.first(std::min(kPieceBytes, bytes.size()));
        GYM_CHECK(write_at(impl_->file.get(), impl_->path, record_at(piece),
                           impl_->cipher.seal(piece, part)));
        bytes = bytes.subspan(part.size());
    }
    return {};
}

Result<bool> SealedParts::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
    impl_->check_part(offset, out.size());
    Bytes record;
    for (std::uint64_t piece = offset / kPieceBytes; !out.empty(); ++piece) {
        const std::span<std::uint8_t> part = out.first(std::min(kPieceBytes, out.size()));
        record.resize(part.size() + kSealRecordExtra);
        const Status got = read_at(impl_->file.get(), impl_->path, record_at(piece), record);
        if (!got.ok()) return got.error();
        if (!impl_->cipher.open(piece, record, part)) return false;
        out = out.subspan(part.size());
    }
    return true;
}

Status SealedParts::finish() {
    if (impl_->size_bytes == 0)
        GYM_CHECK(
            write_at(impl_->file.get(), impl_->path, record_at(0), impl_->cipher.seal(0, {})));
    if (::fsync(impl_->file.get()) != 0) return seal_io_error(impl_->path);
    return {};
}

}  // namespace gym::vault
