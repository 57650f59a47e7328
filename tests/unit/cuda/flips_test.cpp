// Bits flip in the memory of an emulated device, in its shared memory and in its tensor cores, one
// a run: the engine fails, or its results have the bits of the CPU. Never does a wrong one come
// out.
#include "flips.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gym/commit/tensor_root.hpp"
#include "gym/engine/cuda_engine.hpp"
#include "gym/engine/device.hpp"
#include "gym/engine/engine.hpp"
#include "gym/engine/unit.hpp"
#include "gym/program/builder.hpp"
#include "random_tensors.hpp"
#include "small_model.hpp"

namespace gym::engine {
namespace {

using program::Builder;
using program::Dims;
using program::DType;
using program::Op;
using program::Opcode;
using program::Program;
using program::SlotId;
using testing::Rng;

/// Of all kinds together, at least: the usual count, those a unit of test scale, and the most (soak
/// tests).
constexpr int kFlips = 400, kFlipsOfScale = 100, kFlipsMax = 10'000, kKinds = 9;

struct Input {
    std::string name;
    Bytes bytes;
};

/// Ops of one kind, with everything that a run of them needs.
struct Model {
    Builder builder;
    std::vector<Input> inputs;
    Rng rng{4711};

    SlotId input(Dims dims) {
        const std::string name = "in" + std::to_string(inputs.size());
        std::vector<float> values(program::element_count(dims));
        for (float& value : values)
            value = testing::normal_value(rng);
        Bytes bytes(values.size() * sizeof(float));
        std::memcpy(bytes.data(), values.data(), bytes.size());
        inputs.push_back({name, std::move(bytes)});
        return builder.input(name, DType::kF32, std::move(dims));
    }
    SlotId targets(std::uint32_t count, std::uint32_t classes) {
        const std::string name = "in" + std::to_string(inputs.size());
        Bytes bytes(count * sizeof(std::int32_t));
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto value = static_cast<std::int32_t>(rng() % classes);
            std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
        }
        inputs.push_back({name, std::move(bytes)});
        return builder.input(name, DType::kI32, {count});
    }
    void output(SlotId id) { builder.output("out" + std::to_string(outputs++), id); }
    SlotId append(Opcode code, std::vector<SlotId> from, Dims dims,
                  std::initializer_list<std::uint64_t> attributes = {}) {
        Op op;
        op.code = code;
        op.inputs = std::move(from);
        op.outputs = {builder.temp(DType::kF32, std::move(dims))};
        std::ranges::copy(attributes, op.attributes.begin());
        builder.append(op);
        return op.outputs[0];
    }
    int outputs = 0;
};

std::uint64_t bits(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

void short_products(Model& m) {
    m.output(m.builder.matmul(m.input({9, 40}), m.input({20, 40})));
}
/// Vectors of more than one block of 1,024.
void long_products(Model& m) {
    m.output(m.builder.matmul(m.input({1100, 5}), m.input({1100, 9}), true, true));
}
void attention(Model& m) {
    const SlotId qkv = m.input({2 * 9, 3 * 8});
    m.output(m.builder.attention(qkv, 9, 2));
    const std::vector<SlotId> from{qkv, m.input({18, 8}), m.input({2, 2, 9, 1}),
                                   m.input({2, 2, 9, 1}), m.input({18, 8})};
    m.output(m.append(Opcode::kAttentionGrad, from, {18, 24}, {9, 2, bits(0.5F), 0}));
}
/// With the gradient that computes the numerators again.
void attention_in_training(Model& m) {
    const SlotId qkv = m.input({2 * 9, 3 * 8});
    Op op;
    op.code = Opcode::kAttention;
    op.inputs = {qkv};
    for (const Dims& dims : {Dims{18, 8}, Dims{2, 2, 9, 1}, Dims{2, 2, 9, 1}})
        op.outputs.push_back(m.builder.temp(DType::kF32, dims));
    op.attributes = {9, 2, bits(0.5F), 0};
    m.builder.append(op);
    for (const SlotId out : op.outputs)
        m.output(out);
    m.output(m.append(Opcode::kAttentionGrad,
                      {qkv, op.outputs[0], op.outputs[1], op.outputs[2], m.input({18, 8})},
                      {18, 24}, {9, 2, bits(0.5F), 0}));
}
void attention_in_documents(Model& m) {
    m.output(m.builder.attention_documents(m.input({2 * 9, 3 * 8}), m.input({18, 1}), 9, 2));
}
void norms(Model& m) {
    const SlotId x = m.input({9, 40}), gamma = m.input({40});
    m.output(m.builder.layernorm(x, gamma, m.input({40}), 1e-5F));
    m.output(m.builder.rmsnorm(x, gamma, 1e-5F));
    m.output(m.builder.column_sum(m.builder.unary(Opcode::kGelu, x), {40}));
}
void losses(Model& m) {
    m.output(m.builder.cross_entropy(m.input({7, 30}), m.targets(7, 30)));
}
/// AdamW over its own state, which a run overwrites in place.
void optimizer(Model& m) {
    constexpr program::Init kZero{program::Init::Kind::kConstant, 0};
    const Dims dims{11, 30};
    const SlotId p = m.builder.param("p", dims, kZero);
    const SlotId first = m.builder.state("m", dims, kZero),
                 second = m.builder.state("v", dims, kZero);
    m.output(m.builder.sum_squares(p));  // before p is overwritten
    Op op;
    op.code = Opcode::kAdamw;
    op.inputs = {p, first, second, m.input(dims)};
    for (const float scalar : {0.01F, 0.5F, 1.5F, 1.25F})
        op.inputs.push_back(m.builder.scalar(scalar));
    for (const SlotId slot : {p, first, second}) {
        op.outputs.push_back(m.builder.temp(DType::kF32, dims));
        m.builder.set_next(slot, op.outputs.back());
    }
    op.attributes = {bits(0.9F), bits(0.1F), bits(0.95F), bits(0.05F), bits(1e-8F), bits(0.1F)};
    m.builder.append(op);
}

/// What is taken from a run to be signed for.
struct Results {
    Digest state_root;
    std::vector<Digest> output_roots;
    std::vector<Bytes> outputs;
    State state;

    friend bool operator==(const Results&, const Results&) = default;
};

struct PlannedFlip {
    emulation::FlipKind kind;
    std::uint64_t access, bit;

    void plan() const { emulation::plan_flip(kind, access, bit); }
    [[nodiscard]] std::string text() const {
        return "kind " + std::to_string(static_cast<int>(kind)) + ", access " +
               std::to_string(access) + ", bit " + std::to_string(bit);
    }
};

/// What a run has of each kind.
struct FlipCounts {
    std::array<std::uint64_t, emulation::kFlipKinds> of{};

    FlipCounts() {
        for (std::size_t kind = 0; kind < of.size(); ++kind)
            of[kind] = emulation::counted_accesses(static_cast<emulation::FlipKind>(kind));
    }
    /// Every second one is of an access, of which there are most.
    [[nodiscard]] PlannedFlip choose(Rng& rng, int number) const {
        constexpr std::array<std::size_t, 4> kOrder{0, 1, 0, 2};
        const std::size_t kind = kOrder[static_cast<std::size_t>(number) % kOrder.size()];
        return {static_cast<emulation::FlipKind>(kind), rng() % of[kind], rng()};
    }
};

struct Case {
    const char* name;
    void (*build)(Model&);
    bool hashes_only = false;  ///< bits flip while the state and the outputs are hashed
};

class Flips : public ::testing::TestWithParam<Case> {
  protected:
    void SetUp() override {
        GetParam().build(model_);
        auto built = model_.builder.build();
        ASSERT_TRUE(built.ok()) << built.error().message;
        program_.emplace(std::move(built).value());
        for (const program::Slot& slot : program_->slots()) {
            if (slot.kind != program::SlotKind::kParam && slot.kind != program::SlotKind::kState)
                continue;
            Bytes bytes(program::size_bytes(slot));
            for (std::size_t i = 0; i < bytes.size(); i += sizeof(float)) {
                const float value = std::abs(testing::normal_value(model_.rng));
                std::memcpy(bytes.data() + i, &value, sizeof value);
            }
            state_.tensors.push_back(
                {slot.name, slot.dtype, {slot.dims.begin(), slot.dims.end()}, std::move(bytes)});
        }
    }
    [[nodiscard]] std::vector<NamedTensorView> views() const {
        std::vector<NamedTensorView> out;
        for (const Input& input : model_.inputs)
            out.push_back({input.name, input.bytes});
        return out;
    }
    /// @param before called where bits begin to flip.
    Result<Results> run(const std::function<void()>& before, bool checked = true) {
        emulation::count_accesses();  // a context that the run before lost is there again
        GYM_TRY(CudaEngine engine, CudaEngine::create(*program_, {.checked = checked}));
        if (!GetParam().hashes_only) before();
        GYM_CHECK(engine.load(state_));
        GYM_CHECK(engine.run(views()));
        if (GetParam().hashes_only) before();
        Results out;
        out.state = state_;
        GYM_TRY(out.state_root, engine.state_root());
        std::vector<std::string_view> names;
        for (const auto& output : program_->outputs())
            names.push_back(output.name);
        GYM_TRY(out.output_roots, engine.output_roots(names));
        for (const auto& output : program_->outputs()) {
            GYM_TRY(Bytes bytes, engine.output(output.name));
            out.outputs.push_back(std::move(bytes));
        }
        GYM_CHECK(engine.store(out.state));
        return out;
    }
    Results run_on_cpu() {
        Results out;
        out.state = state_;
        auto engine = Engine::create(*program_);
        EXPECT_TRUE(engine.ok() && engine->run(out.state, views()).ok());
        out.state_root = engine::state_root(out.state);
        for (const auto& output : program_->outputs()) {
            const ByteView bytes = engine->output(output.name).value();
            const program::Slot& slot = program_->slot(output.slot);
            const std::vector<std::uint64_t> dims(slot.dims.begin(), slot.dims.end());
            out.output_roots.push_back(commit::tensor_root(slot.dtype, dims, bytes));
            out.outputs.emplace_back(bytes.begin(), bytes.end());
        }
        return out;
    }

    Model model_;
    std::optional<Program> program_;
    State state_;
};

TEST_P(Flips, NoWrongResultComesOut) {
    const Results expected = run_on_cpu();
    const auto clean = run([] { emulation::count_accesses(); });
    ASSERT_TRUE(clean.ok()) << clean.error().message;
    ASSERT_EQ(*clean, expected);
    const FlipCounts counts;
    ASSERT_GT(counts.of[0], 1000U);
    Rng rng(testing::test_seed());
    const int together = std::clamp(kFlipsOfScale * testing::test_scale(), kFlips, kFlipsMax);
    const int flips = (together + kKinds - 1) / kKinds;
    int caught = 0, lost = 0, harmless = 0;
    std::size_t errors = device_errors("cuda").size();
    for (int i = 0; i < flips; ++i) {
        const PlannedFlip flip = counts.choose(rng, i);
        const auto results = run([&] { flip.plan(); });
        ASSERT_TRUE(emulation::has_flipped()) << flip.text();
        if (results.ok()) {
            ++harmless;
            ASSERT_EQ(*results, expected) << flip.text();
        } else if (emulation::is_context_lost()) {
            ++lost;
            ASSERT_EQ(results.error().code, ErrorCode::kUnavailable) << flip.text();
        } else {
            ++caught;
            ASSERT_EQ(device_errors("cuda").size(), ++errors) << results.error().message;
        }
    }
    emulation::count_accesses();
    std::cout << GetParam().name << ": " << counts.of[0] << " accesses, " << counts.of[1]
              << " transfers, " << counts.of[2] << " launches; " << flips << " flips, " << caught
              << " caught, " << lost << " ended by the device, " << harmless << " without effect\n";
    EXPECT_GT(caught, flips / 10);
}

/// The same flips do come out where nothing is checked.
TEST_P(Flips, WithoutChecksSomeDo) {
    const Results expected = run_on_cpu();
    const auto clean = run([] { emulation::count_accesses(); }, false);
    ASSERT_TRUE(clean.ok());
    const std::uint64_t accesses = emulation::counted_accesses();
    Rng rng(testing::test_seed());
    int wrong = 0;
    for (int i = 0; i < 200 && wrong == 0; ++i) {
        const auto results = run(
            [&] { emulation::plan_flip(emulation::FlipKind::kAccess, rng() % accesses, rng()); },
            false);
        ASSERT_TRUE(emulation::has_flipped());
        if (!results.ok() || *results != expected) ++wrong;
    }
    emulation::count_accesses();
    EXPECT_GT(wrong, 0);
}

/// From exact dots on a product and its check are one kernel: each argument of it that both of them
/// took would make both wrong alike.
class ProductArguments : public Flips {};
TEST_P(ProductArguments, NoWrongOneMakesAWrongResult) {
    constexpr std::uint64_t kWordBits = 64, kFirstBit = 2,
                            kLastBit = 4;  // of distances in a buffer
    const Results expected = run_on_cpu();
    int wrong = 0;
    std::uint64_t bits = kWordBits;
    for (std::uint64_t word = 0; word < bits; word += kWordBits) {
        for (std::uint64_t bit = word + kFirstBit; bit <= word + kLastBit; ++bit) {
            const auto results = run([&] { emulation::plan_argument_flip("Product<", bit); });
            ASSERT_TRUE(emulation::has_flipped());
            bits = 8 * emulation::flipped_bytes();
            if (!results.ok())
                ++wrong;
            else
                EXPECT_EQ(*results, expected) << "bit " << bit;
        }
    }
    emulation::count_accesses();
    std::cout << GetParam().name << ": " << bits / kWordBits << " words of arguments, " << wrong
              << " flips made the run fail\n";
    EXPECT_GT(wrong, 0);
}
INSTANTIATE_TEST_SUITE_P(Kinds, ProductArguments,
                         ::testing::Values(Case{"short_products", short_products},
                                           Case{"long_products", long_products}),
                         [](const auto& test) { return std::string(test.param.name); });

/// No false alarm where a product has several tiles of 64 x 128 results in every dimension.
void many_tiles(Model& m) {
    m.output(m.builder.matmul(m.input({70, 40}), m.input({130, 40})));
    m.output(m.builder.matmul(m.input({130, 1030}), m.input({1030, 140}), false, true));
    m.output(m.builder.attention(m.input({150, 3 * 4}), 150, 2));
}
class ManyTiles : public Flips {};
TEST_P(ManyTiles, HaveTheSumsThatAreExpected) {
    const auto clean = run([] {});
    ASSERT_TRUE(clean.ok()) << clean.error().message;
    EXPECT_EQ(*clean, run_on_cpu());
}
INSTANTIATE_TEST_SUITE_P(Kinds, ManyTiles, ::testing::Values(Case{"many_tiles", many_tiles}),
                         [](const auto& test) { return std::string(test.param.name); });

INSTANTIATE_TEST_SUITE_P(Kinds, Flips,
                         ::testing::Values(Case{"short_products", short_products},
                                           Case{"long_products", long_products},
                                           Case{"attention", attention},
                                           Case{"attention_in_training", attention_in_training},
                                           Case{"attention_in_documents", attention_in_documents},
                                           Case{"norms", norms}, Case{"losses", losses},
                                           Case{"optimizer", optimizer},
                                           Case{"hashes", optimizer, true}),
                         [](const auto& test) { return std::string(test.param.name); });

/// A whole unit: what is handed out to be signed is right or nothing, and the unit can be run
/// again.
TEST(FlipsInAUnit, ItFailsAndIsRightTheNextTime) {
    const Program train = testing::small_program();
    const blob::Dataset dataset = testing::counting_dataset();
    const State base =
        base_of(train, initial_state(train, testing::seed_of("flips")).value()).value();
    UnitSpec spec;
    spec.job_seed = testing::seed_of("flips");
    spec.steps = 1;
    spec.checkpoint_every = 1;
    spec.program_root = program::program_root(train);
    spec.dataset_root = dataset.root();
    spec.base_state_root = state_root(base);
    const auto run = [&](const char* device) {
        RunOptions options;
        options.engine.device = device;
        return run_unit({train, base, dataset, spec}, options);
    };
    const auto expected = run("cpu");
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    const auto expect_right = [&](const UnitResult& result) {
        EXPECT_EQ(result.records, expected->records);
        EXPECT_EQ(result.final_state_root, expected->final_state_root);
        EXPECT_EQ(result.delta.root(), expected->delta.root());
    };
    emulation::count_accesses();
    const auto clean = run("cuda");
    ASSERT_TRUE(clean.ok()) << clean.error().message;
    expect_right(*clean);
    const std::uint64_t accesses = emulation::counted_accesses();
    Rng rng(testing::test_seed());
    int failed = 0;
    for (int i = 0; i < 3 * testing::test_scale(); ++i) {
        const std::size_t errors = device_errors("cuda").size();
        emulation::plan_flip(emulation::FlipKind::kAccess, rng() % accesses, rng());
        const auto flipped = run("cuda");
        ASSERT_TRUE(emulation::has_flipped());
        if (flipped.ok()) {
            expect_right(*flipped);
            continue;
        }
        ++failed;
        EXPECT_EQ(device_errors("cuda").size(), errors + 1) << flipped.error().message;
        if (failed > 1) continue;
        const auto again = run("cuda");
        ASSERT_TRUE(again.ok()) << again.error().message;
        expect_right(*again);
    }
    emulation::count_accesses();
    EXPECT_GT(failed, 0);
}

}  // namespace
}  // namespace gym::engine
