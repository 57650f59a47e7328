#include "gym/mirror/sparse_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>

#include "piece_io.hpp"

namespace gym::mirror {

namespace fs = std::filesystem;

Result<SparseFile> SparseFile::open(fs::path path, const blob::PieceList& list) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (file.get() < 0) return system_error(path, "open");
    return SparseFile(std::move(path), std::move(file), list);
}

bool SparseFile::has(std::uint64_t index) {
    Bytes bytes(static_cast<std::size_t>(list_.size_of(index)));
    const auto read = read_at(file_.get(), path_, list_.offset(index), bytes);
    return read.ok() && *read && list_.matches(index, bytes);
}

Status SparseFile::write(std::uint64_t index, ByteView bytes) {
    const Status written = write_at(file_.get(), path_, list_.offset(index), bytes);
    if (written.ok()) return {};
    return fail(ErrorCode::kIo, written.error().message);
}

Status SparseFile::finish_as(const fs::path& file) {
    if (::ftruncate(file_.get(), static_cast<off_t>(list_.size_bytes())) != 0)
        return system_error(path_, "shorten");
    std::error_code error;
    fs::rename(path_, file, error);
    if (error) return fail(ErrorCode::kIo, path_.string() + ": " + error.message());
    return {};
}

}  // namespace gym::mirror
