// Random graphs: the engine (fused kernels, memory used again, any level, any threads) against the
// definition (every macro expanded, plain loops, memory for every slot).
#include <gtest/gtest.h>

#include <set>

#include "gym/engine/engine.hpp"
#include "gym/engine/reference.hpp"
#include "gym/engine/state.hpp"
#include "gym/kernels/dispatch.hpp"
#include "gym/kernels/float_environment.hpp"
#include "random_graph.hpp"
#include "random_seed.hpp"

namespace gym::engine {
namespace {

using namespace testing;
using program::Program;
using program::SlotId;
using program::SlotKind;

constexpr std::uint64_t kGraphs = 1000;
constexpr int kRuns = 2;

/// Plain memory for every slot of a program.
class Plain {
  public:
    Plain(const Program& program, const State& state) : program_(program) {
        for (const program::Slot& slot : program.slots()) {
            storage_.emplace_back((program::size_bytes(slot) + 7) / 8);
            pointers_.push_back(reinterpret_cast<std::uint8_t*>(storage_.back().data()));
            if (slot.kind == SlotKind::kConstant)
                std::memcpy(pointers_.back(), slot.value.data(), slot.value.size());
        }
        std::size_t at = 0;
        for (SlotId id = 0; id < program.slots().size(); ++id)
            if (is_state(id)) std::ranges::copy(state.tensors[at++].bytes, pointers_[id]);
    }
    void set(SlotId id, ByteView bytes) { std::ranges::copy(bytes, pointers_[id]); }
    void run() {
        for (const program::Op& op : program_.ops()) {
            const auto first = static_cast<SlotId>(program_.slots().size());
            run_primitives(program_.slots(), program::expand(program_.slots(), op, first),
                           pointers_);
        }
        std::vector<std::pair<SlotId, Bytes>> next;
        for (SlotId id = 0; id < program_.slots().size(); ++id)
            if (is_state(id)) next.emplace_back(id, copy(program_.slot(id).next));
        for (const auto& [id, bytes] : next)
            set(id, bytes);
    }
    [[nodiscard]] Bytes copy(SlotId id) const {
        return {pointers_[id], pointers_[id] + program::size_bytes(program_.slot(id))};
    }
    [[nodiscard]] bool is_state(SlotId id) const {
        const SlotKind kind = program_.slot(id).kind;
        return kind == SlotKind::kParam || kind == SlotKind::kState;
    }

  private:
    const Program& program_;
    std::vector<Storage> storage_;
    SlotPointers pointers_;
};

EngineOptions random_options(Rng& rng) {
    EngineOptions options;
    options.threads = between(rng, 1, 2);
    const auto level = between(rng, 0, static_cast<std::uint32_t>(kernels::detect_isa()));
    options.isa = std::string(kernels::isa_name(static_cast<kernels::Isa>(level)));
    return options;
}

std::string describe(const Program& program) {
    std::string text;
    for (const program::Op& op : program.ops())
        text += std::string(text.empty() ? "" : ", ") + std::string(program::to_string(op.code));
    return text;
}

/// Both runs of one program: outputs after each, the state at the end.
void compare(const Program& program, Rng& rng) {
    Digest seed;
    for (auto& byte : seed.data)
        byte = static_cast<std::uint8_t>(rng());
    State state = initial_state(program, seed).value();
    Plain plain(program, state);
    const EngineOptions options = random_options(rng);
    SCOPED_TRACE(options.isa + ", threads " + std::to_string(options.threads));
    auto engine = Engine::create(program, options);
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    for (int run = 0; run < kRuns; ++run) {
        std::vector<Storage> storage;
        std::vector<NamedTensorView> inputs;
        for (const SlotId id : program.slots_of(SlotKind::kInput)) {
            const auto& slot = program.slot(id);
            const auto fill = static_cast<Fill>(rng() % 4 == 0 ? rng() % kFills : 0);
            storage.push_back(random_storage(rng, slot, fill));
            const ByteView bytes{reinterpret_cast<const std::uint8_t*>(storage.back().data()),
                                 program::size_bytes(slot)};
            inputs.push_back({slot.name, bytes});
            plain.set(id, bytes);
        }
        {
            const kernels::ExactFloatEnvironment environment;
            plain.run();
        }
        const Status ran = engine->run(state, inputs);
        ASSERT_TRUE(ran.ok()) << ran.error().message;
        for (const program::Output& output : program.outputs()) {
            const ByteView found = engine->output(output.name).value();
            ASSERT_EQ(plain.copy(output.slot), Bytes(found.begin(), found.end()))
                << output.name << " of run " << run;
        }
    }
    std::size_t at = 0;
    for (SlotId id = 0; id < program.slots().size(); ++id)
        if (plain.is_state(id)) {
            ASSERT_EQ(plain.copy(id), state.tensors[at++].bytes) << "slot " << id;
        }
}

TEST(RandomGraphs, FusedAndExpandedExecutionGiveTheSameBits) {
    Rng rng(test_seed());
    std::set<program::Opcode> seen;
    const std::uint64_t graphs = gym::testing::test_count(kGraphs);
    for (std::uint64_t i = 0; i < graphs; ++i) {
        const auto program = RandomGraph(rng).make();
        ASSERT_TRUE(program.ok()) << "graph " << i << ": " << program.error().message;
        for (const program::Op& op : program->ops())
            seen.insert(op.code);
        SCOPED_TRACE("graph " + std::to_string(i) + ": " + describe(*program));
        compare(*program, rng);
        if (HasFatalFailure()) return;
    }
    for (const program::OpcodeInfo& info : program::opcode_table())
        if (info.macro) {
            EXPECT_TRUE(seen.contains(info.code)) << info.name << " is in no graph";
        }
}

}  // namespace
}  // namespace gym::engine
