#pragma once

#include <span>

#include "evm.hpp"
#include "gym/program/reach.hpp"

namespace gym::testing {

/// Calls of IOneStep for the only op of a program.
class OneStepCalls {
  public:
    explicit OneStepCalls(const program::ProgramParts& parts);

    /// reach() of one operand. @param index what the op reads where gathers look.
    [[nodiscard]] Bytes reach(std::size_t operand, std::uint64_t element, std::int32_t index) const;
    /// evaluate() from the operands' bytes.
    [[nodiscard]] Bytes evaluate(const std::vector<Bytes>& inputs, std::uint64_t element) const;

  private:
    chain::AbiValue descriptor_;
};

/// The words of a call's answer. @pre it succeeded.
std::vector<std::uint64_t> words_of(const EvmAnswer& answer);

/// The name of the custom error of IOneStep that an answer reverted with; empty for another revert.
std::string error_of(const EvmAnswer& answer);

}  // namespace gym::testing
