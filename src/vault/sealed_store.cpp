#include "gym/vault/sealed_store.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <system_error>
#include <utility>

#include "gym/vault/sealed_file.hpp"

namespace gym::vault {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = ".sealed";
constexpr const char* kKeySuffix = ".key";
constexpr std::size_t kCopiedBytes = std::size_t{1} << 20;

Error io_error(const fs::path& path, const std::error_code& code) {
    return fail(ErrorCode::kIo, path.string() + ": " + code.message());
}

/// A file that goes unless it was moved.
class Temporary {
  public:
    explicit Temporary(fs::path path) : path_(std::move(path)) {}
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    ~Temporary() {
        std::error_code ignored;
        fs::remove(path_, ignored);
    }
    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    const fs::path path_;
};

/// Beside the place, with a name of its own for every thread of every process.
fs::path beside(const fs::path& place) {
    static std::atomic<std::uint64_t> count{0};
    return place.parent_path() / ("." + place.filename().string() + "." +
                                  std::to_string(::getpid()) + "." + std::to_string(++count));
}

/// Whether a blob was ever sealed in the folder: only its first levels are looked at.
bool has_sealed(const fs::path& directory) {
    std::error_code code;
    for (fs::recursive_directory_iterator at(directory, code), end; !code && at != end;
         at.increment(code))
        if (at->path().extension() == kSuffix) return true;
    return false;
}

}  // namespace

Result<SealedStore> SealedStore::open(const fs::path& directory, const StoreKey& key) {
    GYM_TRY(blob::DirectoryStore plain, blob::DirectoryStore::open(directory));
    return SealedStore(blob::BlobFolder(directory), std::move(plain),
                       std::make_shared<const StoreKey>(key.clone()));
}

Result<SealedStore> SealedStore::open(const fs::path& directory, const fs::path& key_file) {
    if (!key_file.empty()) {
        GYM_TRY(const StoreKey key, StoreKey::load(key_file));
        return open(directory, key);
    }
    fs::path folder = directory;
    if (!folder.has_filename()) folder = folder.parent_path();  // "blobs/"
    const fs::path beside_it = folder.string() + kKeySuffix;
    std::error_code code;
    if (!fs::exists(beside_it, code) && has_sealed(directory))
        return fail(ErrorCode::kNotFound, "the blobs in " + directory.string() +
                                              " are sealed, and their key " + beside_it.string() +
                                              " is missing: put it back");
    GYM_TRY(const StoreKey key, StoreKey::load_or_create(beside_it));
    return open(directory, key);
}

fs::path SealedStore::path_of(const Digest& root) const {
    return plain_.path_of(root).string() + kSuffix;
}

Result<fs::path> SealedStore::place_for(const Digest& root) const {
    const fs::path path = path_of(root);
    std::error_code code;
    fs::create_directories(path.parent_path(), code);
    if (code) return io_error(path.parent_path(), code);
    return path;
}

Status SealedStore::put_in_place(const Digest& root, const fs::path& file) {
    GYM_TRY(const fs::path path, place_for(root));
    GYM_CHECK(folder_.place(file, path));
    return plain_.remove(root);  // what was stored in the clear before
}

Status SealedStore::write(const Digest& root, ByteView content) {
    GYM_TRY(const fs::path path, place_for(root));
    std::error_code code;
    // As DirectoryStore: a file of the right size may be rotten; writing again repairs it.
    if (fs::file_size(path, code) == sealed_size(content.size()) && !code && load(root).ok()) {
        GYM_TRY(const bool held, hold(root));
        if (held) return {};  // else it was erased meanwhile
    }
    const Temporary temporary(beside(path));
    GYM_TRY(SealWriter writer, SealWriter::create(temporary.path(), *key_, root, content.size()));
    GYM_CHECK(writer.append(content));
    GYM_CHECK(writer.finish());
    return put_in_place(root, temporary.path());
}

Status SealedStore::adopt(const Digest& root, const blob::BlobReader& reader) {
    GYM_TRY(const fs::path path, place_for(root));
    const Temporary temporary(beside(path));
    if (link_sealed(reader, *key_, root, temporary.path()))
        return put_in_place(root, temporary.path());
    GYM_TRY(SealWriter writer, SealWriter::create(temporary.path(), *key_, root, reader.size()));
    Bytes part;
    for (std::uint64_t at = 0; at < reader.size(); at += part.size()) {
        part.resize(
            static_cast<std::size_t>(std::min<std::uint64_t>(kCopiedBytes, reader.size() - at)));
        GYM_CHECK(reader.read(at, part));
        GYM_CHECK(writer.append(part));
    }
    GYM_CHECK(writer.finish());
    return put_in_place(root, temporary.path());
}

Result<blob::VerifiedBlob> SealedStore::adopt_sealed(const Digest& root, const fs::path& file) {
    GYM_TRY(const auto reader, open_sealed(file, *key_, root));
    Bytes content(reader->size());
    GYM_CHECK(reader->read(0, content));
    GYM_TRY(blob::VerifiedBlob blob, blob::VerifiedBlob::check(root, std::move(content)));
    GYM_CHECK(put_in_place(root, file));
    return blob;
}

Result<Bytes> SealedStore::read(const Digest& root) const {
    GYM_TRY(const auto reader, open_reader(root));
    Bytes out(reader->size());
    GYM_CHECK(reader->read(0, out));
    return out;
}

Result<std::unique_ptr<const blob::BlobReader>> SealedStore::open_reader(const Digest& root) const {
    auto sealed = open_sealed(path_of(root), *key_, root);
    if (!sealed.ok() && sealed.error().code == ErrorCode::kNotFound)
        return plain_.open_reader(root);
    return sealed;
}

Result<bool> SealedStore::has(const Digest& root) const {
    std::error_code code;
    const bool exists = fs::exists(path_of(root), code);
    if (code) return io_error(path_of(root), code);
    if (exists) return true;
    return plain_.has(root);
}

Status SealedStore::remove(const Digest& root) {
    std::error_code code;
    fs::remove(path_of(root), code);
    if (code) return io_error(path_of(root), code);
    return plain_.remove(root);
}

Result<bool> SealedStore::hold(const Digest& root) {
    const std::array<fs::path, 2> paths{path_of(root), plain_.path_of(root)};
    return folder_.touch(paths);
}

Result<std::vector<blob::StoredBlob>> SealedStore::list_idle(std::uint8_t first,
                                                             std::chrono::milliseconds idle) {
    return folder_.list_idle(first, idle);
}

Result<bool> SealedStore::erase(const blob::StoredBlob& blob) {
    const std::array<fs::path, 2> paths{path_of(blob.root), plain_.path_of(blob.root)};
    return folder_.erase(blob, paths);
}

}  // namespace gym::vault
