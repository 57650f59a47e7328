#include "installed_network.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "gym/common/file.hpp"
#include "gym/crypto/key.hpp"

namespace gym::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kCommandTimeoutMs = 120'000;
constexpr int kReadyTries = 400;
constexpr std::chrono::milliseconds kReadyPause{50};

std::string text_of(const fs::path& path) {
    const auto bytes = read_file(path);
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : "";
}

std::string wait_for_file(const fs::path& path) {
    for (int i = 0; i < kReadyTries && text_of(path).empty(); ++i)
        std::this_thread::sleep_for(kReadyPause);
    std::string text = text_of(path);
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text;
}

}  // namespace

InstalledNetwork::InstalledNetwork(TestAnvil& chain, db::ConnectionConfig database)
    : chain_(chain), database_(std::move(database)) {
    for (const char* folder : {"etc/secrets", "var/blobs", "var/epochs", "logs"})
        fs::create_directories(root_ / folder);
}

InstalledNetwork::~InstalledNetwork() {
    running_.clear();
}

InstalledNetwork::Environment InstalledNetwork::environment() const {
    const char* const path = std::getenv("PATH");
    return {{"PATH", (prefix() / "bin").string() + ":/usr/lib/postgresql/15/bin:" +
                         (path != nullptr ? path : "/usr/bin:/bin")},
            // Nothing may come from the source tree.
            {"GYM_SOURCE_DIR", ""},
            {"GYM_CONTRACTS_OUT", ""},
            {"GYM_API", api_url_},
            {"GYM_CHAIN", chain_.url()},
            {"GYM_DEPLOYMENT", path_of_deployment()},
            {"PGHOST", database_.host},
            {"PGPORT", std::to_string(database_.port)},
            {"PGUSER", database_.user},
            {"PGPASSWORD", database_.password},
            {"PGDATABASE", database_.database}};
}

std::string InstalledNetwork::path_of_deployment() const {
    return (root_ / "etc" / "deployment.json").string();
}

std::vector<std::string> InstalledNetwork::resolved(std::vector<std::string> argv) const {
    const fs::path installed = prefix() / "bin" / argv.at(0);
    if (fs::exists(installed)) argv[0] = installed.string();
    return argv;
}

std::string InstalledNetwork::run(std::vector<std::string> argv) {
    std::string shown;
    for (const std::string& word : argv)
        shown += word + " ";
    auto output =
        run_command({.argv = resolved(std::move(argv)), .env = environment(), .folder = root_},
                    kCommandTimeoutMs);
    EXPECT_TRUE(output.ok()) << shown << ": " << output.error().message;
    std::string text = std::move(output).value_or("");
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    return text;
}

boost::json::value InstalledNetwork::gym(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"gym", "--json"});
    const std::string output = run(std::move(arguments));
    boost::json::error_code error;
    // The last line: what comes before is progress on standard error.
    boost::json::value value = boost::json::parse(output.substr(output.rfind('\n') + 1), error);
    EXPECT_FALSE(error) << output;
    return value;
}

std::string InstalledNetwork::script(const std::string& name,
                                     const std::vector<std::string>& arguments) {
    std::vector<std::string> argv{(prefix() / "share/gym/scripts" / name).string()};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return run(std::move(argv));
}

void InstalledNetwork::install() {
    run({"cmake", "--install", std::getenv("GYM_BINARY_DIR"), "--prefix", prefix().string()});
}

void InstalledNetwork::bootstrap_database() {
    script("database.sh", {(root_ / "etc/secrets").string()});
}

std::vector<std::string> InstalledNetwork::key_flags(const std::string& holder) const {
    const fs::path secrets = root_ / "etc/secrets";
    return {"--data-dir",        (root_ / "keys" / holder).string(),
            "--keystore",        (secrets / (holder + ".json")).string(),
            "--passphrase-file", (secrets / (holder + ".pass")).string()};
}

void InstalledNetwork::make_keys() {
    for (const std::string holder :
         {"admin", "coordinator", "settler", "guardian", "owner", "worker", "verifier"}) {
        const fs::path passphrase = root_ / "etc/secrets" / (holder + ".pass");
        ASSERT_TRUE(write_file_atomic(passphrase, as_bytes(holder + "'s words\n"), 0600).ok());
        std::vector<std::string> command{"wallet", "new"};
        const auto flags = key_flags(holder);
        command.insert(command.end(), flags.begin(), flags.end());
        const auto made = gym(command);
        const auto address = crypto::parse_address(std::string(made.at("address").as_string()));
        ASSERT_TRUE(address.ok());
        addresses_[holder] = *address;
        ASSERT_TRUE(chain_.node().fund(*address, Amount::parse_tokens("10").value()).ok());
    }
}

void InstalledNetwork::make_certificate() {
    run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
         (root_ / "etc/secrets/coordinator-tls.key").string(), "-out",
         (root_ / "etc/secrets/coordinator-tls.pem").string()});
}

std::string InstalledNetwork::adapt(
    const std::string& file,
    const std::vector<std::pair<std::string, std::string>>& replacements) const {
    std::string text = text_of(prefix() / "share/gym/config" / file);
    for (const auto& [from, to] : replacements) {
        std::size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << file << " has no '" << from << "'";
        for (; at != std::string::npos; at = text.find(from, at + to.size()))
            text.replace(at, from.size(), to);
    }
    return text;
}

void InstalledNetwork::write_config(
    const std::string& file, const std::vector<std::pair<std::string, std::string>>& replacements) {
    const std::string text = adapt(file, replacements);
    ASSERT_TRUE(write_file_atomic(root_ / "etc" / file, as_bytes(text)).ok());
}

std::string InstalledNetwork::deploy_contracts() {
    write_config("contracts.yaml",
                 {{"chain_id: 1 ", "chain_id: " + std::to_string(chain_.chain_id()) + " "},
                  {"0x" + std::string(40, '1'), address_of("owner").hex()},
                  {"0x" + std::string(40, '2'), address_of("coordinator").hex()},
                  {"0x" + std::string(40, '3'), address_of("settler").hex()},
                  {"0x" + std::string(40, '4'), address_of("guardian").hex()},
                  // A test waits seconds where a network waits hours.
                  {"activation_delay_s: 86400", "activation_delay_s: 1"},
                  {"withdrawal_delay_s: 43200", "withdrawal_delay_s: 1"},
                  {"epoch_interval_s: 600", "epoch_interval_s: 1"},
                  {"window_blocks: 7200", "window_blocks: 50"},
                  {"notice_blocks: 64", "notice_blocks: 30"}});
    std::vector<std::string> command{"operator", "deploy-contracts",
                                     (root_ / "etc/contracts.yaml").string(), "--out",
                                     path_of_deployment()};
    const auto flags = key_flags("admin");
    command.insert(command.end(), flags.begin(), flags.end());
    gym(command);
    return text_of(path_of_deployment());
}

void InstalledNetwork::write_configs() {
    const std::string etc = (root_ / "etc").string();
    const std::string secrets = etc + "/secrets/";
    const std::string state = (root_ / "var").string();
    const auto credentials = [](const std::string& service) {
        return "/run/credentials/gym-" + service + ".service/";
    };
    const std::vector<std::pair<std::string, std::string>> server{
        {"  host: 127.0.0.1 ", "  host: " + database_.host + " "},
        {"  port: 5432 ", "  port: " + std::to_string(database_.port) + " "},
        {"  database: gym ", "  database: " + database_.database + " "}};
    const auto with = [&](std::vector<std::pair<std::string, std::string>> list) {
        list.insert(list.end(), server.begin(), server.end());
        return list;
    };
    const std::string chain_url = "http://127.0.0.1:8545";
    write_config(
        "coordinator.yaml",
        with({{credentials("coordinator") + "tls-certificate", secrets + "coordinator-tls.pem"},
              {credentials("coordinator") + "tls-key", secrets + "coordinator-tls.key"},
              {credentials("coordinator") + "db-password", secrets + "db-coordinator"},
              {credentials("coordinator") + "keystore", secrets + "coordinator.json"},
              {credentials("coordinator") + "passphrase", secrets + "coordinator.pass"},
              {credentials("coordinator") + "blob-key", secrets + "blob.key"},
              {"address: 0.0.0.0:7600", "address: 0.0.0.0:0"},
              // Every report is run again here: an honest one passes.
              {"report_audit_ppm: 20000", "report_audit_ppm: 1000000"},
              {"beacon_delay_blocks: 66", "beacon_delay_blocks: 2"},
              // The blob server has a key of this name, too: only that of the calls is changed.
              {"port_file: \"\"               # [none] the port is written here once",
               "port_file: " + path("coordinator.port").string() + " #"},
              {"  port: 7601 ", "  port: 0 "},
              {chain_url, chain_.url()},
              {"/var/lib/gym-coordinator", path("var/coordinator").string()},
              {"/etc/gym/", etc + "/"},
              {"/var/lib/gym/", state + "/"}}));
    write_config("rewards.yaml",
                 with({{credentials("rewards") + "db-password", secrets + "db-rewards"},
                       {credentials("rewards") + "keystore", secrets + "settler.json"},
                       {credentials("rewards") + "passphrase", secrets + "settler.pass"},
                       {chain_url, chain_.url()},
                       {"/etc/gym/", etc + "/"},
                       {"/var/lib/gym/", state + "/"}}));
    write_config("api.yaml", with({{credentials("api") + "db-password", secrets + "db-api"},
                                   {credentials("api") + "blob-key", secrets + "blob.key"},
                                   {"  port: 8080 ", "  port: 0 "},
                                   {"port_file: \"\"", "port_file: " + path("api.port").string()},
                                   {"/etc/gym/", etc + "/"},
                                   {"/var/lib/gym/", state + "/"}}));
}

void InstalledNetwork::start(const std::string& name, std::vector<std::string> argv) {
    auto child = Subprocess::start({.argv = resolved(std::move(argv)),
                                    .env = environment(),
                                    .log_file = root_ / "logs" / (name + ".log"),
                                    .folder = root_});
    ASSERT_TRUE(child.ok()) << child.error().message;
    running_.insert_or_assign(name, std::move(child).value());
}

void InstalledNetwork::start_services() {
    for (const std::string name : {"coordinator", "rewards", "api"})
        start(name, {"gym-" + name, "--config", (root_ / "etc" / (name + ".yaml")).string()});
    const std::string port = wait_for_file(path("api.port"));
    ASSERT_FALSE(port.empty()) << log_of("api");
    api_url_ = "http://127.0.0.1:" + port;
    coordinator_ = "localhost:" + wait_for_file(path("coordinator.port"));
    ASSERT_NE(coordinator_, "localhost:") << log_of("coordinator");
    for (const std::string name : {"worker", "verifier"})
        write_config(name + ".yaml",
                     {{"coordinator.example.org:7600", coordinator_},
                      {"https://rpc.example.org", chain_.url()},
                      {"tls_ca_file: system",
                       "tls_ca_file: " + path("etc/secrets/coordinator-tls.pem").string()},
                      {"chain_id: 1 ", "chain_id: " + std::to_string(chain_.chain_id()) + " "},
                      {"/var/lib/gym-" + name, path("var/" + name).string()},
                      {"/run/credentials/gym-" + name + ".service/keystore",
                       path("etc/secrets/" + name + ".json").string()},
                      {"/run/credentials/gym-" + name + ".service/passphrase",
                       path("etc/secrets/" + name + ".pass").string()},
                      {"http://127.0.0.1:8080", api_url_},
                      {"threads: 0 ", "threads: 1 "}});
}

void InstalledNetwork::stop(const std::string& name) {
    ASSERT_TRUE(running_.at(name).stop().ok());
    running_.erase(name);
}

std::string InstalledNetwork::log_of(const std::string& name) const {
    return text_of(root_ / "logs" / (name + ".log"));
}

}  // namespace gym::testing
