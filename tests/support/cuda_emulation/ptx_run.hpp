// Kernels run from the PTX that nvcc made of them, under the checks of the emulation: the files
// *.ptx of the folder GYM_CUDA_PTX, of which all kernels are then translated. The program ends with
// the reason if one has what kernels may not have.
#pragma once

#include <string>
#include <vector>

#include "emulation.hpp"
#include "ptx_module.hpp"

namespace gym::ptx {

/// @param name of the entry (mangled) or of the kernel's type (mangled). Null if there is none.
const Kernel* find_kernel(const char* name);

/// Of all that were read, by name of the type.
[[nodiscard]] std::vector<std::string> kernels_that_never_ran();

/// What to launch. Valid until the next call.
emulation::KernelCall call_of(const Kernel& kernel, const void* arguments);

}  // namespace gym::ptx
