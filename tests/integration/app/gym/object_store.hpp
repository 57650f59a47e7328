#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "command.hpp"
#include "gym/common/data_folder.hpp"
#include "gym/common/subprocess.hpp"

namespace gym::testing {

inline std::filesystem::path test_tool(const std::string& name) {
    return data_folder() / "tests" / "support" / "npm" / name;
}
inline bool has_test_tools() {
    return std::filesystem::exists(test_tool("node_modules")) &&
           std::filesystem::exists(data_folder() / "tools" / "parquet" / "node_modules");
}

/// npm's s3rver on a port of its own, with an empty bucket "corpus"; its keys are in the
/// environment.
class ObjectStore {
  public:
    explicit ObjectStore(const TemporaryFolder& place)
        : log_(place / "s3.log"),
          child_(Subprocess::start({.argv = {"node", test_tool("node_modules/s3rver/bin/s3rver.js"),
                                             "-d", (place / "s3").string(), "-a", "127.0.0.1", "-p",
                                             "0", "--configure-bucket", "corpus"},
                                    .env = {},
                                    .log_file = log_})
                     .value()) {
        ::setenv("AWS_ACCESS_KEY_ID", "S3RVER", 1);
        ::setenv("AWS_SECRET_ACCESS_KEY", "S3RVER", 1);
        constexpr std::string_view kBefore = "listening on 127.0.0.1:";
        for (int i = 0; i < 600 && url_.empty(); ++i) {
            const std::string said = slurp(log_);
            const std::size_t at = said.find(kBefore);
            const std::size_t end = said.find('\n', at);
            if (at != std::string::npos && end != std::string::npos)
                url_ = "http://127.0.0.1:" +
                       said.substr(at + kBefore.size(), end - at - kBefore.size());
            else
                (void)run_command({.argv = {"sleep", "0.1"}}, 10'000);
        }
    }
    [[nodiscard]] const std::string& url() const { return url_; }
    void put(const std::filesystem::path& file, const std::string& key) const {
        const auto sent = run_command(
            {.argv = {"curl", "-sSf", "--noproxy", "*", "-u", "S3RVER:S3RVER", "--aws-sigv4",
                      "aws:amz:us-east-1:s3", "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD", "-T",
                      file.string(), url_ + "/corpus/" + key}},
            60'000);
        EXPECT_TRUE(sent.ok()) << sent.error().message;
    }

  private:
    std::filesystem::path log_;
    Subprocess child_;
    std::string url_;
};

}  // namespace gym::testing
