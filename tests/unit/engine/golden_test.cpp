// One root for every instruction set, number of threads and device, and the same root as when the
// vectors were made: a silent change of what any op means fails here. At the usual scale of tests
// the first steps are trained, beyond it (GYM_TEST_SCALE) all 200. After a deliberate change of
// semantics (a new numerics version) run with GYM_UPDATE_VECTORS=1 GYM_TEST_SCALE=10.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "gym/engine/device.hpp"
#include "gym/engine/train.hpp"
#include "gym/kernels/dispatch.hpp"
#include "random_seed.hpp"
#include "small_model.hpp"

namespace gym::engine {
namespace {

/// examples/gpt-nano.yaml, written out: the example may be changed, the vectors not.
program::TrainConfig nano_config() {
    program::TrainConfig config;
    config.model.context = 64;
    config.model.layers = 2;
    config.model.heads = 3;
    config.model.width = 48;
    config.model.init_std = 0.05;
    config.optimizer.learning_rate = 4e-3;
    config.optimizer.learning_rate_min = 4e-4;
    config.optimizer.warmup_steps = 20;
    config.optimizer.total_steps = 500;
    config.batch = 4;
    return config;
}

/// examples/llama-nano.yaml, smaller.
program::TrainConfig llama_config() {
    program::TrainConfig config = nano_config();
    config.model.architecture = program::Architecture::kLlama;
    config.model.context = 32;
    config.model.heads = 4;
    config.model.kv_heads = 2;
    config.model.hidden_width = 100;
    return config;
}

/// Micro-batches, dropout, guard, a linear schedule, every group decayed.
program::TrainConfig full_config() {
    program::TrainConfig config = llama_config();
    config.micro_batches = 2;
    config.model.dropout = 0.1;
    config.optimizer.schedule = program::Schedule::kLinear;
    config.optimizer.decay_embeddings = true;
    config.optimizer.decay_norms = true;
    config.optimizer.guard = {.enabled = true, .loss_factor = 1.2, .loss_decay = 0.8};
    return config;
}

/// Lines of the text as documents.
program::TrainConfig documents_config() {
    program::TrainConfig config = llama_config();
    config.model.document_separator = '\n';
    return config;
}

/// A classifier of rows of numbers: sixteen letters of the text, and the next one is their class.
program::TrainConfig mlp_config() {
    program::TrainConfig config = nano_config();
    config.model = {};
    config.model.architecture = program::Architecture::kMlp;
    config.model.context = 16;
    config.model.classes = 128;
    config.model.layers = 2;
    config.model.width = 48;
    config.model.init_std = 0.15;
    config.batch = 32;
    return config;
}

struct Model {
    const char* name;
    program::TrainConfig (*config)();
    float loss_falls_by;  ///< in all steps
};
constexpr std::array kModels{Model{"nano", nano_config, 2.0F}, Model{"llama", llama_config, 2.0F},
                             Model{"full", full_config, 1.5F}, Model{"mlp", mlp_config, 1.0F},
                             Model{"documents", documents_config, 2.0F}};
constexpr std::uint32_t kSteps = 200;
constexpr std::uint32_t kFirstSteps = 40;

using Vectors = std::map<std::string, std::string>;

std::string vectors_path() {
    const char* folder = std::getenv("GYM_SOURCE_DIR");
    return std::string(folder != nullptr ? folder : ".") + "/tests/vectors/training_roots.txt";
}

/// Lines "name value".
Vectors read_vectors() {
    Vectors vectors;
    std::ifstream file(vectors_path());
    std::string name, value;
    while (file >> name >> value)
        vectors[name] = value;
    return vectors;
}

void write_vectors(const Vectors& vectors) {
    std::ofstream file(vectors_path());
    for (const auto& [name, value] : vectors)
        file << name << " " << value << "\n";
}

/// Settings that may not change a bit.
struct Variant {
    std::string name;
    EngineOptions options;
};

std::vector<Variant> variants() {
    std::vector<Variant> all;
    for (int level = 0; level < kernels::kIsaCount; ++level) {
        for (const unsigned threads : {1U, 2U}) {
            Variant variant;
            variant.options.threads = threads;
            variant.options.isa = kernels::isa_name(static_cast<kernels::Isa>(level));
            variant.name = variant.options.isa + "_threads_" + std::to_string(threads);
            all.push_back(variant);
        }
    }
    Variant device{"cuda", {}};
    device.options.device = "cuda";
    all.push_back(device);
    return all;
}

/// Empty if this machine and build can do it.
std::string cannot_run(const Variant& variant) {
    if (variant.options.device != "cpu") {
        const auto device = device_model(variant.options.device);
        return device.ok() ? "" : device.error().message;
    }
    if (*kernels::parse_isa(variant.options.isa) <= kernels::detect_isa()) return {};
    return "this CPU has no " + variant.options.isa;
}

/// Roots by name ("nano.state_root.40") after the first steps and, if there are more, at the end.
Vectors train(const Model& model, const EngineOptions& options, std::uint32_t steps) {
    const std::string name = model.name;
    const auto program = program::train_program(model.config()).value();
    const auto dataset = testing::counting_dataset(100000);
    const Digest seed = testing::seed_of("golden");
    Vectors roots{{name + ".program_root", program::program_root(program).hex()}};
    auto trainer = Trainer::create(program, initial_state(program, seed).value(), dataset,
                                   {{seed, 1, 2}, kSteps, 50}, options);
    EXPECT_TRUE(trainer.ok());
    std::vector<StepRecord> records;
    while (records.size() < steps) {
        records.push_back(trainer->step().value());
        if (records.size() != kFirstSteps && records.size() != steps) continue;
        const std::string after = "." + std::to_string(records.size());
        roots[name + ".records_root" + after] = records_root(records).hex();
        roots[name + ".state_root" + after] = state_root(*trainer->state().value()).hex();
    }
    const auto loss = [](const StepRecord& r) { return std::bit_cast<float>(r.loss_bits); };
    const float falls_by = steps == kSteps ? model.loss_falls_by : 0;
    EXPECT_LT(loss(records.back()), loss(records.front()) - falls_by) << name;
    return roots;
}

std::string root_of(const Vectors& roots) {
    std::string text;
    for (const auto& [name, value] : roots)
        text.append(name).append(" ").append(value).append("\n");
    return commit::sha256(as_bytes(text)).hex();
}

class Training : public ::testing::TestWithParam<Variant> {};

TEST_P(Training, EndsAtTheGoldenRoots) {
    const Variant& variant = GetParam();
    const std::string reason = cannot_run(variant);
    if (!reason.empty()) {
        std::cout << "skipped " << variant.name << ": " << reason << std::endl;
        GTEST_SKIP() << reason;
    }
    const std::uint32_t steps = gym::testing::test_scale() > 1 ? kSteps : kFirstSteps;
    Vectors roots;
    for (const Model& model : kModels)
        roots.merge(train(model, variant.options, steps));
    // scripts/determinism.sh compares these lines over compilers and optimisation levels.
    std::cout << "root " << root_of(roots) << " of " << kModels.size() << " models, " << steps
              << " steps, " << variant.name << std::endl;
    if (std::getenv("GYM_UPDATE_VECTORS") != nullptr) {
        ASSERT_EQ(steps, kSteps) << "vectors hold all steps: GYM_TEST_SCALE=10";
        write_vectors(roots);
    }
    const Vectors golden = read_vectors();
    for (const auto& [name, value] : roots) {
        const auto found = golden.find(name);
        EXPECT_EQ(value, found == golden.end() ? "" : found->second) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Training, ::testing::ValuesIn(variants()),
                         [](const auto& test) { return test.param.name; });

TEST(GoldenModels, TogetherHaveEveryMacro) {
    std::set<program::Opcode> found;
    for (const Model& model : kModels) {
        const auto program = program::train_program(model.config()).value();
        for (const program::Op& op : program.ops())
            found.insert(op.code);
    }
    for (const program::OpcodeInfo& op : program::opcode_table()) {
        EXPECT_TRUE(!op.macro || found.contains(op.code)) << op.name;
    }
}

}  // namespace
}  // namespace gym::engine
