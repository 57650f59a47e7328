#include "postgres.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "gym/db/migrate.hpp"

namespace gym::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "gym-test-pg-";
constexpr const char* kTemplate = "gym_template";
constexpr const char* kPassword = "only-for-tests";
constexpr const char* kGroups[] = {"gym_coordinator", "gym_rewards", "gym_api", "gym_auditor",
                                   "gym_evaluator"};

void require(const Status& status, const char* what) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s: %s\n", what, status.error().message.c_str());
    std::abort();
}

template <class T>
T require(Result<T> result, const char* what) {
    require(result.ok() ? Status() : Status(result.error()), what);
    return std::move(result).value();
}

/// Every test case makes a database of hundreds of files and drops it again. ext4 is slow at that
/// (it looks for inodes that were not deleted just now), memory is not; nothing here outlives the
/// program.
fs::path parent_folder() {
    constexpr std::uintmax_t kBytesWanted = std::uintmax_t{2} << 30;
    const fs::path memory = "/dev/shm";
    std::error_code error;
    const fs::space_info space = fs::space(memory, error);
    const bool usable =
        !error && space.available >= kBytesWanted && ::access(memory.c_str(), W_OK | X_OK) == 0;
    return usable ? memory : fs::temp_directory_path();
}

/// Folders of test programs that were killed.
void remove_stale_folders(const fs::path& parent) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(parent, error)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(kPrefix)) continue;
        const int pid = std::atoi(name.c_str() + std::char_traits<char>::length(kPrefix));
        if (pid > 1 && ::kill(pid, 0) != 0) fs::remove_all(entry.path(), error);
    }
}

struct Server {
    Server() : cluster(start()) {}
    ~Server() {
        (void)cluster.stop(db::StopMode::kImmediate);  // nothing in it is kept
        std::error_code error;
        fs::remove_all(cluster.folder(), error);
    }
    static db::PrivateCluster start() {
        const fs::path parent = parent_folder();
        remove_stale_folders(parent);
        db::ClusterOptions options;
        options.folder = parent / (kPrefix + std::to_string(::getpid()));
        options.durability = db::Durability::kProcessCrash;
        options.die_with_parent = true;
        auto prepared = require(db::PrivateCluster::prepare(options), "preparing PostgreSQL");
        require(prepared.start(), "starting PostgreSQL");
        return prepared;
    }
    db::PrivateCluster cluster;
};

std::string user_of(const std::string& group) {
    return group + "_login";
}

/// Migrates the template once per program.
void ensure_template() {
    static const bool once = [] {
        require(postgres().create_database(kTemplate), "creating the template database");
        const auto database =
            require(db::Database::open(postgres().superuser(kTemplate), 1), "opening the template");
        require(db::migrate(*database, migrations_folder()), "migrating");
        for (const char* group : kGroups)
            require(db::ensure_login_role(*database, user_of(group), kPassword, group), group);
        return true;
    }();
    (void)once;
}

}  // namespace

db::PrivateCluster& postgres() {
    static Server server;
    return server.cluster;
}

std::string migrations_folder() {
    const char* source = std::getenv("GYM_SOURCE_DIR");
    return std::string(source != nullptr ? source : GYM_TEST_SOURCE_DIR) + "/sql/migrations";
}

TestDatabase::TestDatabase() {
    static int count = 0;
    ensure_template();
    name_ = "test_" + std::to_string(++count);
    require(postgres().create_database(name_, kTemplate), "creating a test database");
    owner_ = require(db::Database::open(owner_config()), "opening a test database");
}

TestDatabase::~TestDatabase() {
    owner_.reset();
    (void)postgres().drop_database(name_);
}

db::ConnectionConfig TestDatabase::owner_config() const {
    return postgres().superuser(name_);
}

db::ConnectionConfig TestDatabase::config_as(const std::string& group) const {
    db::ConnectionConfig config = owner_config();
    config.user = user_of(group);
    config.password = kPassword;
    return config;
}

std::unique_ptr<db::Database> TestDatabase::as(const std::string& group, int connections_max) {
    return require(db::Database::open(config_as(group), connections_max), group.c_str());
}

}  // namespace gym::testing
