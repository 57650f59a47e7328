#include "evm.hpp"

#include <algorithm>

#include "gym/contracts/artifact.hpp"
#include "must.hpp"

namespace gym::testing {
namespace {

/// Room for a whole batch; a single call in it is bounded by what its test asserts.
constexpr std::uint64_t kCallGas = 2'000'000'000;
constexpr std::uint64_t kDeployGas = 10'000'000;
constexpr std::size_t kBatchBytes = 200'000;
constexpr std::size_t kCaseBytes = 12;
constexpr std::size_t kCasesPerCall = 10'000;

chain::AbiSignature signature(const char* text) {
    return must(chain::AbiSignature::parse(text), text);
}

std::vector<chain::AbiValue> decoded(const char* type, const Bytes& data) {
    return must(chain::abi_decode({must(chain::AbiType::parse(type), type)}, data), type);
}

}  // namespace

Evm::Evm() : sender_(anvil_.node_account()) {
    anvil_.rpc("evm_setBlockGasLimit", "[\"" + quantity(Amount(kCallGas)) + "\"]");
    std::vector<chain::AbiValue> families;
    for (const char* name : {"ElementwiseOps", "MovementOps", "SumOps", "ProductOps"})
        families.emplace_back(deploy(name));
    one_step_ = deploy("OneStep", families);
    harness_ = deploy("NumericsHarness");
}

Address Evm::deploy(const std::string& name, const std::vector<chain::AbiValue>& arguments) {
    const auto folder = must(contracts::find_artifacts(), "artifacts");
    const contracts::Artifact artifact = must(contracts::load_artifact(folder, name), name.c_str());
    Bytes data = artifact.bytecode;
    const Bytes encoded = must(chain::abi_encode(artifact.constructor, arguments), "arguments");
    data.insert(data.end(), encoded.begin(), encoded.end());
    const chain::Receipt receipt =
        anvil_.transact({.from = sender_, .data = data, .gas = kDeployGas});
    GYM_ASSERT(receipt.success && receipt.contract_address.has_value(), "the contract is deployed");
    return *receipt.contract_address;
}

Bytes Evm::call(const Address& to, const Bytes& data) {
    chain::CallRequest request;
    request.to = to;
    request.data = data;
    request.gas_limit = kCallGas;
    auto outcome = must(anvil_.client().call(request, chain::BlockTag::kLatest), "eth_call");
    if (outcome.reverted)
        assertion_failed("eth_call", "reverted: " + to_hex0x(outcome.output), __FILE__, __LINE__);
    return std::move(outcome.output);
}

std::vector<EvmAnswer> Evm::many(const Address& to, const std::vector<Bytes>& calls) {
    std::vector<EvmAnswer> out;
    std::vector<chain::AbiValue> batch;
    std::size_t size = 0;
    for (const Bytes& one : calls) {
        batch.emplace_back(one);
        size += one.size();
        if (size < kBatchBytes && &one != &calls.back()) continue;
        const auto part = answers(to, batch);
        out.insert(out.end(), part.begin(), part.end());
        batch.clear();
        size = 0;
    }
    return out;
}

std::vector<EvmAnswer> Evm::answers(const Address& to, const std::vector<chain::AbiValue>& calls) {
    static const auto kMany = signature("many(address,bytes[])");
    const Bytes data = must(kMany.encode_call({to, chain::AbiValue(calls)}), "many");
    const auto values = decoded("(bool,uint256,bytes)[]", call(harness_, data));
    std::vector<EvmAnswer> out;
    const chain::AbiValue::List list = must(values.at(0).list(), "answers");
    for (const chain::AbiValue& value : list) {
        const chain::AbiValue::List fields = must(value.list(), "answer");
        out.push_back(
            {fields[0].boolean().value(), fields[1].u64().value(), fields[2].bytes().value()});
    }
    return out;
}

std::vector<std::uint64_t> Evm::numbers(std::uint64_t number,
                                        const std::vector<std::array<std::uint32_t, 3>>& cases) {
    static const auto kRun = signature("run(uint256,bytes)");
    std::vector<std::uint64_t> out;
    for (std::size_t begin = 0; begin < cases.size(); begin += kCasesPerCall) {
        const std::size_t end = std::min(begin + kCasesPerCall, cases.size());
        Bytes packed;
        packed.reserve((end - begin) * kCaseBytes);
        for (std::size_t i = begin; i < end; ++i)
            for (const std::uint32_t word : cases[i])
                for (int shift = 24; shift >= 0; shift -= 8)
                    packed.push_back(static_cast<std::uint8_t>(word >> shift));
        const Bytes data = must(kRun.encode_call({number, packed}), "run");
        const Bytes results = decoded("bytes", call(harness_, data)).at(0).bytes().value();
        GYM_ASSERT(results.size() == (end - begin) * 8, "a result for each case");
        for (std::size_t at = 0; at < results.size(); at += 8) {
            std::uint64_t result = 0;
            for (std::size_t k = 0; k < 8; ++k)
                result = result << 8 | results[at + k];
            out.push_back(result);
        }
    }
    return out;
}

}  // namespace gym::testing
