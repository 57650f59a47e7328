#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/common/subprocess.hpp"
#include "gym/crypto/key.hpp"

namespace gym::chain {

/// Of private chains, unless they say another: anvil's, and hardhat's.
inline constexpr std::uint64_t kLocalChainId = 31'337;

struct AnvilOptions {
    std::filesystem::path binary;  ///< empty: see find_anvil()
    std::uint16_t port = 0;        ///< 0: the system picks one
    std::uint64_t chain_id = kLocalChainId;
    std::uint32_t block_time_ms = 0;      ///< 0: a block per transaction, at once
    std::uint32_t slots_in_an_epoch = 1;  ///< finalized follows the head by twice this
    std::uint32_t states_kept = 0;        ///< of past blocks, for calls at them; 0: all
    bool persist = false;                 ///< keep the chain in the folder over stop and start
    bool detached = false;                ///< outlives this process (gym devnet); else dies with it
    std::uint32_t start_timeout_ms = 20'000;
};

/// A private chain in a process of its own on a loopback port, for tests and the devnet. Its output
/// goes to `folder`/anvil.log. Stopped by process id when destroyed, unless detached.
class PrivateAnvil {
  public:
    /// Returns when the chain answers. @errors kNotFound without the binary, kTimeout, kIo; the
    /// message holds the end of its log.
    static Result<PrivateAnvil> start(const std::filesystem::path& folder,
                                      const AnvilOptions& options = {});
    PrivateAnvil(PrivateAnvil&&) noexcept = default;
    PrivateAnvil& operator=(PrivateAnvil&&) noexcept = default;
    ~PrivateAnvil();

    [[nodiscard]] const std::string& rpc_url() const noexcept { return url_; }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

    /// Asks it to end, waits, and kills it when it does not listen. Idempotent.
    Status stop();
    /// SIGKILL: what a power cut does. Idempotent.
    void kill();

    /// Mines `count` blocks now.
    Status mine(std::uint32_t count);
    /// Gives `account` that balance.
    Status fund(const Address& account, const Amount& balance_wei);
    /// Any method of the node, params as a JSON array; the result as JSON text.
    [[nodiscard]] Result<std::string> rpc(const std::string& method,
                                          const std::string& params_json);

  private:
    PrivateAnvil(Subprocess process, std::uint16_t port, bool detached);
    Subprocess process_;
    pid_t pid_;
    std::uint16_t port_;
    bool detached_;
    std::string url_;
};

/// Gives `account` that balance on an anvil that someone else started. @errors as ChainClient.
Status fund_on_anvil(const std::string& url, const Address& account, const Amount& balance_wei);

/// $GYM_ANVIL, else the anvil that `make setup` installed (below contracts/node_modules of
/// data_folder()), else one in $PATH or ~/.foundry/bin. @errors kNotFound with what to install.
[[nodiscard]] Result<std::filesystem::path> find_anvil();

/// A deterministic key for private chains, without value anywhere else. Fund it with
/// PrivateAnvil::fund().
[[nodiscard]] crypto::PrivateKey private_chain_key(std::uint32_t index);

}  // namespace gym::chain
