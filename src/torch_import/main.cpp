// gym-torch-import MODEL PROGRAM STATE LIBRARY SAMPLE...: what `gym program import` runs, so that
// `gym` itself neither links libtorch nor opens files of others with it.
//
// Errors go to standard error. Exit codes as those of `gym`: 1 for files, 2 for a model that cannot
// be a program.

#include <dlfcn.h>

#include <cstdio>
#include <filesystem>

#include "gym/common/file.hpp"
#include "gym/program/codec.hpp"
#include "import.hpp"

namespace {

using namespace gym;

constexpr int kFailed = 1, kUnfit = 2;
constexpr int kFixedArguments = 5;

Status run(int argc, char** argv) {
    if (argc < kFixedArguments + 1)
        return fail(ErrorCode::kInvalidArgument,
                    "usage: gym-torch-import MODEL PROGRAM STATE OPS-LIBRARY SAMPLE-INPUT...");
    std::vector<torch_import::SampleInput> inputs;
    for (int i = kFixedArguments; i < argc; ++i) {
        GYM_TRY(auto input, torch_import::parse_sample_input(argv[i]));
        inputs.push_back(std::move(input));
    }
    // Models may use torch.ops.gym.*; the process ends with the library still open.
    if (std::filesystem::exists(argv[4]) && ::dlopen(argv[4], RTLD_NOW) == nullptr)
        return fail(ErrorCode::kIo, std::string("cannot load the exact ops: ") + ::dlerror());
    GYM_TRY(const auto imported, torch_import::import_torchscript(argv[1], inputs));
    GYM_CHECK(write_file_atomic(argv[2], program::encode(imported.program)));
    return write_file_atomic(argv[3], engine::encode_state(imported.weights));
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Status status = run(argc, argv);
        if (status.ok()) return 0;
        (void)std::fprintf(stderr, "%s\n", status.error().message.c_str());
        return status.error().code == ErrorCode::kInvalidArgument ? kUnfit : kFailed;
    } catch (const std::exception& error) {
        (void)std::fprintf(stderr, "%s\n", error.what());
        return kFailed;
    }
}
