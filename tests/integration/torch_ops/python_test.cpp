// torch.ops.gym in Debian's Python against the engine: the same losses, gradient norms and tensor
// roots, bit for bit.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "engine_run.hpp"
#include "gym/commit/tensor_root.hpp"
#include "python.hpp"

namespace gym::testing {
namespace {

constexpr std::uint32_t kSteps = 8;

template <class T>
void append(std::ofstream& file, const std::vector<T>& values) {
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
}

void write_task(const EngineRun& run, const TemporaryFolder& folder) {
    std::ofstream task(folder / "task.txt"), data(folder / "data.bin", std::ios::binary);
    const program::ModelConfig& model = run.config.model;
    const program::OptimizerConfig& optimizer = run.config.optimizer;
    task.precision(17);
    task << "set batch " << run.config.batch << "\nset context " << model.context << "\nset heads "
         << model.heads << "\nset layers " << model.layers << "\nset layernorm_epsilon "
         << model.layernorm_epsilon << "\nset beta1 " << optimizer.beta1 << "\nset beta2 "
         << optimizer.beta2 << "\nset epsilon " << optimizer.epsilon << "\nset clip_norm "
         << optimizer.clip_norm << "\n";
    for (const std::string& name : param_names(run.program)) {
        const engine::StateTensor& tensor = *run.initial.find(name);
        task << "param " << name << " " << weight_decay(run.program, name);
        for (const std::uint64_t dim : tensor.dims)
            task << " " << dim;
        task << "\n";
        append(data, tensor.bytes);
    }
    for (std::size_t step = 0; step < run.rates.size(); ++step)
        task << "rate " << step << "\n";
    append(data, run.rates);
    for (const auto& tokens : run.batches)
        append(data, tokens);
}

struct Trained {
    PythonRun run;
    std::vector<std::string> steps;            ///< "LOSS_BITS GRAD_NORM_BITS"
    std::map<std::string, std::string> roots;  ///< by tensor name
};

Trained train_in_python(const TemporaryFolder& folder, const char* extra) {
    Trained trained;
    trained.run = run_python(GYM_SOURCE, "tests/integration/torch_ops/train_gpt.py",
                             {GYM_OPS_LIBRARY, folder.path().string(), extra});
    std::istringstream lines(trained.run.output);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string kind, name, value;
        words >> kind >> name >> value;
        if (kind == "step") trained.steps.push_back(name + " " + value);
        if (kind == "tensor") trained.roots[name] = value;
    }
    return trained;
}

std::string hex(std::uint32_t bits) {
    char text[9];
    (void)std::snprintf(text, sizeof text, "%08x", bits);
    return text;
}

void expect_equal(const EngineRun& engine, const Trained& python) {
    ASSERT_EQ(python.run.exit_code, 0) << python.run.output;
    ASSERT_EQ(python.steps.size(), engine.loss_bits.size()) << python.run.output;
    for (std::size_t step = 0; step < python.steps.size(); ++step)
        EXPECT_EQ(python.steps[step],
                  hex(engine.loss_bits[step]) + " " + hex(engine.grad_norm_bits[step]))
            << "step " << step;
    ASSERT_EQ(python.roots.size(), engine.trained.tensors.size());
    for (const engine::StateTensor& tensor : engine.trained.tensors)
        EXPECT_EQ(python.roots.at(tensor.name),
                  commit::tensor_root(tensor.dtype, tensor.dims, tensor.bytes).hex())
            << tensor.name;
}

TEST(TorchOpsPython, TrainsWithTheEnginesBits) {
    const EngineRun engine = run_engine(kSteps);
    const TemporaryFolder place;
    write_task(engine, place);
    const Trained python = train_in_python(place, "flush");
    ASSERT_NE(python.run.exit_code, kNoTorch) << kTorchRemedy;
    expect_equal(engine, python);
}

// One flipped bit in one weight is enough to be seen. A forked process computes as well.
TEST(TorchOpsPython, AnotherBeginningIsAnotherEnd) {
    EngineRun engine = run_engine(2);
    const TemporaryFolder place;
    engine.initial.tensors.front().bytes.front() ^= 1;
    write_task(engine, place);
    const Trained python = train_in_python(place, "fork");
    ASSERT_NE(python.run.exit_code, kNoTorch) << kTorchRemedy;
    ASSERT_EQ(python.run.exit_code, 0) << python.run.output;
    const engine::StateTensor& changed = engine.trained.tensors.front();
    EXPECT_NE(python.roots.at(changed.name),
              commit::tensor_root(changed.dtype, changed.dims, changed.bytes).hex());
}

}  // namespace
}  // namespace gym::testing
