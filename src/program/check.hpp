#pragma once

#include <string>

#include "gym/program/validate.hpp"

namespace gym::program {

/// Dims with the last one replaced.
[[nodiscard]] inline Dims with_last(Dims dims, std::uint64_t last) {
    dims.back() = static_cast<std::uint32_t>(last);
    return dims;
}

/// The slots of one op, and the rules they are tested with; the first broken one is kept.
class Check {
  public:
    Check(std::span<const Slot> slots, const Op& op) : slots_(slots), op_(op) {}

    [[nodiscard]] const Slot& in(std::size_t i) const { return slots_[op_.inputs[i]]; }
    [[nodiscard]] const Slot& out(std::size_t i = 0) const { return slots_[op_.outputs[i]]; }
    [[nodiscard]] std::uint64_t attribute(std::size_t i) const { return op_.attributes[i]; }
    [[nodiscard]] std::size_t inputs() const { return op_.inputs.size(); }
    [[nodiscard]] bool ok() const { return status_.ok(); }
    [[nodiscard]] Status status() const { return status_; }

    void require(bool condition, const std::string& rule) {
        if (!condition && status_.ok()) status_ = fail(ErrorCode::kShapeMismatch, rule);
    }
    void dtype(const Slot& slot, DType wanted, const std::string& what) {
        require(slot.dtype == wanted, what + " must be " + std::string(to_string(wanted)) +
                                          ", not " + std::string(to_string(slot.dtype)));
    }
    void rank(const Slot& slot, std::size_t wanted, const std::string& what) {
        require(slot.dims.size() == wanted,
                what + " must have rank " + std::to_string(wanted) + ": " + to_string(slot.dims));
    }
    void dims(const Slot& slot, const Dims& wanted, const std::string& what) {
        require(slot.dims == wanted,
                what + " must be " + to_string(wanted) + ", not " + to_string(slot.dims));
    }
    void count(const Slot& slot, std::uint64_t wanted, const std::string& what) {
        require(element_count(slot.dims) == wanted, what + " must have " + std::to_string(wanted) +
                                                        " elements: " + to_string(slot.dims));
    }
    /// Every input and output is f32.
    void all_f32() {
        for (std::size_t i = 0; i < inputs(); ++i)
            dtype(in(i), DType::kF32, "input " + std::to_string(i));
        for (std::size_t i = 0; i < op_.outputs.size(); ++i)
            dtype(out(i), DType::kF32, "output " + std::to_string(i));
    }
    void indices(const Slot& slot, std::uint64_t wanted) {
        dtype(slot, DType::kI32, "indices");
        count(slot, wanted, "indices");
    }

  private:
    std::span<const Slot> slots_;
    const Op& op_;
    Status status_;
};

// The rules of the primitives; the macros' are in macro.hpp.
void check_primitive(Check& c, Opcode code);

}  // namespace gym::program
