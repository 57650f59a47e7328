#include <array>

#include "gym/api/postgres.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/crypto/secret.hpp"
#include "postgres_calls.hpp"

namespace gym::api {
namespace {

constexpr std::string_view kKeyPrefix = "gym_";
constexpr std::size_t kIdBytes = 8;
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kKeyChars = kKeyPrefix.size() + 2 * kIdBytes + 1 + 2 * kSecretBytes;

struct ParsedKey {
    std::string id;
    Digest secret_hash;
};

/// The secret has 256 random bits, so that one SHA-256 is as good as a slow hash.
Result<ParsedKey> parse_key(std::string_view key) {
    const Error refused = fail(ErrorCode::kUnauthenticated, "the API key is not valid");
    if (key.size() != kKeyChars || !key.starts_with(kKeyPrefix)) return refused;
    const std::string_view id = key.substr(kKeyPrefix.size(), 2 * kIdBytes);
    const std::string_view secret = key.substr(kKeyPrefix.size() + 2 * kIdBytes + 1);
    if (key[kKeyPrefix.size() + 2 * kIdBytes] != '_') return refused;
    if (id.find_first_not_of("0123456789abcdef") != std::string_view::npos) return refused;
    return ParsedKey{std::string(id), commit::sha256(as_bytes(secret))};
}

}  // namespace

Result<KeyHolder> PostgresBackend::authenticate(std::string_view key) {
    GYM_TRY(const ParsedKey parsed, parse_key(key));
    return calls::read(database_, options_, [&](db::Transaction& tx) -> Result<KeyHolder> {
        GYM_TRY(const auto row,
                tx.exec_optional("SELECT owner, secret_hash, expires_at_ms, "
                                 "array_to_string(scopes, ',') AS scopes FROM api.api_key "
                                 "WHERE id = $1 AND revoked_at_ms IS NULL",
                                 {parsed.id}));
        if (!row || !crypto::equal_constant_time(row->get<Digest>("secret_hash").view(),
                                                 parsed.secret_hash.view()))
            return fail(ErrorCode::kUnauthenticated, "the API key is not valid");
        const auto expires_at = row->get<std::optional<UnixMs>>("expires_at_ms");
        if (expires_at && *expires_at <= clock_.now_ms())
            return fail(ErrorCode::kUnauthenticated,
                        "the API key expired: ask the operator for a new one");
        KeyHolder holder{row->get<Address>("owner"), parsed.id, {}};
        GYM_TRY(holder.scopes, parse_scopes(row->get<std::string>("scopes")));
        return holder;
    });
}

Result<std::string> create_key(db::Database& database, const Address& owner,
                               const std::string& label, UnixMs now_ms, const KeyTerms& terms) {
    std::array<std::uint8_t, kIdBytes> id{};
    std::array<std::uint8_t, kSecretBytes> secret{};
    crypto::secure_random(id);
    crypto::secure_random(secret);
    const std::string secret_text = to_hex(secret);
    const std::string id_text = to_hex(id);
    GYM_TRY([[maybe_unused]] const db::Rows rows, database.transact([&](db::Transaction& tx) {
        return tx.exec(
            "INSERT INTO api.api_key (id, secret_hash, owner, label, created_at_ms, scopes, "
            "expires_at_ms, spend_max_wei) VALUES ($1, $2, $3, $4, $5, string_to_array($6, ','), "
            "$7, $8)",
            {id_text, commit::sha256(as_bytes(secret_text)), owner, label, now_ms,
             to_string(terms.scopes), terms.expires_at_ms, terms.spend_max_wei});
    }));
    return std::string(kKeyPrefix) + id_text + "_" + secret_text;
}

Result<std::vector<KeyInfo>> list_keys(db::Database& database) {
    return database.transact([&](db::Transaction& tx) -> Result<std::vector<KeyInfo>> {
        GYM_TRY(const db::Rows rows,
                tx.exec("SELECT id, owner, label, created_at_ms, revoked_at_ms, expires_at_ms, "
                        "spend_max_wei, spent_wei, array_to_string(scopes, ',') AS scopes "
                        "FROM api.api_key ORDER BY created_at_ms, id"));
        std::vector<KeyInfo> out;
        for (const db::Row row : rows) {
            KeyInfo key{row.get<std::string>("id"),
                        row.get<Address>("owner"),
                        row.get<std::string>("label"),
                        row.get<UnixMs>("created_at_ms"),
                        row.get<std::optional<UnixMs>>("revoked_at_ms"),
                        {{},
                         row.get<std::optional<UnixMs>>("expires_at_ms"),
                         row.get<std::optional<Amount>>("spend_max_wei")},
                        row.get<Amount>("spent_wei")};
            GYM_TRY(key.terms.scopes, parse_scopes(row.get<std::string>("scopes")));
            out.push_back(std::move(key));
        }
        return out;
    });
}

Status revoke_key(db::Database& database, const std::string& id, UnixMs now_ms) {
    GYM_TRY(const db::Rows rows, database.transact([&](db::Transaction& tx) {
        return tx.exec(
            "UPDATE api.api_key SET revoked_at_ms = coalesce(revoked_at_ms, $2) "
            "WHERE id = $1",
            {id, now_ms});
    }));
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kNotFound, "there is no API key with the id " + id);
}

}  // namespace gym::api
