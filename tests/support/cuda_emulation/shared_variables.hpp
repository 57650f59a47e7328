// The __shared__ variables of the kernels: static variables of functions, found with their sizes in
// the program's own table of symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gym::emulation {

struct SharedVariable {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    const char* name = "";  ///< as the linker knows it
    std::size_t index = 0;
};

/// From now on, these are all that there are, sorted by `begin`; `index` tells them apart from all
/// others.
void set_shared_variables(std::span<const SharedVariable> variables);

/// The static variable of a function that contains `address`; null if there is none.
const SharedVariable* find_shared(std::uintptr_t address);

/// Whether `address` lies in memory of the program that cannot be written: its constants.
bool is_constant(std::uintptr_t address);

}  // namespace gym::emulation
