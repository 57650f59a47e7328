// Memory of the emulated device with a shadow: for every two bytes, the last write and the last
// read, each with block, thread and the number of barriers before it. From these follow bounds,
// initialisation and races.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace gym::emulation {

/// The thread that runs now. Blocks are numbered over all launches.
struct Running {
    bool kernel = false;
    /// The emulation itself runs. It shares functions of the standard library with the kernels,
    /// whose loads and stores are then none of a kernel's.
    bool checking = false;
    int device = 0;
    std::uint32_t first_block = 0;  ///< of this launch
    std::uint32_t block = 1;
    std::uint32_t epoch = 0;  ///< barriers that the block has passed
    std::uint32_t thread = 0;
    const std::uint8_t* stack = nullptr;
    std::size_t stack_bytes = 0;
    const std::uint8_t* arguments = nullptr;
    std::size_t argument_bytes = 0;
    std::string kernel_name;
    /// What a site is, if it is no address of the program's code.
    std::string (*describe_site)(const void* site) = nullptr;
};
extern Running running;

/// Nothing is checked while one of these exists.
class Unchecked {
  public:
    Unchecked() : before_(std::exchange(running.checking, true)) {}
    ~Unchecked() { running.checking = before_; }
    Unchecked(const Unchecked&) = delete;
    Unchecked& operator=(const Unchecked&) = delete;

  private:
    bool before_;
};

enum class Access { kRead, kWrite, kAtomic };

/// One load or store of `size` bytes. @param aligned it must be on a multiple of its size.
void check_access(Access access, const void* address, std::size_t size, const void* site,
                  bool aligned = true);

/// A copy to shared memory is under way (nothing may touch it), or has arrived.
void begin_copy(void* shared, std::size_t size);
void end_copy(void* shared, std::size_t size);

/// Allocations are aligned to this and to no more, as cudaMalloc promises.
inline constexpr std::size_t kAllocationAlignment = 256;

/// Uninitialised, never an address that was in use before; filled with NaN.
std::uint8_t* allocate_device(std::size_t bytes, const std::string& name, int device = 0);
void free_device(std::uint8_t* address);

// What the host does with device memory.
void check_device_range(Access access, const void* address, std::size_t bytes, const char* what);
void mark_initialised(const void* address, std::size_t bytes);
/// The bytes are as in a new allocation.
void forget_contents(void* address, std::size_t bytes);
/// The copied bytes are as initialised as their source.
void mark_copied(const void* to, const void* from, std::size_t bytes);

}  // namespace gym::emulation
