#include "gym/vault/sealed_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "gym/common/assert.hpp"
#include "gym/common/descriptor.hpp"
#include "seal_record.hpp"

namespace gym::vault {
namespace {

namespace fs = std::filesystem;

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
    out.whole = records / kSealRecordBytes;
    if (size > sealed_size(size_bytes)) return altered(path, "it is too long");
    Bytes record(static_cast<std::size_t>(records % kSealRecordBytes));
    bool torn = !record.empty();
    if (record.size() > kSealRecordExtra) {
        out.tail.resize(record.size() - kSealRecordExtra);
        GYM_CHECK(read_at(file, path, record_at(out.whole), record));
        if (cipher.open(out.whole, record, out.tail)) return out;
        out.tail.clear();
    }
    Bytes plain(kPieceBytes);
    record.resize(kSealRecordBytes);
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
    SealReader(fs::path path, std::unique_ptr<Descriptor> file, const SealHeader& header,
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
    SealHeader header;
    header.key_id = key.id();
    header.size_bytes = size_bytes;
    crypto::secure_random(header.salt);
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0660);
    if (file < 0) return seal_io_error(path);
    auto impl = std::make_unique<Impl>(path, file, size_bytes, PieceCipher(key, root, header));
    GYM_CHECK(write_at(file, path, 0, encode(header)));
    return SealWriter(std::move(impl));
}

Result<SealWriter> SealWriter::resume(const fs::path& path, const StoreKey& key,
                                      const Digest& root) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return seal_io_error(path);
    // Closed by it on every way out.
    auto impl = std::make_unique<Impl>(path, descriptor, 0, PieceCipher(key, root, {}));
    GYM_TRY(const SealHeader header, read_header(descriptor, path, key));
    impl->size_bytes = header.size_bytes;
    impl->cipher = PieceCipher(key, root, header);
    GYM_TRY(Kept kept, read_kept(descriptor, path, header.size_bytes, impl->cipher));
    // What a crash tore goes, so that no later reader takes its length for that of a piece.
    const std::uint64_t end =
        record_at(kept.whole) + (kept.tail.empty() ? 0 : kept.tail.size() + kSealRecordExtra);
    if (::ftruncate(descriptor, static_cast<off_t>(end)) != 0) return seal_io_error(path);
    impl->whole = kept.whole;
    impl->is_tail_written = !kept.tail.empty();
    impl->tail.assign(kept.tail.begin(), kept.tail.end());  // keeps what is reserved
    return SealWriter(std::move(impl));
}

Result<std::uint64_t> received_bytes(const fs::path& path, const StoreKey& key,
                                     const Digest& root) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) return seal_io_error(path);
    GYM_TRY(const SealHeader header, read_header(file.get(), path, key));
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
    if (::fsync(impl_->file.get()) != 0) return seal_io_error(impl_->path);
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
    if (file->get() < 0) return seal_io_error(path);
    GYM_TRY(const std::uint64_t size, size_of(file->get(), path));
    GYM_TRY(const SealHeader header, read_header(file->get(), path, key));
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
