#include "gym/devnet/layout.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstring>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/crypto/secret.hpp"

namespace gym::devnet {

namespace {

namespace json = boost::json;
constexpr const char* kFile = "devnet.json";
constexpr std::size_t kSecretBytes = 24;

/// A loopback port that is free now.
Result<std::uint16_t> free_port() {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const view = reinterpret_cast<sockaddr*>(&address);
    const bool bound = descriptor >= 0 && ::bind(descriptor, view, size) == 0 &&
                       ::getsockname(descriptor, view, &size) == 0;
    const Error error = fail(ErrorCode::kIo, std::string("no free port: ") + std::strerror(errno));
    if (descriptor >= 0) ::close(descriptor);
    if (!bound) return error;
    return ntohs(address.sin_port);
}

/// As root, PostgreSQL runs as a user who may not reach a folder below /root: then its files live
/// in /var/tmp, under a name that follows from `root`.
std::filesystem::path postgres_folder(const std::filesystem::path& root) {
    if (::geteuid() != 0) return root / "postgres";
    const std::string name = to_hex(commit::sha256(as_bytes(root.string())).view()).substr(0, 16);
    return std::filesystem::path("/var/tmp") / ("gym-devnet-" + name);
}

Error unusable(const std::filesystem::path& root, const std::error_code& error) {
    return fail(ErrorCode::kIo, "cannot make the network's folder " + root.string() + ": " +
                                    error.message() + "; choose another one (--root)");
}

/// remove_layout() removes all of the root, so it must hold nothing of anybody else.
Status make_root(const std::filesystem::path& root) {
    std::error_code error;
    if (std::filesystem::exists(root / kFile, error))
        return fail(ErrorCode::kAlreadyExists,
                    root.string() + " holds a network; `gym devnet down` removes it");
    return prepare_root(root);
}

}  // namespace

Status prepare_root(const std::filesystem::path& root) {
    std::error_code error;
    if (std::filesystem::exists(root / kFile, error)) return {};
    std::filesystem::create_directories(root, error);
    if (error) return unusable(root, error);
    auto entry = std::filesystem::directory_iterator(root, error);
    if (error) return unusable(root, error);
    while (entry != std::filesystem::directory_iterator() && entry->path().filename() == kLockFile)
        entry.increment(error);
    if (error) return unusable(root, error);
    if (entry == std::filesystem::directory_iterator()) return {};
    return fail(ErrorCode::kConflict,
                root.string() + " holds other files (" + entry->path().filename().string() +
                    "), which `gym devnet down` would remove: choose an empty or new folder "
                    "(--root)");
}

bool is_root(const std::filesystem::path& root) {
    std::error_code error;
    return std::filesystem::exists(root / kFile, error) ||
           std::filesystem::exists(root / kLockFile, error);
}

std::string Layout::api_url() const {
    return "http://127.0.0.1:" + std::to_string(api_port);
}
std::string Layout::chain_url() const {
    return "http://127.0.0.1:" + std::to_string(chain_port);
}
std::string Layout::grpc_address() const {
    return "127.0.0.1:" + std::to_string(grpc_port);
}
std::string Layout::blob_url() const {
    return "http://127.0.0.1:" + std::to_string(blob_port);
}
std::string Layout::mirror_url() const {
    return "http://127.0.0.1:" + std::to_string(mirror_port);
}

std::vector<std::string> Layout::worker_names() const {
    std::vector<std::string> out;
    for (std::uint32_t i = 1; i <= workers; ++i)
        out.push_back("worker-" + std::to_string(i));
    return out;
}

Result<Layout> create_layout(const std::filesystem::path& root, std::uint32_t workers,
                             std::uint16_t api_port) {
    std::error_code error;
    Layout layout;
    layout.root = std::filesystem::absolute(root, error).lexically_normal();
    GYM_CHECK(make_root(layout.root));
    layout.postgres = postgres_folder(layout.root);
    // Left by a network whose root was removed by hand: its books would not fit the new chain.
    std::filesystem::remove_all(layout.postgres, error);
    if (error)
        return fail(ErrorCode::kIo,
                    "cannot remove " + layout.postgres.string() +
                        ", which an earlier network in this place left: " + error.message());
    layout.workers = workers;
    layout.api_port = api_port;
    for (std::uint16_t* port : {&layout.api_port, &layout.grpc_port, &layout.chain_port,
                                &layout.blob_port, &layout.mirror_port}) {
        if (*port != 0) continue;
        GYM_TRY(*port, free_port());
    }
    // First the file that says what the folder is: a start that is cut off here can resume.
    GYM_CHECK(save_layout(layout));
    GYM_CHECK(make_folders(layout));
    return layout;
}

Status make_folders(const Layout& layout) {
    std::error_code error;
    for (const auto& folder :
         {layout.keys(), layout.secrets(), layout.config(), layout.logs(), layout.run(),
          layout.anvil(), layout.blobs(), layout.epochs(), layout.nodes(), layout.postgres}) {
        std::filesystem::create_directories(folder, error);
        if (error)
            return fail(ErrorCode::kIo, "cannot make " + folder.string() + ": " + error.message());
    }
    std::filesystem::permissions(layout.keys(), std::filesystem::perms::owner_all, error);
    std::filesystem::permissions(layout.secrets(), std::filesystem::perms::owner_all, error);
    return {};
}

Status save_layout(const Layout& layout) {
    const json::object object{{"postgres", layout.postgres.string()},
                              {"api_port", layout.api_port},
                              {"grpc_port", layout.grpc_port},
                              {"chain_port", layout.chain_port},
                              {"blob_port", layout.blob_port},
                              {"mirror_port", layout.mirror_port},
                              {"workers", layout.workers}};
    return write_file_atomic(layout.root / kFile, as_bytes(json::serialize(object) + "\n"));
}

Result<Layout> load_layout(const std::filesystem::path& root) {
    Layout layout;
    layout.root = std::filesystem::absolute(root).lexically_normal();
    const auto bytes = read_file(layout.root / kFile, 1 << 16);
    if (!bytes.ok()) {
        std::error_code error;
        if (bytes.error().code != ErrorCode::kNotFound &&
            std::filesystem::is_directory(layout.root, error))
            return bytes.error();
        return fail(ErrorCode::kNotFound,
                    layout.root.string() + " holds no network; `gym devnet up` starts one");
    }
    try {
        const json::object object =
            json::parse(std::string(bytes->begin(), bytes->end())).as_object();
        layout.postgres = json::value_to<std::string>(object.at("postgres"));
        layout.api_port = object.at("api_port").to_number<std::uint16_t>();
        layout.grpc_port = object.at("grpc_port").to_number<std::uint16_t>();
        layout.chain_port = object.at("chain_port").to_number<std::uint16_t>();
        if (const auto* const port = object.if_contains("blob_port"))
            layout.blob_port = port->to_number<std::uint16_t>();
        if (const auto* const port = object.if_contains("mirror_port"))
            layout.mirror_port = port->to_number<std::uint16_t>();
        layout.workers = object.at("workers").to_number<std::uint32_t>();
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed, (layout.root / kFile).string() + ": " + error.what());
    }
    return layout;
}

Status remove_layout(const Layout& layout) {
    std::vector<std::filesystem::path> all{layout.postgres};
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(layout.root, error))
        if (entry.path().filename() != kFile && entry.path().filename() != kLockFile)
            all.push_back(entry.path());
    // Last the file that says what the folder is: a removal that is cut off here can resume.
    all.push_back(layout.root / kFile);
    for (const auto& path : all) {
        std::filesystem::remove_all(path, error);
        if (error)
            return fail(ErrorCode::kIo, "cannot remove " + path.string() + ": " + error.message());
    }
    std::filesystem::remove(layout.root, error);  // not with a lock in it
    return {};
}

Result<std::string> ensure_secret(const std::filesystem::path& path) {
    const auto existing = read_file(path, 1 << 10);
    if (existing.ok()) {
        std::string word(existing->begin(), existing->end());
        while (!word.empty() && word.back() == '\n')
            word.pop_back();
        return word;
    }
    if (existing.error().code != ErrorCode::kNotFound) return existing.error();
    std::array<std::uint8_t, kSecretBytes> random{};
    crypto::secure_random(random);
    const std::string word = to_hex(random);
    GYM_CHECK(write_file_atomic(path, as_bytes(word + "\n"), 0600));
    return word;
}

Result<RootLock> RootLock::acquire(const std::filesystem::path& root, const std::string& command,
                                   const std::string& way_out) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(root, error).lexically_normal();
    const auto file = absolute / kLockFile;
    // Nothing is written into a folder of someone else; one with a lock is a network's, and while
    // it is held its files are not to be judged.
    if (!std::filesystem::exists(file, error)) {
        const Status prepared = prepare_root(absolute);
        // Another may have come in between, whose files are no foreign ones.
        if (!prepared.ok() && !std::filesystem::exists(file, error)) return prepared.error();
    }
    auto lock =
        FileLock::acquire(file, "process " + std::to_string(::getpid()) + " (" + command + ")");
    if (lock.ok()) return RootLock(absolute, std::move(*lock));
    if (lock.error().code != ErrorCode::kConflict) return lock.error();
    const std::string holder = FileLock::holder_of(file);
    return fail(ErrorCode::kConflict, absolute.string() + " is in use by " +
                                          (holder.empty() ? "another process" : holder) + ": " +
                                          way_out);
}

void RootLock::remove() {
    std::error_code ignored;  // what stays is an empty folder, which the next network takes
    std::filesystem::remove(root_ / kLockFile, ignored);
    std::filesystem::remove(root_, ignored);
}

}  // namespace gym::devnet
