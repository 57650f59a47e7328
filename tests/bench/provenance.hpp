// The origin of a figure: a ratio means nothing without the CPU and the peer's kernels.
#pragma once

#include <string>

namespace gym::bench {

/// "Intel(R) Xeon(R) Processor, family 6, model 207, stepping 2", of /proc/cpuinfo; "unknown CPU"
/// without it.
[[nodiscard]] std::string cpu_model();

/// "libtorch 1.13.0; OpenBLAS 0.3.21 SkylakeX; oneDNN 2.6.0 AVX512_CORE_AMX": versions of the
/// libraries in this process, with the kernels that they chose. Those that are not linked are left
/// out.
[[nodiscard]] std::string linked_libraries();

/// Whether bf16 products have instructions here, so that a bf16 peer is not an emulation.
[[nodiscard]] bool cpu_has_bf16();

}  // namespace gym::bench
