// What the parts of the stand-in for the CUDA runtime share (runtime.cpp, runtime_graphs.cpp).
#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "ptx_module.hpp"
#include "runtime.hpp"

namespace gym::emulation::runtime {

/// Something that a stream is asked to do. A graph does it more than once.
using Task = std::function<void()>;

struct Capture {
    std::thread::id thread;
    cudaStreamCaptureMode mode;
    bool invalid = false;
    std::vector<Task> tasks;
};
struct Stream {
    int device;
    bool is_blocking;  ///< waits for the legacy stream, and that for it
    std::deque<Task> work;
    std::optional<Capture> capture;
};
struct Allocation {
    int device;
    std::size_t bytes;
};
struct Graph {
    int device;
    std::vector<Task> tasks;
};
struct Event {
    int device;
    std::optional<bool> is_over;  ///< of what it was recorded after; unset: that was captured
};

/// What all threads share, under `mutex`.
struct Runtime {
    std::mutex mutex;
    std::map<const void*, Allocation> memory;
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<std::unique_ptr<Graph>> graphs, executable_graphs;
    std::map<const void*, const ptx::Kernel*> kernels;  ///< by the host's stub
    std::int64_t fail_allocation = 0;
    bool refuse_graphs = false;
    std::array<bool, kDevices> broken{};
    std::array<bool, kDevices> old{};
    bool reordered = false;               ///< which card is which device
    int driver_version = CUDART_VERSION;  ///< of CUDA that the driver supports; 0: there is none
    bool late_reads = false;
    std::array<std::size_t, kDevices> used{}, peak{};
    Work work;
    bool only_count = false;
    std::uintptr_t next_address = 4096;  ///< of memory that has no bytes
};
Runtime& runtime();

/// The device of the calling thread.
int current_device();

/// For cudaGetLastError(), if it is an error.
cudaError_t keep(cudaError_t error);

/// The error of every call on a broken device.
cudaError_t state_of(int device);

/// Whether this allocation is the one that is to fail.
bool allocation_fails();

inline Stream& stream_of(cudaStream_t handle) {
    return *reinterpret_cast<Stream*>(handle);
}

/// Runs everything that was asked of the stream.
void drain(Stream& stream);

/// Asks the stream for a task, or adds it to the stream's capture.
void ask(Stream& stream, Task task);

/// Of a call that enqueues work. A capture that it is not allowed in is invalid afterwards, as in
/// the two below.
cudaError_t check_stream(cudaStream_t handle);
/// Of a call that capture does not see, such as cudaMalloc().
cudaError_t check_unseen_call();
/// Of a call that waits for the stream.
cudaError_t check_wait(Stream& stream);

}  // namespace gym::emulation::runtime
