// How fast this machine's memory is: the bound of kernels that compute little.
#pragma once

#include "gym/kernels/context.hpp"

namespace gym::kernels {

/// Bytes a second, read and written together, of copies by all threads of `context` that no cache
/// holds: the best of many short ones, since others may use the machine too. Takes 512 MiB of
/// memory and less than a second. A measurement, so never the same twice.
[[nodiscard]] double copy_bandwidth(const Context& context);

}  // namespace gym::kernels
