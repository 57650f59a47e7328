// A stand-in for the CUDA runtime: the functions that nvcc's objects and device.cu call, for two
// devices in host memory. Streams are deferred: what is asked of one runs when something waits for
// it. Kernels run from their PTX (ptx_run.hpp) under the checks of the emulation, one at a time. As
// the real one, it has a current device in each thread and refuses to launch in a stream of another
// device. While a stream captures, nothing runs; what the real one does not allow then fails and
// makes the capture invalid. Graphs run with the arguments that were captured.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gym::emulation::runtime {

inline constexpr int kDevices = 2;

/// The `number`-th allocation from now on fails, counted from 1; 0: none does. An executable graph
/// is one, too.
void fail_allocation(std::int64_t number);
/// Allocations that nobody has freed.
std::size_t allocations();
/// What a process's context takes of a device.
inline constexpr std::size_t kContextBytes = std::size_t{256} << 20;
/// Every later call on the device fails with an error that the process cannot get rid of.
void break_device(int device);
/// No graph can be instantiated from now on.
void refuse_graphs();
/// Graphs and executable graphs that nobody has destroyed.
std::size_t graphs();
/// The device has compute capability 7.5 from now on.
void age_device(int device);
/// Whether an upload reads the host's memory when the device comes to it, as where a device reads
/// pageable memory itself, and not before the call returns.
void read_uploads_late(bool yes);
/// The driver numbers the two cards the other way round from now on.
void reorder_cards();
/// The driver supports this version of CUDA from now on, as the runtime counts them (12020); 0:
/// there is no driver.
void set_driver_version(int version);
/// The most memory that was allocated at once, as the driver rounds it up, since forget_peaks().
std::size_t peak_bytes(int device);
void forget_peaks();
/// What was asked of all devices.
struct Work {
    std::uint64_t launches = 0;  ///< of kernels, one by one
    std::uint64_t graphs = 0;    ///< launches of graphs
    std::uint64_t copies = 0;    ///< and clears; not by graphs
    std::uint64_t waits = 0;     ///< of the host for a stream
};
[[nodiscard]] Work work();
void forget_work();
/// Whether nothing is computed: memory has addresses and no bytes, and what is asked of streams is
/// only counted. Models of any size run so, and no check of theirs comes out right.
/// @pre nothing is allocated.
void only_count(bool yes);
/// Only counts as long as it lives; also where an assertion ends a test.
struct CountOnly {
    CountOnly() { only_count(true); }
    ~CountOnly() { only_count(false); }
    CountOnly(const CountOnly&) = delete;
    CountOnly& operator=(const CountOnly&) = delete;
};
/// A copy from here on a device leaves its target as new memory is, without contents, and is not
/// counted. Null while nothing is computed.
[[nodiscard]] const void* unwritten_memory();
/// All devices are as in the beginning.
void mend_devices();

}  // namespace gym::emulation::runtime
