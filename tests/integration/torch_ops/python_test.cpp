// torch.ops.gym in Debian's Python against the engine: the same losses, gradient norms and tensor
// roots, bit for bit.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "engine_run.hpp"
#include "gym/commit/tensor_root.hpp"
#include "gym/common/subprocess.hpp"

namespace gym::testing {
namespace {

constexpr std::uint32_t kSteps = 8;
constexpr int kNoTorch = 77;  // the script's exit code where Python cannot import torch
constexpr const char* kPython = "/usr/bin/python3";

/// A folder that goes away with the test.
class Workplace {
  public:
    Workplace() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "gym-torch-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~Workplace() { std::filesystem::remove_all(path_); }
    Workplace(const Workplace&) = delete;
    Workplace& operator=(const Workplace&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

template <class T>
void append(std::ofstream& file, const std::vector<T>& values) {
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(T)));
}

void write_task(const EngineRun& run, const std::filesystem::path& folder) {
    std::ofstream task(folder / "task.txt"), data(folder / "data.bin", std::ios::binary);
    const auto& [model, optimizer, outer, batch] = run.config;
    task.precision(17);
    task << "set batch " << batch << "\nset context " << model.context << "\nset heads "
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

struct PythonRun {
    int exit_code = -1;
    std::string output;
    std::vector<std::string> steps;            ///< "LOSS_BITS GRAD_NORM_BITS"
    std::map<std::string, std::string> roots;  ///< by tensor name
};

PythonRun run_python(const std::filesystem::path& folder, std::vector<std::string> arguments) {
    SubprocessOptions options;
    options.argv = {kPython, std::string(GYM_SOURCE) + "/tests/integration/torch_ops/train_gpt.py",
                    GYM_OPS_LIBRARY, folder.string()};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.env = {{"GYM_SOURCE_DIR", GYM_SOURCE}, {"PYTHONDONTWRITEBYTECODE", "1"}};
    options.log_file = folder / "output.txt";
    std::filesystem::remove(options.log_file);
    PythonRun run;
    auto process = Subprocess::start(options);
    if (!process.ok()) return run;
    run.exit_code = process->wait(100'000).value_or(-1);
    std::ifstream file(options.log_file);
    for (std::string line; std::getline(file, line);) {
        run.output += line + "\n";
        std::istringstream words(line);
        std::string kind, name, value;
        words >> kind >> name >> value;
        if (kind == "step") run.steps.push_back(name + " " + value);
        if (kind == "tensor") run.roots[name] = value;
    }
    return run;
}

std::string hex(std::uint32_t bits) {
    char text[9];
    (void)std::snprintf(text, sizeof text, "%08x", bits);
    return text;
}

void expect_equal(const EngineRun& engine, const PythonRun& python) {
    ASSERT_EQ(python.exit_code, 0) << python.output;
    ASSERT_EQ(python.steps.size(), engine.loss_bits.size()) << python.output;
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
    const Workplace place;
    write_task(engine, place.path());
    const PythonRun python = run_python(place.path(), {"flush"});
    if (python.exit_code == kNoTorch) GTEST_SKIP() << kPython << " has no torch";
    expect_equal(engine, python);
}

// One flipped bit in one weight is enough to be seen. A forked process computes as well.
TEST(TorchOpsPython, AnotherBeginningIsAnotherEnd) {
    EngineRun engine = run_engine(2);
    const Workplace place;
    engine.initial.tensors.front().bytes.front() ^= 1;
    write_task(engine, place.path());
    const PythonRun python = run_python(place.path(), {"fork"});
    if (python.exit_code == kNoTorch) GTEST_SKIP() << kPython << " has no torch";
    ASSERT_EQ(python.exit_code, 0) << python.output;
    const engine::StateTensor& changed = engine.trained.tensors.front();
    EXPECT_NE(python.roots.at(changed.name),
              commit::tensor_root(changed.dtype, changed.dims, changed.bytes).hex());
}

}  // namespace
}  // namespace gym::testing
