#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::dispute {

struct SpillOptions {
    /// Where files of large tensors are; they have no name, so they go with the process.
    std::string folder = "/tmp";
    /// Tensors of more bytes lie in a file, so that memory is the page cache's business.
    std::uint64_t heap_bytes_max = std::uint64_t{64} << 20;
};

/// Memory of one tensor: on the heap, or an unlinked file that is mapped. Movable.
class TensorMemory {
  public:
    /// All zero. @errors kIo: the folder cannot be written to or has no room.
    [[nodiscard]] static Result<TensorMemory> create(std::uint64_t size_bytes,
                                                     const SpillOptions& options);
    /// create() with the content `bytes`.
    [[nodiscard]] static Result<TensorMemory> copy(ByteView bytes, const SpillOptions& options);
    TensorMemory(TensorMemory&& other) noexcept;
    TensorMemory& operator=(TensorMemory&& other) noexcept;
    ~TensorMemory();

    [[nodiscard]] std::span<std::uint8_t> bytes() { return {data_, size_}; }
    [[nodiscard]] ByteView bytes() const { return {data_, size_}; }
    [[nodiscard]] bool in_file() const { return heap_ == nullptr; }

  private:
    TensorMemory() = default;
    void swap(TensorMemory& other) noexcept;
    std::unique_ptr<std::uint64_t[]> heap_;  // u64: aligned for every dtype
    std::uint8_t* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace gym::dispute
