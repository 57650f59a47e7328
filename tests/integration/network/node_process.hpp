#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/crypto/keystore.hpp"
#include "gym/rpc/server.hpp"
#include "memory_handler.hpp"
#include "temporary_folder.hpp"
#include "tiny_job.hpp"

namespace gym::testing {

inline std::string program(const std::string& name) {
    const char* folder = std::getenv("GYM_BINARY_DIR");
    return std::string(folder != nullptr ? folder : ".") + "/bin/" + name;
}

/// One worker's folder, key and task, and a coordinator in this process.
class NodeProcess : public ::testing::Test {
  protected:
    const SystemClock clock_;
    const crypto::PrivateKey key_ = test_key(1);
    MemoryHandler handler_;
    std::unique_ptr<rpc::Server> server_ =
        rpc::Server::start({.ask_every_ms = 50}, handler_, clock_).value();
    TinyJob job_;
    TemporaryFolder dir_;
    const Digest unit_ = protocol::unit_id(job_.unit(0));

    explicit NodeProcess(std::uint32_t steps = 4)
        : job_(make_tiny_job({key_.address()}, handler_.blobs, steps)) {}

    void SetUp() override {
        ASSERT_TRUE(write_file_atomic(dir_.path() / "pass", as_bytes("secret\n"), 0600).ok());
        ASSERT_TRUE(crypto::save_keystore(dir_.path() / "key.json", key_,
                                          crypto::SecretBytes(std::string_view("secret")),
                                          crypto::ScryptCost::light())
                        .ok());
        records::UnitReceipt view;
        view.key = job_.unit(0);
        view.worker = key_.address();
        handler_.units[unit_] = view;
        handler_.tasks[key_.address()] = job_.task(0);
    }

    SubprocessOptions command(std::vector<std::string> argv) const {
        for (const std::string& flag :
             {std::string("--coordinator"), "127.0.0.1:" + std::to_string(server_->port()),
              std::string("--data-dir"), dir_.path().string(), std::string("--passphrase-file"),
              (dir_.path() / "pass").string(), std::string("--threads"), std::string("1")})
            argv.push_back(flag);
        SubprocessOptions options;
        options.argv = std::move(argv);
        options.log_file = dir_.path() / "log";
        return options;
    }
    struct Ended {
        int code = -1;
        std::string text;  ///< standard output and error output
    };
    /// Runs a program to its end. Any exit code is fine here.
    Ended run(SubprocessOptions options) const {
        options.log_file = dir_.path() / "output";
        std::error_code ignored;
        std::filesystem::remove(options.log_file, ignored);
        auto process = Subprocess::start(options);
        EXPECT_TRUE(process.ok()) << process.error().message;
        Ended out;
        out.code = process.ok() ? process->wait(60'000).value_or(-1) : -1;
        const auto content = read_file(options.log_file);
        if (content.ok()) out.text.assign(content->begin(), content->end());
        return out;
    }
    Status registration() const {
        auto options = command({program("gym"), "node", "register", "--memory", "64MB"});
        options.log_file.clear();
        const auto output = run_command(options, 60'000);
        return output.ok() ? Status() : Status(output.error());
    }
    /// Looks every 50 ms, at most 30 s, with the handler locked.
    bool eventually(const std::function<bool()>& condition) {
        for (int i = 0; i < 600; ++i) {
            {
                const std::scoped_lock lock(handler_.mutex);
                if (condition()) return true;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        return false;
    }
    std::string log() const {
        const auto content = read_file(dir_.path() / "log");
        return content.ok() ? std::string(content->begin(), content->end()) : "";
    }
};

}  // namespace gym::testing
