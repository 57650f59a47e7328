#pragma once

#include <vector>

#include "gym/kernels/cuda/device.hpp"
#include "gym/kernels/cuda/macros.hpp"
#include "gym/kernels/cuda/primitives.hpp"
#include "gym/program/program.hpp"
#include "slot_shape.hpp"

namespace gym::engine {

/// Device memory of each slot, by id.
using DevicePointers = std::vector<std::byte*>;

/// One op of a running program.
struct CudaCall {
    kernels::cuda::Device& device;
    std::span<const program::Slot> slots;
    const program::Op& op;
    const DevicePointers& memory;

    [[nodiscard]] const program::Slot& input_slot(std::size_t k) const {
        return slots[op.inputs[k]];
    }
    [[nodiscard]] const program::Slot& output_slot(std::size_t k = 0) const {
        return slots[op.outputs[k]];
    }
    template <class T = float>
    [[nodiscard]] const T* input(std::size_t k) const {
        return reinterpret_cast<const T*>(memory[op.inputs[k]]);
    }
    template <class T = float>
    [[nodiscard]] T* output(std::size_t k = 0) const {
        return reinterpret_cast<T*>(memory[op.outputs[k]]);
    }
};

/// A tensor as rows of its last dim, for a kernel.
inline kernels::cuda::Rows device_rows(const program::Slot& slot) {
    const Rows rows = rows_of(slot);
    return {rows.count, rows.length};
}

/// @return false: `call.op` is not what the function is for (or, of the last one, there is no
/// device kernel).
bool run_cuda_macro(const CudaCall& call);
bool run_cuda_primitive(const CudaCall& call);

/// Of an adamw or adamw_guarded op.
[[nodiscard]] kernels::cuda::AdamwScalars adamw_scalars(const CudaCall& call);

/// Steps that one launch makes: of ops one after the other that have all numbers but weight decay
/// in common, and of which none reads what another one writes.
struct AdamwGroup {
    std::uint32_t begin, end;  ///< ops
    std::vector<kernels::AdamwStep> steps;
    kernels::cuda::AdamwScalars scalars;
};
/// The largest group that begins with op `begin`. It has no steps if that op is another one than
/// adamw or adamw_guarded.
[[nodiscard]] AdamwGroup adamw_group(kernels::cuda::Device& device, const program::Program& program,
                                     const DevicePointers& memory, std::uint32_t begin);

/// Runs any op: by its device macro if there is one, else by its expansion. @return false if a
/// primitive has no device kernel.
bool execute_on_device(const CudaCall& call);

}  // namespace gym::engine
