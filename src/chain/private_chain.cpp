#include "gym/chain/private_chain.hpp"

#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

#include "gym/chain/client.hpp"
#include "gym/common/data_folder.hpp"
#include "gym/common/file.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::chain {
namespace {

constexpr int kStartPollMs = 20;
constexpr int kStopGraceMs = 10'000;
constexpr std::size_t kLogTailBytes = 1'500;
constexpr std::string_view kListening = "Listening on 127.0.0.1:";

std::string seconds(std::uint32_t ms) {
    std::string fraction = std::to_string(ms % 1000);
    return std::to_string(ms / 1000) + "." + std::string(3 - fraction.size(), '0') + fraction;
}

std::vector<std::string> command(const std::filesystem::path& binary,
                                 const std::filesystem::path& folder, const AnvilOptions& options) {
    std::vector<std::string> out{
        binary.string(),
        "--host",
        "127.0.0.1",
        "--port",
        std::to_string(options.port),
        "--chain-id",
        std::to_string(options.chain_id),
        "--slots-in-an-epoch",
        std::to_string(options.slots_in_an_epoch),
        "--accounts",
        "1",
        "--no-cors",
        "--cache-path",  // old states; in ~/.foundry a kill would leave them for ever
        (folder / "anvil-states").string()};
    if (options.block_time_ms != 0) {
        out.push_back("--block-time");
        out.push_back(seconds(options.block_time_ms));
    }
    if (options.states_kept != 0) {
        out.push_back("--prune-history");
        out.push_back(std::to_string(options.states_kept));
    }
    if (options.persist) {
        out.push_back("--state");
        out.push_back((folder / "anvil-state.json").string());
    }
    return out;
}

std::string text_from(const std::filesystem::path& path, std::size_t offset) {
    const auto content = read_file(path);
    if (!content.ok() || content->size() < offset) return {};
    return std::string(content->begin() + static_cast<std::ptrdiff_t>(offset), content->end());
}

/// The port that this run of anvil, whose output starts at `log_offset`, says it listens on.
std::optional<std::uint16_t> announced_port(const std::filesystem::path& log,
                                            std::size_t log_offset) {
    const std::string text = text_from(log, log_offset);
    const std::size_t at = text.find(kListening);
    if (at == std::string::npos) return std::nullopt;
    const char* begin = text.data() + at + kListening.size();
    const char* const end = text.data() + text.size();
    std::uint16_t port = 0;
    const auto [last, error] = std::from_chars(begin, end, port);
    if (error != std::errc() || last == end) return std::nullopt;  // the number may be cut off
    return port;
}

std::string tail(const std::string& text) {
    return text.size() <= kLogTailBytes ? text : text.substr(text.size() - kLogTailBytes);
}

}  // namespace

PrivateAnvil::PrivateAnvil(Subprocess process, std::uint16_t port, bool detached)
    : process_(std::move(process)),
      pid_(process_.pid()),
      port_(port),
      detached_(detached),
      url_("http://127.0.0.1:" + std::to_string(port)) {}

PrivateAnvil::~PrivateAnvil() {
    if (detached_) process_.release();
}

Result<PrivateAnvil> PrivateAnvil::start(const std::filesystem::path& folder,
                                         const AnvilOptions& options) {
    std::filesystem::path binary = options.binary;
    if (binary.empty()) {
        GYM_TRY(binary, find_anvil());
    }
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return fail(ErrorCode::kIo, "cannot create " + folder.string());
    SubprocessOptions run;
    run.argv = command(binary, folder, options);
    run.log_file = folder / "anvil.log";
    run.folder = folder;
    run.die_with_parent = !options.detached;
    run.env = {{"NO_COLOR", "1"}};
    const std::size_t log_offset =
        std::filesystem::exists(run.log_file) ? std::filesystem::file_size(run.log_file) : 0;
    GYM_TRY(Subprocess process, Subprocess::start(run));

    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(options.start_timeout_ms);
    for (;;) {
        const auto port = announced_port(run.log_file, log_offset);
        if (port) {
            PrivateAnvil anvil(std::move(process), *port, options.detached);
            GYM_CHECK(anvil.rpc("eth_chainId", "[]"));
            return anvil;
        }
        const bool ended = !process.running();
        if (ended || std::chrono::steady_clock::now() >= deadline)
            return fail(ended ? ErrorCode::kUnavailable : ErrorCode::kTimeout,
                        std::string("anvil ") + (ended ? "ended" : "is not ready") + ": " +
                            tail(text_from(run.log_file, log_offset)));
        std::this_thread::sleep_for(std::chrono::milliseconds(kStartPollMs));
    }
}

Status PrivateAnvil::stop() {
    return process_.stop(kStopGraceMs);
}

void PrivateAnvil::kill() {
    process_.signal(SIGKILL);
    (void)process_.wait(kStopGraceMs);
}

Status PrivateAnvil::mine(std::uint32_t count) {
    GYM_CHECK(rpc("anvil_mine", "[" + std::to_string(count) + "]"));
    return {};
}

Status PrivateAnvil::fund(const Address& account, const Amount& balance_wei) {
    return fund_on_anvil(url_, account, balance_wei);
}

Result<std::string> PrivateAnvil::rpc(const std::string& method, const std::string& params_json) {
    return http_rpc_call(url_, method, params_json);
}

Status fund_on_anvil(const std::string& url, const Address& account, const Amount& balance_wei) {
    GYM_CHECK(
        http_rpc_call(url, "anvil_setBalance",
                      "[\"" + account.hex() + "\",\"0x" + to_hex(balance_wei.to_be32()) + "\"]"));
    return {};
}

namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& file) {
    std::error_code unknown;
    return fs::is_regular_file(file, unknown) && ::access(file.c_str(), X_OK) == 0;
}

/// In the folders of $PATH, then where Foundry's installer puts it.
std::optional<fs::path> installed_anvil() {
    std::vector<fs::path> folders;
    if (const char* const path = std::getenv("PATH"); path != nullptr) {
        std::istringstream parts(path);
        for (std::string folder; std::getline(parts, folder, ':');)
            if (!folder.empty()) folders.emplace_back(folder);
    }
    if (const char* const home = std::getenv("HOME"); home != nullptr && *home != '\0')
        folders.push_back(fs::path(home) / ".foundry" / "bin");
    for (const fs::path& folder : folders)
        if (is_program(folder / "anvil")) return folder / "anvil";
    return std::nullopt;
}

}  // namespace

Result<std::filesystem::path> find_anvil() {
    if (const char* named = std::getenv("GYM_ANVIL"); named != nullptr && *named != '\0') {
        if (is_program(named)) return fs::path(named);
        return fail(ErrorCode::kNotFound,
                    std::string("GYM_ANVIL names ") + named + ", which is no program");
    }
    const fs::path of_setup = data_folder() / "contracts" / "node_modules" / "@foundry-rs" /
                              "anvil-linux-amd64" / "bin" / "anvil";
    if (is_program(of_setup)) return of_setup;
    if (const auto found = installed_anvil()) return *found;
    return fail(ErrorCode::kNotFound,
                "there is no anvil, the program that runs a private chain: neither " +
                    of_setup.string() +
                    ", where `make setup` puts it, nor in PATH or ~/.foundry/bin. Install Foundry "
                    "(https://getfoundry.sh), or take npm's (`npm install --prefix FOLDER "
                    "@foundry-rs/anvil-linux-amd64`) and set GYM_ANVIL to "
                    "FOLDER/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil");
}

crypto::PrivateKey private_chain_key(std::uint32_t index) {
    const Digest seed = crypto::keccak256_text("gym private chain key " + std::to_string(index));
    auto key = crypto::PrivateKey::from_bytes(seed.view());
    GYM_ASSERT(key.ok(), "all but 2^-127 of the digests are keys");
    return std::move(key).value();
}

}  // namespace gym::chain
