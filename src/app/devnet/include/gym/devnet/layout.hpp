#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "gym/common/file_lock.hpp"
#include "gym/common/result.hpp"

namespace gym::devnet {

/// The key holders of a development network. Each has keys/NAME.json (keystore) and keys/NAME.pass.
inline constexpr const char* kDeployer = "deployer";        ///< admin and guardian of the contracts
inline constexpr const char* kCoordinator = "coordinator";  ///< posts rounds and commitment roots
inline constexpr const char* kSettler = "settler";          ///< releases escrow, posts payout roots
inline constexpr const char* kJobOwner = "job-owner";
inline constexpr const char* kProvider = "data-provider";  ///< offers the text of the demo
inline constexpr const char* kVerifier = "verifier";

/// Where everything of one development network is, and on which ports. Saved as devnet.json.
struct Layout {
    std::filesystem::path root;      ///< absolute
    std::filesystem::path postgres;  ///< the private cluster; outside `root` where PostgreSQL's own
                                     ///< system user could not reach it
    std::uint16_t api_port = 0;
    std::uint16_t grpc_port = 0;
    std::uint16_t chain_port = 0;
    std::uint16_t blob_port = 0;    ///< of the coordinator; 0: a network from before it had one
    std::uint16_t mirror_port = 0;  ///< likewise
    std::uint32_t workers = 0;

    [[nodiscard]] std::filesystem::path keys() const { return root / "keys"; }
    [[nodiscard]] std::filesystem::path secrets() const { return root / "secrets"; }
    [[nodiscard]] std::filesystem::path config() const { return root / "config"; }
    [[nodiscard]] std::filesystem::path logs() const { return root / "logs"; }
    [[nodiscard]] std::filesystem::path run() const { return root / "run"; }
    /// Written by a service once it listens.
    [[nodiscard]] std::filesystem::path port_file(const std::string& service) const {
        return run() / (service + ".port");
    }
    [[nodiscard]] std::filesystem::path anvil() const { return root / "anvil"; }
    [[nodiscard]] std::filesystem::path blobs() const { return root / "blobs"; }
    [[nodiscard]] std::filesystem::path epochs() const { return root / "epochs"; }
    [[nodiscard]] std::filesystem::path nodes() const { return root / "nodes"; }
    [[nodiscard]] std::filesystem::path deployment() const { return root / "deployment.json"; }
    /// The network's profile, signed by kDeployer, its operator.
    [[nodiscard]] std::filesystem::path profile() const { return root / "profile.json"; }
    [[nodiscard]] std::filesystem::path keystore(const std::string& holder) const {
        return keys() / (holder + ".json");
    }
    [[nodiscard]] std::filesystem::path passphrase(const std::string& holder) const {
        return keys() / (holder + ".pass");
    }
    [[nodiscard]] std::string api_url() const;
    [[nodiscard]] std::string chain_url() const;
    [[nodiscard]] std::string grpc_address() const;
    [[nodiscard]] std::string blob_url() const;
    [[nodiscard]] std::string mirror_url() const;
    [[nodiscard]] bool has_mirror() const { return blob_port != 0 && mirror_port != 0; }
    /// worker-1, worker-2, ...
    [[nodiscard]] std::vector<std::string> worker_names() const;
};

/// Of RootLock, in the root: it outlives the network, until the lock's holder takes it away.
inline constexpr const char* kLockFile = "devnet.lock";

/// Makes the folder `root` unless it is there. @errors kConflict if it holds files but no network;
/// kIo.
Status prepare_root(const std::filesystem::path& root);
/// Whether `root` holds a network, or a command's lock on the place for one.
[[nodiscard]] bool is_root(const std::filesystem::path& root);

/// Makes the folders of a new network below `root` and picks free loopback ports (0) for it.
/// @errors kAlreadyExists if `root` holds a network, kConflict if it holds anything else, kIo.
[[nodiscard]] Result<Layout> create_layout(const std::filesystem::path& root, std::uint32_t workers,
                                           std::uint16_t api_port);
/// Makes those that are missing. @errors kIo.
Status make_folders(const Layout& layout);
/// @errors kNotFound if `root` holds no network, kMalformed.
[[nodiscard]] Result<Layout> load_layout(const std::filesystem::path& root);
Status save_layout(const Layout& layout);
/// Removes all files of a network that was stopped, but for a lock's and its folder. @errors kIo.
Status remove_layout(const Layout& layout);

/// A new file of mode 0600 with a random word in it, unless the file exists. @return the word.
[[nodiscard]] Result<std::string> ensure_secret(const std::filesystem::path& path);

/// One command at a time starts, uses up or removes the network in a root: `demo` holds this for
/// its whole run, `up` and `down` while they change things.
class RootLock {
  public:
    /// Makes the folder if it is not there.
    /// @param command names the holder of the lock in the refusals of others.
    /// @param way_out what to do, for the error message.
    /// @errors kConflict naming process and command of the holder, or a file in `root` that is not
    /// part of a network; kIo.
    static Result<RootLock> acquire(const std::filesystem::path& root, const std::string& command,
                                    const std::string& way_out);
    /// Takes the lock's file away, and the folder too if nothing else is left in it. For the end of
    /// a command that removed the network.
    void remove();

  private:
    RootLock(std::filesystem::path root, FileLock lock)
        : root_(std::move(root)), lock_(std::move(lock)) {}
    std::filesystem::path root_;
    FileLock lock_;
};

}  // namespace gym::devnet
