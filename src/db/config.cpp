#include "gym/db/config.hpp"

#include <cstdlib>

#include "gym/common/file.hpp"

namespace gym::db {
namespace {

constexpr std::uint64_t kPasswordBytesMax = 4096;
constexpr std::int64_t kTimeoutMsMax = 3'600'000;

Result<std::string> read_password(const std::string& path) {
    GYM_TRY(const Bytes bytes, read_file(path, kPasswordBytesMax));
    std::string password(bytes.begin(), bytes.end());
    while (!password.empty() && (password.back() == '\n' || password.back() == '\r'))
        password.pop_back();
    if (password.empty() || password.find('\n') != std::string::npos)
        return fail(ErrorCode::kInvalidArgument,
                    path + ": a password file holds one line, the password");
    return password;
}

}  // namespace

Result<ConnectionConfig> ConnectionConfig::from_yaml(YamlMap map) {
    return from_yaml(std::move(map), {});
}

Result<ConnectionConfig> ConnectionConfig::from_yaml(YamlMap map, ConnectionConfig defaults) {
    ConnectionConfig config = std::move(defaults);
    GYM_TRY(config.host, map.string_or("host", config.host));
    GYM_TRY(const std::int64_t port, map.integer_or("port", 1, 65'535, config.port));
    config.port = static_cast<std::uint16_t>(port);
    GYM_TRY(config.database, map.string_or("database", config.database));
    GYM_TRY(config.user, map.string_or("user", config.user));
    GYM_TRY(const std::string password_file, map.string_or("password_file", ""));
    const auto read_ms = [&](const char* key, std::chrono::milliseconds& value) -> Status {
        GYM_TRY(const std::int64_t ms, map.integer_or(key, 0, kTimeoutMsMax, value.count()));
        value = std::chrono::milliseconds(ms);
        return {};
    };
    GYM_CHECK(read_ms("connect_timeout_ms", config.connect_timeout));
    GYM_CHECK(read_ms("statement_timeout_ms", config.statement_timeout));
    GYM_CHECK(read_ms("lock_timeout_ms", config.lock_timeout));
    GYM_CHECK(map.finish());
    if (!password_file.empty()) {
        GYM_TRY(config.password, read_password(password_file));
    } else if (const char* from_environment = std::getenv("GYM_DB_PASSWORD")) {
        config.password = from_environment;
    }
    return config;
}

std::string ConnectionConfig::describe() const {
    return user + "@" + host + ":" + std::to_string(port) + "/" + database;
}

}  // namespace gym::db
