// Every op on a device against its definition, bit for bit.
#include <gtest/gtest.h>

#include <optional>

#include "cuda/cuda_execute.hpp"
#include "device_memory.hpp"
#include "gym/engine/reference.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/program/expand.hpp"
#include "macro_cases.hpp"

namespace gym::engine {
namespace {

using namespace testing;
using kernels::cuda::Device;

/// Slots in host memory: inputs filled at random.
class HostMemory {
  public:
    HostMemory(std::span<const program::Slot> slots, Rng& rng) {
        for (const program::Slot& slot : slots) {
            const auto fill = static_cast<Fill>(rng() % 3 == 0 ? rng() % kFills : 0);
            const bool input = slot.kind != program::SlotKind::kTemp;
            storage_.push_back(input ? random_storage(rng, slot, fill)
                                     : Storage((program::size_bytes(slot) + 7) / 8));
        }
    }
    [[nodiscard]] SlotPointers pointers() {
        SlotPointers pointers;
        for (Storage& storage : storage_)
            pointers.push_back(reinterpret_cast<std::uint8_t*>(storage.data()));
        return pointers;
    }

  private:
    std::vector<Storage> storage_;
};

DevicePointers upload(Device& device, std::span<const program::Slot> slots,
                      const SlotPointers& host) {
    DevicePointers pointers;
    for (std::size_t id = 0; id < slots.size(); ++id) {
        pointers.push_back(poisoned(device, program::size_bytes(slots[id])));
        if (slots[id].kind == program::SlotKind::kTemp) continue;  // an op is to write it
        device.upload(pointers.back(), host[id], program::size_bytes(slots[id]));
    }
    return pointers;
}

std::string describe(std::span<const program::Slot> slots, const program::Op& op) {
    std::string text(program::to_string(op.code));
    for (const SlotId id : op.inputs)
        text += " " + program::to_string(slots[id].dims);
    return text;
}

/// Bytes of the slot that differ: -1 for none.
std::int64_t first_difference(Device& device, const program::Slot& slot,
                              const std::uint8_t* expected, const std::byte* found) {
    Bytes bytes(program::size_bytes(slot));
    device.download(bytes.data(), found, bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] != expected[i]) return static_cast<std::int64_t>(i);
    }
    return -1;
}

class DeviceOp : public ::testing::TestWithParam<Opcode> {
  protected:
    void SetUp() override {
        const std::string reason = kernels::cuda::unavailable_reason();
        if (!reason.empty()) GTEST_SKIP() << reason;
        std::string error;
        device_ = Device::open(0, error);
        ASSERT_NE(device_, nullptr) << error;
    }
    std::unique_ptr<Device> device_;
    const kernels::ExactFloatEnvironment environment_;
};

TEST_P(DeviceOp, GivesTheBitsOfItsDefinition) {
    Rng rng(test_seed() + static_cast<std::uint64_t>(GetParam()));
    for (int round = 0; round < 3 * test_scale(); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        MacroCase one(rng, GetParam());
        const auto program = one.make();
        ASSERT_TRUE(program.ok()) << program.error().message;
        const auto& slots = program->slots();
        const auto& op = program->ops()[0];
        HostMemory host(slots, rng);
        number_documents(rng, *program, host.pointers());
        const DevicePointers found = upload(*device_, slots, host.pointers());
        run_primitives(slots, program::expand(slots, op, static_cast<SlotId>(slots.size())),
                       host.pointers());
        ASSERT_TRUE(execute_on_device({*device_, slots, op, found})) << program::to_string(op.code);
        for (const SlotId id : op.outputs) {
            ASSERT_EQ(first_difference(*device_, slots[id], host.pointers()[id], found[id]), -1)
                << describe(slots, op) << ", slot " << id << ", " << device_->error();
        }
    }
}

/// Attention over a thousand tokens expands to tensors of 10^8 elements; the emulation would spend
/// minutes on one of them. Whole ops take them (above); rows as long are in sums and norms.
constexpr std::uint64_t kExpandedElementsMax = std::uint64_t{1} << 19;

struct ExpandedCase {
    std::vector<program::Slot> slots;
    program::Expansion expansion;
};

std::optional<ExpandedCase> expanded_case(Rng& rng, Opcode code) {
    const auto program = MacroCase(rng, code).make();
    EXPECT_TRUE(program.ok()) << program.error().message;
    ExpandedCase out;
    out.slots = program->slots();
    out.expansion =
        program::expand(out.slots, program->ops()[0], static_cast<SlotId>(out.slots.size()));
    for (const program::Slot& temp : out.expansion.temps)
        if (program::element_count(temp.dims) > kExpandedElementsMax) return std::nullopt;
    out.slots.insert(out.slots.end(), out.expansion.temps.begin(), out.expansion.temps.end());
    return out;
}

/// The primitives of its expansion, one by one: each from the same inputs on both sides.
TEST_P(DeviceOp, ItsPrimitivesGiveTheBitsOfTheirDefinitions) {
    Rng rng(test_seed() + 1000 + static_cast<std::uint64_t>(GetParam()));
    for (int round = 0; round < test_scale(); ++round) {
        auto drawn = expanded_case(rng, GetParam());
        while (!drawn)
            drawn = expanded_case(rng, GetParam());
        const auto& [slots, expansion] = *drawn;
        HostMemory host(slots, rng);
        const SlotPointers pointers = host.pointers();
        const DevicePointers found = upload(*device_, slots, pointers);
        for (const program::Op& op : expansion.ops) {
            run_primitive(SlotTable(slots), op, pointers);
            ASSERT_TRUE(run_cuda_primitive({*device_, slots, op, found})) << describe(slots, op);
            const SlotId id = op.outputs[0];
            ASSERT_EQ(first_difference(*device_, slots[id], pointers[id], found[id]), -1)
                << describe(slots, op) << " -> " << program::to_string(slots[id].dims) << ", "
                << device_->error();
        }
    }
}

std::vector<Opcode> all_ops() {
    std::vector<Opcode> ops{
        Opcode::kAdd,  Opcode::kSub,       Opcode::kMul,     Opcode::kDiv,
        Opcode::kMin,  Opcode::kFma,       Opcode::kSqrt,    Opcode::kRsqrt,
        Opcode::kExp,  Opcode::kLog,       Opcode::kSigmoid, Opcode::kGelu,
        Opcode::kSilu, Opcode::kLessEqual, Opcode::kSelect,  Opcode::kRandomMask};
    for (const program::OpcodeInfo& info : program::opcode_table()) {
        if (info.macro) ops.push_back(info.code);
    }
    return ops;
}

INSTANTIATE_TEST_SUITE_P(All, DeviceOp, ::testing::ValuesIn(all_ops()),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace gym::engine
