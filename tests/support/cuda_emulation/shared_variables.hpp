// The __shared__ variables of the kernels: static variables of functions, found with their sizes in
// the program's own table of symbols.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gym::emulation {

struct SharedVariable {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    const char* name = "";  ///< as the linker knows it
    std::size_t index = 0;
};

/// The static variable of a function that contains `address`; null if there is none.
const SharedVariable* find_shared(std::uintptr_t address);

/// Whether `address` lies in memory of the program that cannot be written: its constants.
bool is_constant(std::uintptr_t address);

}  // namespace gym::emulation
