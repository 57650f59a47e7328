#pragma once

#include <string>

#include "gym/common/file.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/crypto/keystore.hpp"
#include "settlement_fixture.hpp"

namespace gym::rewards {

/// The real program gym-rewards over the fixture's database and chain.
class DaemonFixture : public SettlementFixture {
  protected:
    using SettlementFixture::SettlementFixture;

    /// `more` is appended: the daemon's rates.
    void write_config(const std::string& more = "") {
        std::filesystem::create_directories(folder_);
        const db::ConnectionConfig database = test_.config_as("gym_rewards");
        ASSERT_TRUE(
            write_file_atomic(folder_ / "db-password", as_bytes(database.password), 0600).ok());
        ASSERT_TRUE(
            write_file_atomic(folder_ / "passphrase", as_bytes("settler passphrase"), 0600).ok());
        ASSERT_TRUE(
            crypto::save_keystore(folder_ / "settler.json", settler_key_,
                                  crypto::SecretBytes(std::string_view("settler passphrase")),
                                  crypto::ScryptCost::light())
                .ok());
        ASSERT_TRUE(contracts::save_deployment(folder_ / "deployment.json", deployment_).ok());
        const std::string folder = folder_.string();
        const std::string yaml =
            "database:\n  host: " + database.host + "\n  port: " + std::to_string(database.port) +
            "\n  database: " + database.database + "\n  user: " + database.user +
            "\n  password_file: " + folder + "/db-password\nchain:\n  rpc_url: " + anvil_.url() +
            "\n  deployment_file: " + folder +
            "/deployment.json\nsettler:\n  keystore_file: " + folder +
            "/settler.json\n  passphrase_file: " + folder +
            "/passphrase\npublish_folder: " + folder + "/epochs\npoll_interval_ms: 10\n" + more;
        ASSERT_TRUE(write_file_atomic(folder_ / "rewards.yaml", as_bytes(yaml)).ok());
    }
    Result<Subprocess> start() {
        SubprocessOptions command;
        command.argv = {program(), "--config", (folder_ / "rewards.yaml").string()};
        command.log_file = folder_ / "rewards.log";
        return Subprocess::start(command);
    }
    static std::string program() {
        return (std::filesystem::canonical("/proc/self/exe").parent_path() / "gym-rewards")
            .string();
    }
    std::string log_text() {
        const auto bytes = read_file(folder_ / "rewards.log");
        return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
    }
};

}  // namespace gym::rewards
