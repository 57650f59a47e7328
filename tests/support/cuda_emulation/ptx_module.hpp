// The PTX that nvcc makes of kernels/cuda, read into steps that a fiber of the emulation runs. Only
// the forms of instructions that the kernels may have are known: f32 arithmetic has .rn and neither
// .ftz nor .approx, everything else is refused with its line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shared_variables.hpp"

namespace gym::ptx {

struct Operand {
    enum class Kind : std::uint8_t {
        kNone,
        kRegister,
        kNotRegister,  ///< of a predicate
        kConstant,
        kThread,  ///< tid.x
        kBlock,   ///< ctaid, component `value`
        kGrid,    ///< nctaid, component `value`
        kParameters,
        kLocal,
    };
    Kind kind = Kind::kNone;
    std::uint32_t index = 0;  ///< of a register
    std::uint64_t value = 0;
    std::int64_t offset = 0;  ///< of an address
};

/// One thread's state.
struct Thread {
    std::uint64_t* registers;
    const std::uint8_t* parameters;
    std::size_t parameter_bytes;
    std::uint8_t* shared;
    std::uint8_t* local;
    std::size_t pc;
};

struct Instruction;
using Step = void (*)(Thread&, const Instruction&);

struct Instruction {
    Step step = nullptr;
    std::vector<Operand> operands;  ///< those in braces side by side
    std::size_t first_group = 1;    ///< operands that the first pair of braces has
    std::size_t last_group = 1;
    std::size_t target = 0;  ///< of a branch
    std::int64_t guard = -1;
    bool guard_negated = false;
    std::uint32_t line = 0;
};

struct Kernel {
    std::string name;    ///< as nvcc mangles it
    std::string module;  ///< file name
    std::size_t parameter_bytes = 0;
    std::size_t local_bytes = 0;
    std::size_t shared_bytes = 0;  ///< of the variables that it uses
    std::size_t registers = 0;
    std::vector<Instruction> instructions;
};

struct Module {
    std::vector<Kernel> kernels;
    std::vector<emulation::SharedVariable> shared;  ///< by offset, with gaps between
    std::vector<std::string> shared_names;
    std::size_t shared_bytes = 0;
};

/// @throws std::runtime_error with file name and line.
Module parse_module(const std::string& file_name, std::string_view text);

/// The step of an opcode such as "add.rn.f32"; null if kernels may not have it.
Step find_step(std::string_view opcode);

}  // namespace gym::ptx
