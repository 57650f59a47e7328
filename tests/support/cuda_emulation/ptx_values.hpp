// Operands of PTX instructions as C++ values.
#pragma once

#include <bit>
#include <cstring>
#include <type_traits>

#include "emulation.hpp"
#include "ptx_module.hpp"

namespace gym::ptx {

inline std::uint64_t component(const emulation::Index3& index, std::uint64_t which) {
    return which == 0 ? index.x : which == 1 ? index.y : index.z;
}

inline std::uint64_t raw(const Thread& thread, const Operand& operand) {
    using Kind = Operand::Kind;
    switch (operand.kind) {
        case Kind::kRegister:
            return thread.registers[operand.index];
        case Kind::kNotRegister:
            return thread.registers[operand.index] ^ 1U;
        case Kind::kConstant:
            return operand.value;
        case Kind::kThread:
            return emulation::place.thread.x;
        case Kind::kBlock:
            return component(emulation::place.block, operand.value);
        case Kind::kGrid:
            return component(emulation::place.grid, operand.value);
        case Kind::kParameters:
            return reinterpret_cast<std::uintptr_t>(thread.parameters);
        case Kind::kLocal:
            return reinterpret_cast<std::uintptr_t>(thread.local);
        case Kind::kNone:
            break;
    }
    return 0;
}

/// The low bits of a register; predicates are bool.
template <typename T>
T get(const Thread& thread, const Operand& operand) {
    const std::uint64_t bits = raw(thread, operand);
    if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    else if constexpr (std::is_same_v<T, bool>)
        return (bits & 1U) != 0;
    else
        return static_cast<T>(bits);
}

/// A narrow value is extended by its own sign.
template <typename T>
void set(Thread& thread, const Operand& operand, T value) {
    if (operand.kind != Operand::Kind::kRegister) return;  // "_"
    std::uint64_t& out = thread.registers[operand.index];
    if constexpr (std::is_same_v<T, float>)
        out = std::bit_cast<std::uint32_t>(value);
    else if constexpr (std::is_signed_v<T>)
        out = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    else
        out = static_cast<std::uint64_t>(value);
}

/// What an NVIDIA device makes of any NaN.
inline float device_nan(float x) {
    return x != x ? std::bit_cast<float>(0x7FFF'FFFFU) : x;
}

}  // namespace gym::ptx
