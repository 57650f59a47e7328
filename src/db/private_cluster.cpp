#include "gym/db/private_cluster.hpp"

#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "connection.hpp"
#include "gym/common/file.hpp"
#include "gym/common/process_view.hpp"
#include "gym/common/subprocess.hpp"

namespace gym::db {
namespace {

namespace fs = std::filesystem;

constexpr int kInitdbTimeoutMs = 120'000;
constexpr auto kPoll = std::chrono::milliseconds(5);
constexpr auto kStopTimeout = std::chrono::seconds(60);
constexpr std::uint16_t kSocketPort = 5432;  // only a part of the socket's name
constexpr std::size_t kSocketPathMax = 107;  // sockaddr_un
constexpr const char* kSystemUser = "postgres";

Error os_error(const std::string& action) {
    return fail(ErrorCode::kIo, action + ": " + std::strerror(errno));
}

Result<fs::path> find_programs() {
    std::vector<fs::path> candidates;
    if (const char* chosen = std::getenv("GYM_PG_BINDIR")) candidates.emplace_back(chosen);
    std::error_code error;
    std::vector<fs::path> debian;
    for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", error))
        debian.push_back(version.path() / "bin");
    std::sort(debian.rbegin(), debian.rend());  // the newest first
    candidates.insert(candidates.end(), debian.begin(), debian.end());
    if (const char* path = std::getenv("PATH")) {
        std::istringstream parts(path);
        for (std::string part; std::getline(parts, part, ':');)
            candidates.emplace_back(part);
    }
    for (const fs::path& folder : candidates)
        if (fs::exists(folder / "initdb", error) && fs::exists(folder / "postgres", error))
            return folder;
    return fail(ErrorCode::kNotFound,
                "PostgreSQL's programs initdb and postgres are not installed "
                "(Debian: postgresql; elsewhere set GYM_PG_BINDIR)");
}

/// The user that runs the server: root may not, so the system user takes its place.
struct ServerUser {
    bool switched = false;
    uid_t uid = 0;
    gid_t gid = 0;
};

Result<ServerUser> server_user() {
    if (::geteuid() != 0) return ServerUser{false, ::geteuid(), ::getegid()};
    const passwd* entry = ::getpwnam(kSystemUser);
    if (entry == nullptr)
        return fail(ErrorCode::kNotFound,
                    "PostgreSQL refuses to run as root and there is no system user 'postgres'");
    return ServerUser{true, entry->pw_uid, entry->pw_gid};
}

std::vector<std::string> as_server_user(const ServerUser& user, bool die_with_parent) {
    std::vector<std::string> argv = {"setpriv"};
    if (user.switched) {
        argv.push_back("--reuid=" + std::to_string(user.uid));
        argv.push_back("--regid=" + std::to_string(user.gid));
        argv.push_back("--clear-groups");
    }
    // The kernel forgets a request made before the change of user, so it is made here.
    if (die_with_parent) {
        argv.push_back("--pdeathsig");
        argv.push_back("QUIT");
    }
    if (argv.size() == 1) argv.clear();
    return argv;
}

/// Every folder on the way must let the server's user through.
Status check_reachable(const fs::path& folder, const ServerUser& user) {
    if (!user.switched) return {};
    for (fs::path at = folder; at.has_relative_path(); at = at.parent_path()) {
        struct stat info {};
        if (::stat(at.c_str(), &info) != 0) return os_error(at.string());
        const bool passes = (info.st_mode & S_IXOTH) != 0 ||
                            (info.st_uid == user.uid && (info.st_mode & S_IXUSR) != 0) ||
                            (info.st_gid == user.gid && (info.st_mode & S_IXGRP) != 0);
        if (!passes)
            return fail(ErrorCode::kPermissionDenied,
                        "the user 'postgres', which runs the server for root, cannot enter " +
                            at.string() + "; choose another folder");
    }
    return {};
}

std::string random_password() {
    constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::random_device random;
    std::string out;
    for (int i = 0; i < 32; ++i)
        out += kAlphabet[random() % kAlphabet.size()];
    return out;
}

Result<std::string> read_line_file(const fs::path& path) {
    GYM_TRY(const Bytes bytes, read_file(path, 4096));
    std::string text(bytes.begin(), bytes.end());
    return text.substr(0, text.find('\n'));
}

Status write_settings(const ClusterOptions& options, const fs::path& data, const fs::path& socket) {
    std::ostringstream out;
    out << "# written by gym; edits are lost at the next start\n"
        << "unix_socket_directories = '" << socket.string() << "'\n"
        << "unix_socket_permissions = 0777\n"  // the password decides, not the file mode
        << "listen_addresses = '" << (options.tcp_port != 0 ? "127.0.0.1" : "") << "'\n"
        << "port = " << (options.tcp_port != 0 ? options.tcp_port : kSocketPort) << "\n"
        << "max_connections = " << options.connections_max << "\n"
        << "shared_buffers = 128MB\n"
        << "password_encryption = 'scram-sha-256'\n"
        << "timezone = 'UTC'\nlog_timezone = 'UTC'\n"
        << "synchronous_commit = on\n"
        << "max_wal_size = 2GB\n"
        << "log_min_messages = warning\nlog_statement = 'none'\n";
    if (options.durability == Durability::kProcessCrash)
        out << "fsync = off\nfull_page_writes = off\nwal_level = minimal\nmax_wal_senders = 0\n";
    else
        out << "fsync = on\nfull_page_writes = on\n";
    const std::string text = out.str();
    return write_file_atomic(data / "gym.conf", as_bytes(text), 0644);
}

Status initialise(const ClusterOptions& options, const fs::path& bin, const fs::path& data,
                  const ServerUser& user, const std::string& password) {
    const fs::path secret = options.folder / "initdb-password";
    GYM_CHECK(write_file_atomic(secret, as_bytes(password), 0600));
    if (::chown(secret.c_str(), user.uid, user.gid) != 0) return os_error(secret.string());
    SubprocessOptions command;
    command.argv = as_server_user(user, true);
    command.argv.insert(command.argv.end(),
                        {(bin / "initdb").string(), "--pgdata=" + data.string(),
                         "--username=postgres", "--auth=scram-sha-256",
                         "--pwfile=" + secret.string(), "--encoding=UTF8", "--locale=C.UTF-8"});
    if (options.durability != Durability::kFull) command.argv.push_back("--no-sync");
    command.folder = data.parent_path();
    auto output = run_command(command, kInitdbTimeoutMs);
    ::unlink(secret.c_str());
    if (!output.ok()) return output.error().in("initdb");
    std::ofstream config(data / "postgresql.conf", std::ios::app);
    config << "\ninclude = 'gym.conf'\n";
    config.close();
    if (!config) return fail(ErrorCode::kIo, "cannot write " + (data / "postgresql.conf").string());
    return {};
}

std::string log_tail(const fs::path& log) {
    constexpr std::size_t kTailBytes = 2'000;
    const auto bytes = read_file(log);
    if (!bytes.ok()) return "(no server log)";
    const std::size_t skip = bytes->size() > kTailBytes ? bytes->size() - kTailBytes : 0;
    return {bytes->begin() + static_cast<std::ptrdiff_t>(skip), bytes->end()};
}

/// A pid may have been reused since the lock file was written; only a postgres is ours to signal.
bool is_postgres(pid_t pid) {
    std::ifstream comm("/proc/" + std::to_string(pid) + "/comm");
    std::string name;
    return static_cast<bool>(std::getline(comm, name)) && name == "postgres";
}

fs::path lock_file(const fs::path& data) {
    return data / "postmaster.pid";
}

/// The process that the lock file names, whether it runs or not.
std::optional<pid_t> locked_by(const fs::path& data) {
    std::ifstream lock(lock_file(data));
    pid_t pid = 0;
    if (!(lock >> pid) || pid <= 1) return std::nullopt;
    return pid;
}

/// PostgreSQL takes a zombie's id in its lock for a running server and refuses to start. Without
/// the lock it still refuses while a process of the old server is attached to its shared memory.
void drop_lock_of_zombie(const fs::path& data) {
    const auto pid = locked_by(data);
    if (!pid) return;
    const auto view = view_process(*pid);
    std::error_code error;
    if (view.ok() && view->ended) fs::remove(lock_file(data), error);
}

}  // namespace

PrivateCluster::PrivateCluster(ClusterOptions options, fs::path bin, std::string password)
    : options_(std::move(options)), bin_(std::move(bin)), password_(std::move(password)) {}

Result<PrivateCluster> PrivateCluster::prepare(ClusterOptions options) {
    GYM_TRY(const fs::path bin, find_programs());
    GYM_TRY(const ServerUser user, server_user());
    std::error_code error;
    options.folder = fs::absolute(options.folder, error).lexically_normal();
    const fs::path data = options.folder / "data";
    const fs::path password_file = options.folder / "superuser-password";
    const std::string longest = (options.folder / "socket" / ".s.PGSQL.65535.lock").string();
    if (longest.size() > kSocketPathMax)
        return fail(
            ErrorCode::kInvalidArgument,
            "the folder's name is too long for a Unix socket in it: " + options.folder.string());
    fs::create_directories(data, error);
    if (error)
        return fail(ErrorCode::kIo, "cannot create " + data.string() + ": " + error.message());
    ::chmod(options.folder.c_str(), 0755);
    if (::chown(data.c_str(), user.uid, user.gid) != 0 || ::chmod(data.c_str(), 0700) != 0)
        return os_error(data.string());
    GYM_CHECK(check_reachable(options.folder, user));

    // The password is written last: without it an interrupted initdb starts over.
    const bool complete =
        fs::exists(password_file, error) && fs::exists(data / "PG_VERSION", error);
    std::string password = random_password();
    if (complete) {
        GYM_TRY(password, read_line_file(password_file));
    } else {
        for (const auto& entry : fs::directory_iterator(data))
            fs::remove_all(entry.path(), error);
        GYM_CHECK(initialise(options, bin, data, user, password));
        GYM_CHECK(write_file_atomic(password_file, as_bytes(password), 0600));
    }
    PrivateCluster cluster(std::move(options), bin, std::move(password));
    cluster.socket_folder_ = cluster.options_.folder / "socket";
    fs::create_directories(cluster.socket_folder_, error);
    if (::chown(cluster.socket_folder_.c_str(), user.uid, user.gid) != 0)
        return os_error(cluster.socket_folder_.string());
    return cluster;
}

std::optional<pid_t> PrivateCluster::pid() const {
    const auto pid = locked_by(options_.folder / "data");
    return pid && !has_ended(*pid) && is_postgres(*pid) ? pid : std::nullopt;
}

Status PrivateCluster::start() {
    if (pid()) return {};
    GYM_TRY(const ServerUser user, server_user());
    const fs::path data = options_.folder / "data";
    GYM_CHECK(write_settings(options_, data, socket_folder_));
    drop_lock_of_zombie(data);
    SubprocessOptions command;
    command.argv = as_server_user(user, options_.die_with_parent);
    command.argv.insert(command.argv.end(), {(bin_ / "postgres").string(), "-D", data.string()});
    command.log_file = options_.folder / "server.log";
    command.folder = data;
    command.die_with_parent = false;  // by SIGQUIT instead of SIGKILL, see as_server_user()
    GYM_TRY(Subprocess server, Subprocess::start(command));
    const pid_t started = server.release();
    const auto deadline = std::chrono::steady_clock::now() + options_.start_timeout;
    while (!has_ended(started)) {
        // Connecting is the only proof; a server that still recovers refuses.
        if (pid() == started && Connection::open(superuser()).ok()) return {};
        if (std::chrono::steady_clock::now() > deadline) {
            ::kill(started, SIGQUIT);
            return fail(ErrorCode::kTimeout,
                        "PostgreSQL does not accept connections: " + log_tail(command.log_file));
        }
        std::this_thread::sleep_for(kPoll);
    }
    return fail(ErrorCode::kInternal, "PostgreSQL did not start: " + log_tail(command.log_file));
}

Status PrivateCluster::stop(StopMode mode) {
    const auto running = pid();
    if (!running) return {};
    if (::kill(*running, mode == StopMode::kFast ? SIGINT : SIGQUIT) != 0 && errno != ESRCH)
        return os_error("stopping PostgreSQL, process " + std::to_string(*running));
    const auto deadline = std::chrono::steady_clock::now() + kStopTimeout;
    while (!has_ended(*running)) {
        if (std::chrono::steady_clock::now() > deadline)
            return fail(ErrorCode::kTimeout,
                        "PostgreSQL, process " + std::to_string(*running) + ", does not stop");
        std::this_thread::sleep_for(kPoll);
    }
    return {};
}

Status PrivateCluster::restart(StopMode mode) {
    GYM_CHECK(stop(mode));
    return start();
}

ConnectionConfig PrivateCluster::superuser(const std::string& database) const {
    ConnectionConfig config;
    config.host = socket_folder_.string();
    config.port = options_.tcp_port != 0 ? options_.tcp_port : kSocketPort;
    config.database = database;
    config.user = "postgres";
    config.password = password_;
    return config;
}

namespace {

/// CREATE and DROP DATABASE refuse to run inside a transaction.
Status run_outside_transaction(const ConnectionConfig& config, const std::string& sql) {
    GYM_TRY(const auto connection, Connection::open(config));
    try {
        pqxx::nontransaction session(connection->driver());
        session.exec(sql);
        return {};
    } catch (...) {
        return current_failure().error;
    }
}

std::string quoted_name(const std::string& name) {
    std::string out = "\"";
    for (const char c : name)
        out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
}

}  // namespace

Status PrivateCluster::create_database(const std::string& name, const std::string& template_name) {
    return run_outside_transaction(superuser(), "CREATE DATABASE " + quoted_name(name) +
                                                    " TEMPLATE " + quoted_name(template_name) +
                                                    " STRATEGY file_copy");
}

Status PrivateCluster::drop_database(const std::string& name) {
    return run_outside_transaction(
        superuser(), "DROP DATABASE IF EXISTS " + quoted_name(name) + " WITH (FORCE)");
}

}  // namespace gym::db
