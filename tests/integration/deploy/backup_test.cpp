// backup.sh beside services that run: while it copies, no blob is erased.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "postgres.hpp"
#include "temporary_folder.hpp"

namespace gym::testing {
namespace {

namespace fs = std::filesystem;

/// Takes the lock of the coordinator's retention as its pruner does, and says whether it got it.
constexpr const char* kAsk =
    "#!/bin/sh\n"
    "psql -qtAX -c \"SELECT pg_try_advisory_xact_lock(hashtext('gym.coordinator.prune'), 0)\" "
    ">>\"$ANSWERS\"\n";

class BackupTest : public ::testing::Test {
  protected:
    void write(const std::string& name, const std::string& text, unsigned mode) {
        fs::create_directories((dir_.path() / name).parent_path());
        ASSERT_TRUE(write_file_atomic(dir_.path() / name, as_bytes(text), mode).ok());
    }
    std::string text_of(const std::string& name) const {
        const auto bytes = read_file(dir_.path() / name);
        return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
    }
    SubprocessOptions command(std::vector<std::string> argv) {
        const db::ConnectionConfig owner = database_.owner_config();
        SubprocessOptions out;
        out.argv = std::move(argv);
        out.env = {{"PGHOST", owner.host},
                   {"PGPORT", std::to_string(owner.port)},
                   {"PGUSER", owner.user},
                   {"PGPASSWORD", owner.password},
                   {"PGDATABASE", owner.database},
                   {"ANSWERS", (dir_.path() / "answers").string()},
                   {"PATH", (dir_.path() / "bin").string() + ":" + std::getenv("PATH")}};
        return out;
    }
    TestDatabase database_;
    TemporaryFolder dir_;
};

TEST_F(BackupTest, NoBlobIsErasedUntilItIsCopied) {
    write("state/blobs/ab/cd/abcd", "a blob", 0644);
    write("bin/ask", kAsk, 0755);
    write("bin/cp", "#!/bin/sh\nask\nexec /bin/cp \"$@\"\n", 0755);
    const fs::path script = fs::path(std::getenv("GYM_SOURCE_DIR")) / "deploy/scripts/backup.sh";
    const auto done = run_command(command({script.string(), (dir_.path() / "backup").string(),
                                           (dir_.path() / "state").string()}),
                                  60'000);
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(text_of("answers"), "f\n") << "while blobs are copied";
    EXPECT_EQ(text_of("backup/blobs/ab/cd/abcd"), "a blob");
    ASSERT_TRUE(run_command(command({(dir_.path() / "bin/ask").string()}), 10'000).ok());
    EXPECT_EQ(text_of("answers"), "f\nt\n") << "and afterwards";
}

}  // namespace
}  // namespace gym::testing
