// One CUDA device with one stream: memory, copies, the first error. Host code; no CUDA header
// needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gym/kernels/cuda/attention_parts.hpp"

namespace gym::kernels::cuda {

/// Empty if some device of the machine can run the kernels (compute capability 8.0 or newer), else
/// why the first one cannot.
[[nodiscard]] std::string unavailable_reason();

/// A device of this machine.
struct DeviceInfo {
    std::string name;
    std::string uuid;  ///< "GPU-3a9c...", as nvidia-smi prints it: the card's, wherever it is
    std::size_t memory_bytes = 0;
    std::string unusable_because;  ///< empty: it can run the kernels
};
/// All devices, by index; if there are none, why and what to do, in `reason`.
[[nodiscard]] std::vector<DeviceInfo> list_devices(std::string& reason);

class Checks;
struct Command;  // graphs.hpp

/// A kernel, as the host knows it, and its grid.
struct Launch {
    const void* kernel;
    std::uint32_t x, y, z, threads;
};

/// Everything that is asked of a device runs in one order, on its stream. The first failure is kept
/// and makes every later call a no-op: callers look at error() where they would wait anyway
/// (download(), synchronize()). One thread at a time, and any: each call makes the device the
/// thread's current one.
class Device {
  public:
    /// @return null, with the reason in `error`.
    static std::unique_ptr<Device> open(int index, std::string& error);
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device();

    /// 256-byte aligned, contents undefined; belongs to the device. Null after a failure.
    [[nodiscard]] std::byte* allocate(std::size_t bytes);
    /// One for each size, as allocate() gives them, and together one allocation of the driver,
    /// which rounds each of its own up. Null for a size of 0.
    [[nodiscard]] std::vector<std::byte*> allocate_together(std::span<const std::uint64_t> sizes);

    /// Memory that calls reuse: buffer `index` is valid until the next scratch(index, ..).
    static constexpr int kScratchBuffers = 16;
    [[nodiscard]] std::byte* scratch(int index, std::size_t bytes);
    template <typename T>
    [[nodiscard]] T* scratch_of(int index, std::int64_t count) {
        return reinterpret_cast<T*>(scratch(index, static_cast<std::size_t>(count) * sizeof(T)));
    }

    /// Where the device reads pageable memory itself (HMM, ATS), it may do so later: the host's
    /// bytes stay until something has waited for the device.
    void upload(void* device, const void* host, std::size_t bytes);
    /// Waits for everything before it.
    void download(void* host, const void* device, std::size_t bytes);
    void copy(void* to, const void* from, std::size_t bytes);
    void clear(void* device, std::size_t bytes);
    void synchronize();

    /// What looks for the device's errors (checks.hpp), borrowed; nullptr: nothing does.
    void set_checks(Checks* checks) { checks_ = checks; }
    [[nodiscard]] Checks* checks() const { return checks_; }

    /// Attention of more than this takes one part of its windows after the other. memory_need()
    /// counts scratch for the default.
    void set_attention_limits(const AttentionLimits& limits) { attention_limits_ = limits; }
    [[nodiscard]] const AttentionLimits& attention_limits() const { return attention_limits_; }

    /// Empty as long as nothing failed.
    [[nodiscard]] const std::string& error() const { return error_; }
    [[nodiscard]] bool ok() const { return error_.empty(); }
    /// Whether that was a lack of memory on the device.
    [[nodiscard]] bool has_run_out_of_memory() const { return out_of_memory_; }
    /// "cuda:0".
    [[nodiscard]] std::string cuda_name() const { return "cuda:" + std::to_string(index_); }
    [[nodiscard]] std::string name() const;
    /// Memory that nobody, other processes included, has allocated. 0 also if the driver fails.
    [[nodiscard]] std::size_t free_bytes() const;

    /// From begin_repeated() to end_repeated(), work is expected to be what it was between the last
    /// two such calls: it waits to be started together, as CUDA graphs once it was the same twice.
    /// Any work is allowed; what the host waits for, uploads and scratch that grows divide it.
    void begin_repeated();
    void end_repeated();
    /// Why repeated work is not started as graphs, or no longer; empty: it is.
    [[nodiscard]] const std::string& no_graphs_because() const;

    /// For the kernels: where their launches and a cudaError_t go.
    /// @param arguments the kernel's only one, of `bytes`; with equal padding if it is equal.
    void start(const Launch& launch, const void* arguments, std::size_t bytes);
    void note(int cuda_error);
    /// A cudaStream_t of the device, which becomes the thread's current one.
    [[nodiscard]] void* stream();

  private:
    Device() = default;
    /// Makes the device current in this thread. @return whether it can be used.
    bool use();
    /// use(), and starts what waits.
    bool flush();
    void ask(const Command& command, const void* arguments);
    struct Memory;
    std::unique_ptr<Memory> memory_;
    void* stream_ = nullptr;
    int index_ = 0;
    Checks* checks_ = nullptr;
    AttentionLimits attention_limits_;
    std::string error_;
    bool out_of_memory_ = false;
};

}  // namespace gym::kernels::cuda
