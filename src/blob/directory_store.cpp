#include "gym/blob/directory_store.hpp"

#include <system_error>

#include "gym/common/file.hpp"

namespace gym::blob {
namespace {

Error io_error(const std::filesystem::path& path, const std::error_code& code) {
    return fail(ErrorCode::kIo, path.string() + ": " + code.message());
}

}  // namespace

Result<DirectoryStore> DirectoryStore::open(const std::filesystem::path& directory) {
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (code) return io_error(directory, code);
    if (!std::filesystem::is_directory(directory, code))
        return fail(ErrorCode::kIo, directory.string() + ": not a directory");
    return DirectoryStore(directory);
}

std::filesystem::path DirectoryStore::path_of(const Digest& root) const {
    // Two levels of 256 keep every folder small up to hundreds of millions of blobs.
    const std::string name = to_hex(root.view());
    return directory_ / name.substr(0, 2) / name.substr(2, 2) / name;
}

Status DirectoryStore::write(const Digest& root, ByteView content) {
    const std::filesystem::path path = path_of(root);
    std::error_code code;
    // A file of the right size may still be rotten; load() finds that, and writing again repairs
    // it.
    if (std::filesystem::file_size(path, code) == content.size() && !code && load(root).ok())
        return {};
    std::filesystem::create_directories(path.parent_path(), code);
    if (code) return io_error(path.parent_path(), code);
    return write_file_atomic(path, content);
}

Result<Bytes> DirectoryStore::read(const Digest& root) const {
    auto content = read_file(path_of(root));
    if (!content.ok() && content.error().code == ErrorCode::kNotFound)
        return fail(ErrorCode::kNotFound, "no blob " + root.hex());
    return content;
}

Result<bool> DirectoryStore::has(const Digest& root) const {
    std::error_code code;
    const bool exists = std::filesystem::exists(path_of(root), code);
    if (code) return io_error(path_of(root), code);
    return exists;
}

Status DirectoryStore::remove(const Digest& root) {
    std::error_code code;
    std::filesystem::remove(path_of(root), code);
    if (code) return io_error(path_of(root), code);
    return {};
}

}  // namespace gym::blob
