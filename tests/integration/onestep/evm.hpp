#pragma once

#include <string>
#include <vector>

#include "anvil.hpp"
#include "gym/chain/abi.hpp"

namespace gym::testing {

/// The result of one contract call.
struct EvmAnswer {
    bool ok = false;
    std::uint64_t gas = 0;
    Bytes data;  ///< returned, or the revert's
};

/// The one-step contracts and the test harness on a private chain. A chain that does not do what
/// the specification says ends the program: no test could go on.
class Evm {
  public:
    Evm();

    [[nodiscard]] const Address& one_step() const { return one_step_; }
    [[nodiscard]] const Address& harness() const { return harness_; }

    /// One eth_call that must succeed.
    [[nodiscard]] Bytes call(const Address& to, const Bytes& data);
    /// Each of `calls` to OneStep, in few eth_calls.
    [[nodiscard]] std::vector<EvmAnswer> many(const std::vector<Bytes>& calls) {
        return many(one_step_, calls);
    }
    [[nodiscard]] std::vector<EvmAnswer> many(const Address& to, const std::vector<Bytes>& calls);
    /// `number` of NumericsHarness.one() on each case {a, b, c}.
    [[nodiscard]] std::vector<std::uint64_t> numbers(
        std::uint64_t number, const std::vector<std::array<std::uint32_t, 3>>& cases);

    /// Puts a contract on the chain. @return its address.
    Address deploy(const std::string& name, const std::vector<chain::AbiValue>& arguments = {});

  private:
    std::vector<EvmAnswer> answers(const Address& to, const std::vector<chain::AbiValue>& calls);

    TestAnvil anvil_;
    Address sender_;
    Address one_step_;
    Address harness_;
};

}  // namespace gym::testing
