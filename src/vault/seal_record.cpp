#include "seal_record.hpp"

#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "gym/commit/codec.hpp"
#include "gym/common/assert.hpp"

namespace gym::vault {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "GYMSEAL1";
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kSaltBytes = 32;
static_assert(kNonceBytes + kTagBytes == kSealRecordExtra);
static_assert(sizeof(SealHeader::salt) == kSaltBytes);

Result<SealHeader> decode(ByteView bytes) {
    commit::Decoder in(bytes);
    SealHeader out;
    GYM_TRY(const ByteView magic, in.raw(kMagic.size()));
    GYM_TRY(const ByteView id, in.raw(out.key_id.size()));
    GYM_TRY(out.size_bytes, in.u64());
    GYM_TRY(const ByteView salt, in.raw(kSaltBytes));
    GYM_TRY(const std::uint32_t piece, in.u32());
    GYM_TRY(const std::uint32_t zero, in.u32());
    if (!std::ranges::equal(magic, as_bytes(kMagic)) || piece != kPieceBytes || zero != 0 ||
        out.size_bytes > kSealedBytesMax)
        return fail(ErrorCode::kMalformed, "not a sealed blob");
    std::ranges::copy(id, out.key_id.begin());
    std::ranges::copy(salt, out.salt.begin());
    return out;
}

using Context = std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)>;
bool add_aad(EVP_CIPHER_CTX& context, ByteView header, std::uint64_t piece) {
    commit::Encoder aad;
    aad.raw(header).u64(piece);
    const Bytes bytes = aad.take();
    int done = 0;
    return EVP_CipherUpdate(&context, nullptr, &done, bytes.data(),
                            static_cast<int>(bytes.size())) == 1;
}

}  // namespace

Bytes encode(const SealHeader& header) {
    commit::Encoder out;
    out.raw(as_bytes(kMagic)).raw(header.key_id).u64(header.size_bytes).raw(header.salt);
    out.u32(kPieceBytes).u32(0);
    Bytes bytes = out.take();
    GYM_ASSERT(bytes.size() == kSealHeaderBytes, "the size of a sealed file's header");
    return bytes;
}

std::uint64_t pieces_of(std::uint64_t size_bytes) {
    return std::max<std::uint64_t>((size_bytes + kPieceBytes - 1) / kPieceBytes, 1);
}

Bytes PieceCipher::seal(std::uint64_t piece, ByteView plain) const {
    Bytes record(plain.size() + kSealRecordExtra);
    const std::span<std::uint8_t> all(record);
    crypto::secure_random(all.first(kNonceBytes));
    const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    int done = 0;
    const bool sealed =
        context &&
        EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key_.view().data(),
                           record.data()) == 1 &&
        add_aad(*context, header_, piece) &&
        EVP_EncryptUpdate(context.get(), all.subspan(kNonceBytes).data(), &done, plain.data(),
                          static_cast<int>(plain.size())) == 1 &&
        EVP_EncryptFinal_ex(context.get(), all.last(kTagBytes).data(), &done) == 1 &&
        EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                            all.last(kTagBytes).data()) == 1;
    GYM_ASSERT(sealed, "AES-256-GCM failed");  // for want of memory alone
    return record;
}

bool PieceCipher::open(std::uint64_t piece, ByteView record, std::span<std::uint8_t> plain) const {
    GYM_ASSERT(record.size() == plain.size() + kSealRecordExtra, "the size of a record");
    const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    Bytes tag(record.end() - kTagBytes, record.end());  // OpenSSL's parameter is not const
    int done = 0;
    return context &&
           EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key_.view().data(),
                              record.data()) == 1 &&
           add_aad(*context, header_, piece) &&
           EVP_DecryptUpdate(context.get(), plain.data(), &done, record.subspan(kNonceBytes).data(),
                             static_cast<int>(plain.size())) == 1 &&
           EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1 &&
           EVP_DecryptFinal_ex(context.get(), tag.data(), &done) == 1;
}

Error seal_io_error(const fs::path& path) {
    ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    if (errno == ENOSPC || errno == EDQUOT) code = ErrorCode::kOutOfRange;
    return fail(code, path.string() + ": " + std::strerror(errno));
}

Error altered(const fs::path& path, const char* how) {
    return fail(ErrorCode::kMismatch, path.string() + " is not the sealed blob that was stored: " +
                                          how + "; remove the file and fetch the blob again");
}

Status read_at(int file, const fs::path& path, std::uint64_t offset, std::span<std::uint8_t> out) {
    while (!out.empty()) {
        const ssize_t got = ::pread(file, out.data(), out.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return seal_io_error(path);
        if (got == 0) return altered(path, "it was cut");
        offset += static_cast<std::uint64_t>(got);
        out = out.subspan(static_cast<std::size_t>(got));
    }
    return {};
}

Status write_at(int file, const fs::path& path, std::uint64_t offset, ByteView bytes) {
    while (!bytes.empty()) {
        const ssize_t put = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return seal_io_error(path);
        offset += static_cast<std::uint64_t>(put);
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return {};
}

Result<std::uint64_t> size_of(int file, const fs::path& path) {
    struct stat info {};
    if (::fstat(file, &info) != 0) return seal_io_error(path);
    if (!S_ISREG(info.st_mode)) return fail(ErrorCode::kIo, path.string() + ": not a regular file");
    return static_cast<std::uint64_t>(info.st_size);
}

Result<SealHeader> read_header(int file, const fs::path& path, const StoreKey& key) {
    Bytes bytes(kSealHeaderBytes);
    GYM_CHECK(read_at(file, path, 0, bytes));
    const auto header = decode(bytes);
    if (!header.ok()) return altered(path, "its header is none");
    if (header->key_id != key.id())
        return altered(path, "it is sealed with another key than the store has");
    return *header;
}

}  // namespace gym::vault
