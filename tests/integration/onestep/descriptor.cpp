#include "descriptor.hpp"

#include <algorithm>

namespace gym::testing {
namespace {

#define GYM_DESCRIPTOR "(uint16,uint64[8],(uint8,uint8,uint32[5]),(uint8,uint8,uint32[5])[])"

constexpr const char* kErrors[] = {"UnknownOpcode(uint256)",
                                   "WrongArity(uint256)",
                                   "BadAttribute(uint256)",
                                   "BadDtype(uint256)",
                                   "BadShape(uint256)",
                                   "ElementOutOfRange(uint256,uint256)",
                                   "NoSuchOperand(uint256)",
                                   "WrongInputCount(uint256,uint256)",
                                   "WrongInputLength(uint256,uint256,uint256)"};

chain::AbiValue shape(const program::Slot& slot) {
    chain::AbiValue::List dims(program::kRankMax, chain::AbiValue(std::uint64_t{0}));
    for (std::size_t k = 0; k < slot.dims.size(); ++k)
        dims[k] = std::uint64_t{slot.dims[k]};
    return chain::AbiValue::List{static_cast<std::uint64_t>(slot.dtype),
                                 std::uint64_t{slot.dims.size()}, dims};
}

chain::AbiValue descriptor(const program::ProgramParts& parts) {
    const program::Op& op = parts.ops.at(0);
    const chain::AbiValue::List attributes(op.attributes.begin(), op.attributes.end());
    chain::AbiValue::List inputs;
    for (const program::SlotId id : op.inputs)
        inputs.push_back(shape(parts.slots[id]));
    return chain::AbiValue::List{static_cast<std::uint64_t>(op.code), attributes,
                                 shape(parts.slots[op.outputs.at(0)]), inputs};
}

Bytes encoded(const char* function, const std::vector<chain::AbiValue>& arguments) {
    const auto signature = chain::AbiSignature::parse(function);
    GYM_ASSERT(signature.ok(), "a signature of IOneStep");
    auto call = signature->encode_call(arguments);
    GYM_ASSERT(call.ok(), "a descriptor that can be encoded");
    return std::move(call).value();
}

}  // namespace

OneStepCalls::OneStepCalls(const program::ProgramParts& parts) : descriptor_(descriptor(parts)) {}

Bytes OneStepCalls::reach(std::size_t operand, std::uint64_t element, std::int32_t index) const {
    return encoded("reach(" GYM_DESCRIPTOR ",uint256,uint64,uint32)",
                   {descriptor_, std::uint64_t{operand}, element,
                    std::uint64_t{static_cast<std::uint32_t>(index)}});
}

Bytes OneStepCalls::evaluate(const std::vector<Bytes>& inputs, std::uint64_t element) const {
    return encoded("evaluate(" GYM_DESCRIPTOR ",bytes[],uint64)",
                   {descriptor_, chain::AbiValue::array(inputs), element});
}

std::vector<std::uint64_t> words_of(const EvmAnswer& answer) {
    GYM_ASSERT(answer.ok, "a call that succeeded");
    std::vector<std::uint64_t> words;
    for (std::size_t at = 0; at + 32 <= answer.data.size(); at += 32) {
        std::array<std::uint8_t, 32> word{};
        std::copy_n(answer.data.begin() + static_cast<std::ptrdiff_t>(at), 32, word.begin());
        words.push_back(Amount::from_be32(word).to_u64().value());
    }
    return words;
}

std::string error_of(const EvmAnswer& answer) {
    for (const char* text : kErrors) {
        const auto signature = chain::AbiSignature::parse(text);
        const auto selector = signature->selector();
        if (!answer.ok && answer.data.size() >= selector.size() &&
            std::equal(selector.begin(), selector.end(), answer.data.begin()))
            return signature->name;
    }
    return {};
}

}  // namespace gym::testing
