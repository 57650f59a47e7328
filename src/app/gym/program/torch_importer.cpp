#include "program/torch_importer.hpp"

#include <filesystem>
#include <utility>

#include "gym/common/data_folder.hpp"
#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/common/temporary_folder.hpp"
#include "gym/program/train_program.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

constexpr int kImportTimeoutMs = 600'000;
constexpr int kUnfit = 2;  // gym-torch-import: the model cannot be a program

/// libgym_ops.so, for models made of its ops: in the build folder, or where it is installed.
fs::path ops_library() {
    for (const char* place :
         {"../lib/libgym_ops.so", "../" GYM_INSTALL_LIBDIR "/gym/libgym_ops.so"}) {
        if (fs::path path = program_folder() / place; fs::exists(path)) return path;
    }
    return "none";
}

/// Output of a process in `log`, without its last line break.
std::string message_in(const fs::path& log) {
    const auto content = read_file(log);
    if (!content.ok()) return "gym-torch-import ended without an answer";
    std::string message(content->begin(), content->end());
    while (message.ends_with('\n'))
        message.pop_back();
    return message;
}

}  // namespace

Status import_torchscript(const std::string& model, const std::vector<std::string>& samples,
                          const std::string& program, const std::string& state) {
    SubprocessOptions process;
    process.argv = {(program_folder() / "gym-torch-import").string(), model, program, state,
                    ops_library().string()};
    process.argv.insert(process.argv.end(), samples.begin(), samples.end());
    GYM_TRY(const TemporaryFolder folder, TemporaryFolder::create("gym-import"));
    const fs::path log = folder / "log";
    process.log_file = log;
    process.with_secrets = false;
    auto started = Subprocess::start(process);
    if (!started.ok())
        return fail(ErrorCode::kNotFound, process.argv[0] + " cannot be started (" +
                                              started.error().message +
                                              "): was gym built without libtorch?");
    const auto code = started->wait(kImportTimeoutMs);
    if (!code.ok()) return code.error().in("gym-torch-import");
    if (*code == 0) return {};
    return fail(*code == kUnfit ? ErrorCode::kInvalidArgument : ErrorCode::kMalformed,
                message_in(log));
}

Status check_trainable(const program::Program& forward) {
    program::TrainConfig config;
    GYM_TRY(config.model,
            program::imported_model(std::make_shared<const program::Program>(forward)));
    config.batch = forward.slot(forward.slots_of(program::SlotKind::kInput).front()).dims.front();
    const auto built = program::train_program(config);
    return built.ok() ? Status() : built.error();
}

}  // namespace gym::app
