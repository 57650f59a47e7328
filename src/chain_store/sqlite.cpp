#include "gym/chain_store/sqlite.hpp"

#include "sqlite_db.hpp"

namespace gym::chain_store {
namespace {

constexpr std::int64_t kSchemaVersion = 1;

/// The tables of sql/migrations/0040_chain.sql for one user: the file's owner is the only service.
constexpr const char* kSchema[] = {
    "CREATE TABLE intent (chain_id INTEGER NOT NULL, sender BLOB NOT NULL, id TEXT NOT NULL, "
    "seq INTEGER PRIMARY KEY AUTOINCREMENT, recipient BLOB, value_wei TEXT NOT NULL, data BLOB NOT "
    "NULL, "
    "gas_requested INTEGER, label TEXT NOT NULL, submitted_at_ms INTEGER NOT NULL, "
    "state TEXT NOT NULL CHECK (state IN ('queued', 'signed', 'done', 'reverted', 'rejected', "
    "'cancelled', 'superseded')), cancel_requested INTEGER NOT NULL DEFAULT 0, nonce INTEGER, "
    "gas_limit INTEGER, settled_at_ms INTEGER, transaction_hash BLOB, block_hash BLOB, "
    "block_number INTEGER, gas_used INTEGER, gas_price_wei TEXT, contract_address BLOB, reason "
    "TEXT, "
    "UNIQUE (chain_id, sender, id), UNIQUE (chain_id, sender, nonce), "
    "CHECK ((nonce IS NULL) = (gas_limit IS NULL)), "
    "CHECK ((state IN ('queued', 'signed')) = (settled_at_ms IS NULL)), "
    "CHECK (state NOT IN ('queued', 'rejected') OR nonce IS NULL), "
    "CHECK (state NOT IN ('signed', 'done', 'reverted', 'superseded') OR nonce IS NOT NULL))",
    "CREATE TABLE attempt (chain_id INTEGER NOT NULL, sender BLOB NOT NULL, intent_id TEXT NOT "
    "NULL, "
    "number INTEGER NOT NULL, hash BLOB NOT NULL UNIQUE, raw BLOB NOT NULL, fee_max_wei TEXT NOT "
    "NULL, "
    "priority_fee_wei TEXT NOT NULL, cancels INTEGER NOT NULL, signed_at_ms INTEGER NOT NULL, "
    "PRIMARY KEY (chain_id, sender, intent_id, number), "
    "FOREIGN KEY (chain_id, sender, intent_id) REFERENCES intent (chain_id, sender, id))",
    "CREATE TRIGGER keep_settled BEFORE UPDATE ON intent "
    "WHEN OLD.state IN ('done', 'reverted', 'cancelled', 'superseded') "
    "OR (OLD.nonce IS NOT NULL AND NEW.nonce IS NOT OLD.nonce) "
    "BEGIN SELECT RAISE(ABORT, 'the intent is settled'); END",
    "CREATE TABLE follower (name TEXT NOT NULL, chain_id INTEGER NOT NULL, finalized_number "
    "INTEGER, "
    "finalized_hash BLOB, PRIMARY KEY (name, chain_id))",
    "CREATE TABLE block (follower TEXT NOT NULL, chain_id INTEGER NOT NULL, hash BLOB NOT NULL, "
    "number INTEGER NOT NULL, parent_hash BLOB NOT NULL, timestamp_s INTEGER NOT NULL, "
    "orphaned INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (follower, chain_id, hash), "
    "FOREIGN KEY (follower, chain_id) REFERENCES follower (name, chain_id))",
    "CREATE UNIQUE INDEX block_canonical ON block (follower, chain_id, number) WHERE NOT orphaned",
    "CREATE TABLE log (follower TEXT NOT NULL, chain_id INTEGER NOT NULL, block_hash BLOB NOT "
    "NULL, "
    "log_index INTEGER NOT NULL, block_number INTEGER NOT NULL, address BLOB NOT NULL, "
    "topics BLOB NOT NULL, data BLOB NOT NULL, transaction_hash BLOB NOT NULL, "
    "delivered INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (follower, chain_id, block_hash, "
    "log_index), "
    "FOREIGN KEY (follower, chain_id, block_hash) REFERENCES block (follower, chain_id, hash))",
    "CREATE INDEX log_undelivered ON log (follower, chain_id, block_number, log_index) "
    "WHERE NOT delivered",
    "PRAGMA user_version = 1",
};

Status create_schema(SqliteDb& db) {
    return db.transact([&]() -> Status {
        GYM_TRY(const auto rows, db.exec("PRAGMA user_version"));
        const std::int64_t version = rows.at(0).integer(0);
        if (version == kSchemaVersion) return {};
        if (version != 0)
            return fail(ErrorCode::kConflict, "schema version " + std::to_string(version) +
                                                  " is newer than this program");
        for (const char* statement : kSchema)
            GYM_CHECK(db.exec(statement));
        return {};
    });
}

}  // namespace

class SqliteChainStore::Impl {
  public:
    explicit Impl(std::unique_ptr<SqliteDb> opened) : db(std::move(opened)) {}
    std::unique_ptr<SqliteDb> db;
};

SqliteChainStore::SqliteChainStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SqliteChainStore::~SqliteChainStore() = default;

Result<std::unique_ptr<SqliteChainStore>> SqliteChainStore::open(
    const std::filesystem::path& path) {
    GYM_TRY(auto db, SqliteDb::open(path));
    if (const Status made = create_schema(*db); !made.ok()) return made.error().in(path.string());
    return std::unique_ptr<SqliteChainStore>(
        new SqliteChainStore(std::make_unique<Impl>(std::move(db))));
}

std::unique_ptr<chain::IntentStore> SqliteChainStore::intents(std::uint64_t chain_id,
                                                              const Address& sender) {
    return make_sqlite_intents(*impl_->db, chain_id, sender);
}

Result<std::unique_ptr<chain::FollowerStore>> SqliteChainStore::follower(const std::string& name,
                                                                         std::uint64_t chain_id) {
    return make_sqlite_follower(*impl_->db, name, chain_id);
}

}  // namespace gym::chain_store
