// Work that is asked of a stream again and again becomes CUDA graphs
// (docs/adr/0046-repeated-work-as-graphs.md). Host code.
#pragma once

#include <cuda_runtime.h>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gym::kernels::cuda {

/// A kernel, a copy on the device or a clear.
struct Command {
    const void* what;                ///< a kernel, or the source of a copy; null: zeros
    void* to;                        ///< of a copy or a clear
    std::uint64_t bytes;             ///< copied or cleared, or of a kernel's arguments
    std::uint32_t x, y, z, threads;  ///< the grid; of a copy or a clear 0
};

[[nodiscard]] cudaError_t start(const Command& command, const void* arguments, cudaStream_t stream);

/// The runs of a program ask the same of a device: equal kernels with equal arguments in the same
/// order. From begin() to end(), commands are noted byte by byte, in segments. A segment that
/// differs from the one that the run before had in its place is started command by command. The
/// second of two equal ones is captured, and a graph takes the place of all that follow it: so no
/// argument of a graph is ever stale. The caller makes the stream's device the current one, and
/// calls flush() before anything else is asked of the stream. Not thread-safe.
class Graphs {
  public:
    explicit Graphs(cudaStream_t stream) : stream_(stream) {}
    ~Graphs();
    Graphs(const Graphs&) = delete;
    Graphs& operator=(const Graphs&) = delete;

    void begin();
    [[nodiscard]] cudaError_t end();
    [[nodiscard]] bool are_noting() const { return noting_; }
    /// @return whether the segment is full: flush() must be next.
    [[nodiscard]] bool add(const Command& command, const void* arguments);
    /// Starts what was noted. A failure to make a graph is none of the commands', which are started
    /// one by one then; no further graph is made.
    [[nodiscard]] cudaError_t flush();
    /// Forgets what was noted and not started.
    void drop_noted();
    /// Gives the memory of all graphs back, for good: no further one is made.
    /// @return whether there were any.
    bool give_up(cudaError_t reason);
    /// Why no graph is made any more; empty: they are made.
    [[nodiscard]] const std::string& refused_because() const { return refused_because_; }

  private:
    struct Segment {
        std::vector<std::uint8_t> commands;
        cudaGraphExec_t graph = nullptr;
    };
    [[nodiscard]] cudaError_t start_all(const Segment& segment) const;
    [[nodiscard]] cudaError_t capture(Segment& segment) const;
    /// The device may be running it.
    void destroy_graph(Segment& segment) const;

    cudaStream_t stream_;
    bool noting_ = false;
    std::vector<Segment> segments_;  ///< of the last run
    std::size_t next_ = 0;           ///< the segment that is noted
    std::vector<std::uint8_t> noted_;
    int commands_ = 0;  ///< in noted_
    std::string refused_because_;
};

}  // namespace gym::kernels::cuda
