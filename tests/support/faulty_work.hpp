#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "gym/engine/fault_injection.hpp"
#include "gym/game/unit_work.hpp"

/// Sides of a dispute that are wrong. For targets that link gym_engine_fault_injection.
namespace gym::game::testing {

/// A bit of what one op writes in one step is flipped, whenever the step is run.
struct Fault {
    std::uint64_t step = 0;
    std::uint32_t op = 0;
    std::uint64_t output = 0;  ///< modulo the op's outputs
    std::uint64_t bit = 0;     ///< modulo the output's bits
    friend std::ostream& operator<<(std::ostream& to, const Fault& fault) {
        return to << "step " << fault.step << ", op " << fault.op << ", output " << fault.output
                  << ", bit " << fault.bit;
    }
};

/// A unit's rerun in which every call is answered by `work`; the base of players that lie.
class WorkOf : public UnitWork {
  public:
    explicit WorkOf(UnitWork& work) : work_(work) {}
    [[nodiscard]] const dispute::TraceProgram& trace() const override { return work_.trace(); }
    [[nodiscard]] const dispute::TraceTrees& records() const override { return work_.records(); }
    Result<const dispute::UnitStates*> states() override { return work_.states(); }
    Result<const dispute::StepTrace*> step(std::uint32_t step) override { return work_.step(step); }
    Result<const std::vector<Digest>*> primitives(std::uint32_t step, std::uint32_t leaf) override {
        return work_.primitives(step, leaf);
    }
    Result<const dispute::TensorTrace*> tensor(std::uint32_t step, std::uint32_t leaf,
                                               std::uint32_t primitive) override {
        return work_.tensor(step, leaf, primitive);
    }
    Result<const dispute::TracedTensor*> windows(std::uint32_t step) override {
        return work_.windows(step);
    }
    Result<const dispute::TracedTensor*> delta() override { return work_.delta(); }
    Result<SlotElement> slot_element(std::uint32_t slot, std::uint64_t element) override {
        return work_.slot_element(slot, element);
    }
    Result<dispute::ChunksOpening> dataset_chunk(std::uint64_t token) override {
        return work_.dataset_chunk(token);
    }
    [[nodiscard]] std::uint64_t dataset_tokens() const override { return work_.dataset_tokens(); }

  protected:
    UnitWork& work_;
};

/// A worker whose device does something else with what ops write.
class HookedWork : public WorkOf {
    template <class Call>
    std::invoke_result_t<Call> hooked(Call call) {
        engine::set_fault_hook(make_());
        auto result = call();
        engine::set_fault_hook({});
        return result;
    }

  public:
    /// @param make a fresh hook for every run.
    HookedWork(UnitWork& work, std::function<engine::FaultHook()> make)
        : WorkOf(work), make_(std::move(make)) {}
    Result<const dispute::UnitStates*> states() override {
        return hooked([&] { return work_.states(); });
    }
    Result<const dispute::StepTrace*> step(std::uint32_t step) override {
        return hooked([&] { return work_.step(step); });
    }
    Result<const std::vector<Digest>*> primitives(std::uint32_t step, std::uint32_t leaf) override {
        return hooked([&] { return work_.primitives(step, leaf); });
    }
    Result<const dispute::TensorTrace*> tensor(std::uint32_t step, std::uint32_t leaf,
                                               std::uint32_t primitive) override {
        return hooked([&] { return work_.tensor(step, leaf, primitive); });
    }
    Result<const dispute::TracedTensor*> delta() override {
        return hooked([&] { return work_.delta(); });
    }

  private:
    std::function<engine::FaultHook()> make_;
};

/// A worker whose device has a fault.
class FaultyWork final : public HookedWork {
  public:
    FaultyWork(UnitWork& work, const Fault& fault, std::uint64_t outputs)
        : HookedWork(work,
                     [fault, wanted = fault.output % outputs] { return flip(fault, wanted); }) {}

  private:
    static engine::FaultHook flip(const Fault& fault, std::uint64_t wanted) {
        return [fault, wanted, output = std::uint64_t{0}](std::uint64_t run, std::uint32_t op,
                                                          std::span<std::uint8_t> bytes) mutable {
            if (run != fault.step || op != fault.op) {
                output = 0;  // of the op that is running
            } else if (output++ == wanted) {
                const std::uint64_t bit = fault.bit % (bytes.size() * 8);
                bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
            }
        };
    }
};

}  // namespace gym::game::testing
