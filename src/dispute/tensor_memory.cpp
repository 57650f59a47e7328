#include "gym/dispute/tensor_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace gym::dispute {
namespace {

Error io_error(const SpillOptions& options, int error) {
    return fail(ErrorCode::kIo, "a temporary file for large tensors in " + options.folder + ": " +
                                    std::strerror(error));
}

/// A file without a name.
Result<int> open_unnamed(const SpillOptions& options) {
    const int unnamed = ::open(options.folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (unnamed >= 0) return unnamed;
    // Not every file system has such files.
    std::string path = options.folder + "/gym-tensor-XXXXXX";
    const int named = ::mkostemp(path.data(), O_CLOEXEC);
    if (named < 0) return io_error(options, errno);
    ::unlink(path.c_str());
    return named;
}

Result<std::uint8_t*> map_file(std::size_t size, const SpillOptions& options) {
    GYM_TRY(const int file, open_unnamed(options));
    // A hole that cannot be filled later would end the process with SIGBUS.
    const int error = ::posix_fallocate(file, 0, static_cast<off_t>(size));
    void* mapped = error == 0 ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                              : MAP_FAILED;
    const int reason = error != 0 ? error : errno;
    ::close(file);
    if (mapped == MAP_FAILED) return io_error(options, reason);
    return static_cast<std::uint8_t*>(mapped);
}

}  // namespace

Result<TensorMemory> TensorMemory::create(std::uint64_t size_bytes, const SpillOptions& options) {
    TensorMemory memory;
    if (size_bytes > options.heap_bytes_max && size_bytes > 0) {
        GYM_TRY(memory.data_, map_file(size_bytes, options));
    } else {
        memory.heap_ = std::make_unique<std::uint64_t[]>((size_bytes + 7) / 8 + 1);
        memory.data_ = reinterpret_cast<std::uint8_t*>(memory.heap_.get());
    }
    memory.size_ = size_bytes;
    return memory;
}

Result<TensorMemory> TensorMemory::copy(ByteView bytes, const SpillOptions& options) {
    GYM_TRY(TensorMemory memory, create(bytes.size(), options));
    if (!bytes.empty()) std::memcpy(memory.data_, bytes.data(), bytes.size());
    return memory;
}

TensorMemory::TensorMemory(TensorMemory&& other) noexcept {
    swap(other);
}
TensorMemory& TensorMemory::operator=(TensorMemory&& other) noexcept {
    TensorMemory taken(std::move(other));
    swap(taken);
    return *this;
}
TensorMemory::~TensorMemory() {
    if (data_ != nullptr && heap_ == nullptr) ::munmap(data_, size_);
}
void TensorMemory::swap(TensorMemory& other) noexcept {
    std::swap(heap_, other.heap_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
}

}  // namespace gym::dispute
