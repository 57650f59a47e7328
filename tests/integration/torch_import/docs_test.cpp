// docs/TORCH.md, pasted: every block of code in it runs, one after the other in one folder.
#include <gtest/gtest.h>

#include "command.hpp"
#include "gym/common/subprocess.hpp"
#include "python.hpp"

namespace gym::testing {
namespace {

struct Block {
    std::string language;
    std::string code;
    int line = 0;
};

std::vector<Block> blocks_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<Block> blocks;
    bool inside = false;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        ++number;
        if (line.starts_with("```")) {
            inside = !inside;
            if (inside) blocks.push_back({line.substr(3), "", number});
        } else if (inside) {
            blocks.back().code += line + "\n";
        }
    }
    return blocks;
}

class TorchPage : public ::testing::Test {
  protected:
    /// The repository's folder, as far as the page names it.
    void SetUp() override {
        namespace fs = std::filesystem;
        fs::create_directories(place_ / "build/release/lib");
        fs::create_symlink(fs::path(GYM_PROGRAM).parent_path(), place_ / "build/release/bin");
        fs::create_symlink(GYM_OPS_LIBRARY, place_ / "build/release/lib/libgym_ops.so");
        fs::create_symlink(fs::path(GYM_SOURCE) / "docs", place_ / "docs");
    }
    int run(std::vector<std::string> argv) {
        SubprocessOptions options;
        options.argv = {"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", place_.path().string()};
        options.argv.insert(options.argv.end(), argv.begin(), argv.end());
        options.log_file = place_ / "log";
        auto process = Subprocess::start(options);
        return process.ok() ? process->wait(200'000).value_or(-1) : -1;
    }
    TemporaryFolder place_;
};

TEST_F(TorchPage, EveryBlockOfCodeRuns) {
    if (run({kPython, "-c", "import torch"}) != 0) FAIL() << kTorchRemedy;
    std::string shell = "set -eu\n";  // a reader's shell keeps its variables
    int python = 0, commands = 0;
    for (const Block& block : blocks_of(std::string(GYM_SOURCE) + "/docs/TORCH.md")) {
        ASSERT_TRUE(block.language == "python" || block.language == "sh")
            << "line " << block.line << ": a block without a language is never tried";
        if (block.language == "python") {
            ++python;
            spill(place_ / "block.py", block.code);
            EXPECT_EQ(run({kPython, "block.py"}), 0)
                << "line " << block.line << ": " << slurp(place_ / "log");
            continue;
        }
        ++commands;
        shell += block.code;
        spill(place_ / "blocks.sh", shell);
        EXPECT_EQ(run({"/bin/sh", "blocks.sh"}), 0)
            << "line " << block.line << ": " << slurp(place_ / "log");
    }
    EXPECT_GE(python, 2);
    EXPECT_GE(commands, 2);
}

}  // namespace
}  // namespace gym::testing
