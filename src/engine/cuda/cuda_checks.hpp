#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cuda_execute.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/kernels/cuda/checks.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// Looks for errors of a device while a program runs on it (docs/adr/0038-checked-devices.md):
/// every op but products runs twice, products have their own sums, and every slot must still have
/// the sum that it was written with after each op that reads it. Knows the sum of each slot's
/// memory. Not thread-safe.
class CudaChecks {
  public:
    /// All must outlive the object, which is the device's from then on.
    CudaChecks(kernels::cuda::Device& device, const program::Program& program,
               const DevicePointers& memory);
    ~CudaChecks();
    CudaChecks(const CudaChecks&) = delete;
    CudaChecks& operator=(const CudaChecks&) = delete;

    /// The slot's memory now has these bytes. @pre not between begin_run() and settle(), but for
    /// the inputs of a run, before its first op.
    void uploaded(program::SlotId id, ByteView bytes);
    void begin_run();
    /// @param execute runs the op once.
    void run_op(std::uint32_t op_index, const std::function<Status()>& execute, Status& outcome);
    /// Runs the steps of a group, checked by the sums of what they are to write.
    void run_adamw(const AdamwGroup& group);
    /// The state slots have their next values.
    void take_next_value(program::SlotId id);
    /// The slots' memory is what it was, after something that read it.
    void expect_unchanged(std::span<const program::SlotId> ids);
    /// These bytes came from the device as the slot's.
    void downloaded(program::SlotId id, ByteView bytes);
    /// Waits for the device, and compares. @errors device_erred().
    Status settle();

  private:
    using Sum = kernels::cuda::Checks::Sum;
    [[nodiscard]] kernels::cuda::Region region_of(program::SlotId id) const;
    [[nodiscard]] std::vector<program::SlotId> inputs_of(const program::Op& op) const;
    [[nodiscard]] std::vector<kernels::cuda::Region> regions_of(
        std::span<const program::SlotId> ids) const;
    /// Those of the slots whose sum is known; not of a state that nobody loaded.
    [[nodiscard]] std::vector<program::SlotId> known(std::vector<program::SlotId> ids) const;
    void expect(std::span<const Sum> found, std::span<const program::SlotId> ids);
    /// Of attention whose gradient comes later: it computes the numerators again.
    [[nodiscard]] bool is_computed_again(std::uint32_t op_index) const;
    /// An operand that the op writes over.
    [[nodiscard]] kernels::cuda::Checks::Overwritten overwritten_slot(program::SlotId id);

    kernels::cuda::Device& device_;
    const program::Program& program_;
    const DevicePointers& memory_;
    kernels::cuda::Checks checks_;
    std::vector<Sum> sums_;  ///< by slot; -1: nothing is known yet
    struct Download {
        program::SlotId id;
        Sum sum;
        std::uint64_t found;
    };
    std::vector<Download> downloads_;  ///< since settle()
};

}  // namespace gym::engine
