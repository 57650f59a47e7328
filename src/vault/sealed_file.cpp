#include "gym/vault/sealed_file.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "gym/commit/codec.hpp"
#include "gym/common/assert.hpp"
#include "gym/common/descriptor.hpp"

namespace gym::vault {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "GYMSEAL1";
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kSaltBytes = 32;
constexpr std::uint64_t kRecordBytes = kPieceBytes + kSealRecordExtra;
static_assert(kNonceBytes + kTagBytes == kSealRecordExtra);

struct Header {
    std::array<std::uint8_t, 8> key_id{};
    std::uint64_t size_bytes = 0;
    std::array<std::uint8_t, kSaltBytes> salt{};
};

Bytes encode(const Header& header) {
    commit::Encoder out;
    out.raw(as_bytes(kMagic)).raw(header.key_id).u64(header.size_bytes).raw(header.salt);
    out.u32(kPieceBytes).u32(0);
    Bytes bytes = out.take();
    GYM_ASSERT(bytes.size() == kSealHeaderBytes, "the size of a sealed file's header");
    return bytes;
}

Result<Header> decode(ByteView bytes) {
    commit::Decoder in(bytes);
    Header out;
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

std::uint64_t pieces_of(std::uint64_t size_bytes) {
    // Of an empty blob one, so that its header is authenticated, too.
    return std::max<std::uint64_t>((size_bytes + kPieceBytes - 1) / kPieceBytes, 1);
}

/// AES-256-GCM of one file's pieces.
class PieceCipher {
  public:
    PieceCipher(const StoreKey& key, const Digest& root, Header header)
        : key_(key.file_key(header.salt, root)), header_(encode(header)) {}

    /// @return nonce | ciphertext | tag.
    [[nodiscard]] Bytes seal(std::uint64_t piece, ByteView plain) const {
        Bytes record(plain.size() + kSealRecordExtra);
        const std::span<std::uint8_t> all(record);
        crypto::secure_random(all.first(kNonceBytes));
        const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
        int done = 0;
        const bool sealed =
            context &&
            EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key_.view().data(),
                               record.data()) == 1 &&
            add_aad(*context, piece) &&
            EVP_EncryptUpdate(context.get(), all.subspan(kNonceBytes).data(), &done, plain.data(),
                              static_cast<int>(plain.size())) == 1 &&
            EVP_EncryptFinal_ex(context.get(), all.last(kTagBytes).data(), &done) == 1 &&
            EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                                all.last(kTagBytes).data()) == 1;
        GYM_ASSERT(sealed, "AES-256-GCM failed");  // for want of memory alone
        return record;
    }

    /// Fills `plain`. @return whether the record is authentic; nothing of `plain` counts if not.
    [[nodiscard]] bool open(std::uint64_t piece, ByteView record,
                            std::span<std::uint8_t> plain) const {
        GYM_ASSERT(record.size() == plain.size() + kSealRecordExtra, "the size of a record");
        const Context context(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
        Bytes tag(record.end() - kTagBytes, record.end());  // OpenSSL's parameter is not const
        int done = 0;
        return context &&
               EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key_.view().data(),
                                  record.data()) == 1 &&
               add_aad(*context, piece) &&
               EVP_DecryptUpdate(context.get(), plain.data(), &done,
                                 record.subspan(kNonceBytes).data(),
                                 static_cast<int>(plain.size())) == 1 &&
               EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) ==
                   1 &&
               EVP_DecryptFinal_ex(context.get(), tag.data(), &done) == 1;
    }

  private:
    using Context = std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)>;
    [[nodiscard]] bool add_aad(EVP_CIPHER_CTX& context, std::uint64_t piece) const {
        commit::Encoder aad;
        aad.raw(header_).u64(piece);
        const Bytes bytes = aad.take();
        int done = 0;
        return EVP_CipherUpdate(&context, nullptr, &done, bytes.data(),
                                static_cast<int>(bytes.size())) == 1;
    }

    crypto::SecretBytes key_;
    Bytes header_;
};

Error io_error(const fs::path& path) {
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
        if (got < 0) return io_error(path);
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
        if (put <= 0) return io_error(path);
        offset += static_cast<std::uint64_t>(put);
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
    return {};
}

Result<std::uint64_t> size_of(int file, const fs::path& path) {
    struct stat info {};
    if (::fstat(file, &info) != 0) return io_error(path);
    if (!S_ISREG(info.st_mode)) return fail(ErrorCode::kIo, path.string() + ": not a regular file");
    return static_cast<std::uint64_t>(info.st_size);
}

/// The header of a file that is this key's.
Result<Header> read_header(int file, const fs::path& path, const StoreKey& key) {
    Bytes bytes(kSealHeaderBytes);
    GYM_CHECK(read_at(file, path, 0, bytes));
    const auto header = decode(bytes);
    if (!header.ok()) return altered(path, "its header is none");
    if (header->key_id != key.id())
        return altered(path, "it is sealed with another key than the store has");
    return *header;
}

std::uint64_t record_at(std::uint64_t piece) {
    return kSealHeaderBytes + piece * kRecordBytes;
}

/// What a writer left of a blob: whole pieces, and the beginning of the one behind them.
struct Kept {
    std::uint64_t whole = 0;
    Bytes tail;

    [[nodiscard]] std::uint64_t bytes() const { return whole * kPieceBytes + tail.size(); }
};

/// Reads the end of an incomplete file. The record that a crash tore, or that is being written, is
/// the last one: it is left out. @errors kMismatch if the one before is not authentic either.
Result<Kept> read_kept(int file, const fs::path& path, std::uint64_t size_bytes,
                       const PieceCipher& cipher) {
    GYM_TRY(const std::uint64_t size, size_of(file, path));
    const std::uint64_t records = size - std::min<std::uint64_t>(size, kSealHeaderBytes);
    Kept out;
    out.whole = records / kRecordBytes;
    if (size > sealed_size(size_bytes)) return altered(path, "it is too long");
    Bytes record(static_cast<std::size_t>(records % kRecordBytes));
    bool torn = !record.empty();
    if (record.size() > kSealRecordExtra) {
        out.tail.resize(record.size() - kSealRecordExtra);
        GYM_CHECK(read_at(file, path, record_at(out.whole), record));
        if (cipher.open(out.whole, record, out.tail)) return out;
        out.tail.clear();
    }
    Bytes plain(kPieceBytes);
    record.resize(kRecordBytes);
    while (out.whole > 0) {
        GYM_CHECK(read_at(file, path, record_at(out.whole - 1), record));
        if (cipher.open(out.whole - 1, record, plain)) break;
        if (torn) return altered(path, "its end was altered");
        torn = true;
        --out.whole;
    }
    return out;
}

class SealReader final : public blob::BlobReader {
  public:
    SealReader(fs::path path, std::unique_ptr<Descriptor> file, const Header& header,
               const StoreKey& key, const Digest& root)
        : path_(std::move(path)),
          file_(std::move(file)),
          size_bytes_(header.size_bytes),
          key_id_(header.key_id),
          root_(root),
          cipher_(key, root, header) {}

    /// Whether the file is of this key and root.
    [[nodiscard]] bool is_of(const StoreKey& key, const Digest& root) const {
        return key_id_ == key.id() && root_ == root;
    }
    /// The file that is open, whatever its path leads to by now. @return false on another disk.
    [[nodiscard]] bool link_to(const fs::path& name) const {
        const std::string opened = "/proc/self/fd/" + std::to_string(file_->get());
        return ::linkat(AT_FDCWD, opened.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    }

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_bytes_; }

    Status read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        GYM_ASSERT(offset <= size_bytes_ && out.size() <= size_bytes_ - offset,
                   "a read beyond the blob");
        Bytes record, plain;
        while (!out.empty()) {
            const std::uint64_t piece = offset / kPieceBytes;
            GYM_CHECK(open_piece(piece, record, plain));
            const std::size_t inside = static_cast<std::size_t>(offset % kPieceBytes);
            const std::size_t part = std::min(plain.size() - inside, out.size());
            std::copy_n(plain.begin() + static_cast<std::ptrdiff_t>(inside), part, out.begin());
            out = out.subspan(part);
            offset += part;
        }
        return {};
    }

    /// An empty blob has nothing to read and is authenticated all the same.
    [[nodiscard]] Status check_empty() const {
        Bytes record, plain;
        return size_bytes_ == 0 ? open_piece(0, record, plain) : Status();
    }

  private:
    Status open_piece(std::uint64_t piece, Bytes& record, Bytes& plain) const {
        const std::uint64_t at = piece * kPieceBytes;
        plain.resize(
            static_cast<std::size_t>(std::min<std::uint64_t>(size_bytes_ - at, kPieceBytes)));
        record.resize(plain.size() + kSealRecordExtra);
        GYM_CHECK(read_at(file_->get(), path_, record_at(piece), record));
        if (cipher_.open(piece, record, plain)) return {};
        return altered(path_, "its bytes were altered");
    }

    const fs::path path_;
    const std::unique_ptr<Descriptor> file_;
    const std::uint64_t size_bytes_;
    const std::array<std::uint8_t, 8> key_id_;
    const Digest root_;
    const PieceCipher cipher_;
};

}  // namespace

std::uint64_t sealed_size(std::uint64_t size_bytes) {
    return kSealHeaderBytes + size_bytes + pieces_of(size_bytes) * kSealRecordExtra;
}

struct SealWriter::Impl {
    Impl(fs::path p, int descriptor, std::uint64_t size, PieceCipher c)
        : path(std::move(p)), file(descriptor), size_bytes(size), cipher(std::move(c)) {
        tail.reserve(kPieceBytes);
    }
    /// What is left of the last piece, at its place. Written again with more: under a new nonce.
    Status write_tail() {
        GYM_CHECK(write_at(file.get(), path, record_at(whole), cipher.seal(whole, tail)));
        is_tail_written = true;
        return {};
    }

    fs::path path;
    Descriptor file;
    std::uint64_t size_bytes;
    PieceCipher cipher;
    std::uint64_t whole = 0;  ///< pieces that are complete and written
    Bytes tail;               ///< of the piece behind them
    bool is_tail_written = false;
};

SealWriter::SealWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SealWriter::SealWriter(SealWriter&&) noexcept = default;
SealWriter& SealWriter::operator=(SealWriter&&) noexcept = default;
SealWriter::~SealWriter() = default;

Result<SealWriter> SealWriter::create(const fs::path& path, const StoreKey& key, const Digest& root,
                                      std::uint64_t size_bytes) {
    if (size_bytes > kSealedBytesMax)
        return fail(ErrorCode::kOutOfRange,
                    "a blob of " + std::to_string(size_bytes) + " bytes cannot be sealed");
    Header header;
    header.key_id = key.id();
    header.size_bytes = size_bytes;
    crypto::secure_random(header.salt);
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0660);
    if (file < 0) return io_error(path);
    auto impl = std::make_unique<Impl>(path, file, size_bytes, PieceCipher(key, root, header));
    GYM_CHECK(write_at(file, path, 0, encode(header)));
    return SealWriter(std::move(impl));
}

Result<SealWriter> SealWriter::resume(const fs::path& path, const StoreKey& key,
                                      const Digest& root) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return io_error(path);
    // Closed by it on every way out.
    auto impl = std::make_unique<Impl>(path, descriptor, 0, PieceCipher(key, root, {}));
    GYM_TRY(const Header header, read_header(descriptor, path, key));
    impl->size_bytes = header.size_bytes;
    impl->cipher = PieceCipher(key, root, header);
    GYM_TRY(Kept kept, read_kept(descriptor, path, header.size_bytes, impl->cipher));
    // What a crash tore goes, so that no later reader takes its length for that of a piece.
    const std::uint64_t end =
        record_at(kept.whole) + (kept.tail.empty() ? 0 : kept.tail.size() + kSealRecordExtra);
    if (::ftruncate(descriptor, static_cast<off_t>(end)) != 0) return io_error(path);
    impl->whole = kept.whole;
    impl->is_tail_written = !kept.tail.empty();
    impl->tail.assign(kept.tail.begin(), kept.tail.end());  // keeps what is reserved
    return SealWriter(std::move(impl));
}

Result<std::uint64_t> received_bytes(const fs::path& path, const StoreKey& key,
                                     const Digest& root) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) return io_error(path);
    GYM_TRY(const Header header, read_header(file.get(), path, key));
    GYM_TRY(const Kept kept,
            read_kept(file.get(), path, header.size_bytes, PieceCipher(key, root, header)));
    return kept.bytes();
}

std::uint64_t SealWriter::size_bytes() const {
    return impl_->size_bytes;
}

std::uint64_t SealWriter::received_bytes() const {
    return impl_->whole * kPieceBytes + impl_->tail.size();
}

Status SealWriter::append(ByteView bytes) {
    if (bytes.size() > size_bytes() - received_bytes())
        return fail(ErrorCode::kOutOfRange, impl_->path.string() + ": more bytes than the " +
                                                std::to_string(size_bytes()) + " of the blob");
    while (!bytes.empty()) {
        const std::size_t part = std::min(kPieceBytes - impl_->tail.size(), bytes.size());
        impl_->tail.insert(impl_->tail.end(), bytes.begin(),
                           bytes.begin() + static_cast<std::ptrdiff_t>(part));
        bytes = bytes.subspan(part);
        impl_->is_tail_written = false;
        if (impl_->tail.size() < kPieceBytes) break;
        GYM_CHECK(impl_->write_tail());
        ++impl_->whole;
        impl_->tail.clear();
    }
    return {};
}

Status SealWriter::flush() {
    if (impl_->tail.empty() || impl_->is_tail_written) return {};
    return impl_->write_tail();
}

Status SealWriter::sync() {
    GYM_CHECK(flush());
    if (::fsync(impl_->file.get()) != 0) return io_error(impl_->path);
    return {};
}

Status SealWriter::finish() {
    if (received_bytes() != size_bytes())
        return fail(ErrorCode::kMismatch, impl_->path.string() + " has " +
                                              std::to_string(received_bytes()) + " of " +
                                              std::to_string(size_bytes()) + " bytes");
    if (size_bytes() == 0) GYM_CHECK(impl_->write_tail());
    return sync();
}

Result<std::unique_ptr<const blob::BlobReader>> open_sealed(const fs::path& path,
                                                            const StoreKey& key,
                                                            const Digest& root) {
    auto file =
        std::make_unique<Descriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file->get() < 0) return io_error(path);
    GYM_TRY(const std::uint64_t size, size_of(file->get(), path));
    GYM_TRY(const Header header, read_header(file->get(), path, key));
    if (size != sealed_size(header.size_bytes)) return altered(path, "it was cut or extended");
    auto reader = std::make_unique<SealReader>(path, std::move(file), header, key, root);
    GYM_CHECK(reader->check_empty());
    return std::unique_ptr<const blob::BlobReader>(std::move(reader));
}

bool link_sealed(const blob::BlobReader& reader, const StoreKey& key, const Digest& root,
                 const fs::path& name) {
    const auto* const sealed = dynamic_cast<const SealReader*>(&reader);
    return sealed != nullptr && sealed->is_of(key, root) && sealed->link_to(name);
}

}  // namespace gym::vault
