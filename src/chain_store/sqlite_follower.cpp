#include "records.hpp"
#include "sqlite_db.hpp"

namespace gym::chain_store {
namespace {

using chain::BlockWithLogs;
using chain::FollowedBlock;
using chain::LogKey;

constexpr const char* kSelectBlock =
    "SELECT number, hash, parent_hash, timestamp_s FROM block "
    "WHERE follower = ?1 AND chain_id = ?2 AND NOT orphaned ";

std::optional<FollowedBlock> first_block(const std::vector<SqlRow>& rows) {
    if (rows.empty()) return std::nullopt;
    const SqlRow& row = rows.front();
    return FollowedBlock{row.u64(0), row.fixed<Digest>(1), row.fixed<Digest>(2), row.u64(3)};
}

class SqliteFollower final : public chain::FollowerStore {
  public:
    SqliteFollower(SqliteDb& db, std::string name, std::uint64_t chain_id)
        : db_(db), name_(std::move(name)), chain_id_(chain_id) {}

    Status create() {
        return db_.transact([&]() -> Status {
            GYM_CHECK(
                db_.exec("INSERT INTO follower (name, chain_id) VALUES (?1, ?2) "
                         "ON CONFLICT DO NOTHING",
                         {name_, chain_id_}));
            return {};
        });
    }

    Result<std::optional<FollowedBlock>> tip() override {
        return db_.transact([&] { return read_tip(); });
    }

    Result<std::optional<FollowedBlock>> canonical(std::uint64_t number) override {
        return db_.transact([&]() -> Result<std::optional<FollowedBlock>> {
            GYM_TRY(const auto rows, db_.exec(std::string(kSelectBlock) + "AND number = ?3",
                                              {name_, chain_id_, number}));
            return first_block(rows);
        });
    }

    Result<std::optional<FollowedBlock>> finalized() override {
        return db_.transact([&] { return read_finalized(); });
    }

    Status append(const std::vector<BlockWithLogs>& blocks) override {
        return db_.transact([&]() -> Status {
            GYM_TRY(const auto tip, read_tip());
            GYM_CHECK(check_continues(tip, blocks));
            for (const BlockWithLogs& entry : blocks)
                GYM_CHECK(insert(entry));
            return {};
        });
    }

    Status orphan_from(std::uint64_t first) override {
        return db_.transact([&]() -> Status {
            GYM_TRY(const auto marked, read_finalized());
            if (marked && marked->number >= first)
                return fail(ErrorCode::kConflict,
                            "block " + std::to_string(marked->number) + " is finalized");
            GYM_CHECK(
                db_.exec("UPDATE block SET orphaned = 1 WHERE follower = ?1 AND chain_id = ?2 "
                         "AND NOT orphaned AND number >= ?3",
                         {name_, chain_id_, first}));
            return {};
        });
    }

    Status finalize(const FollowedBlock& block) override {
        return db_.transact([&]() -> Status {
            GYM_TRY(const auto marked, read_finalized());
            if (marked && marked->number > block.number)
                return fail(ErrorCode::kConflict,
                            "finality of follower " + name_ + " cannot go back");
            GYM_TRY(const auto rows, db_.exec(std::string(kSelectBlock) + "AND hash = ?3",
                                              {name_, chain_id_, block.hash}));
            const auto stored = first_block(rows);
            if (!stored || stored->number != block.number)
                return fail(ErrorCode::kConflict,
                            "block " + std::to_string(block.number) + " is not canonical here");
            GYM_CHECK(
                db_.exec("UPDATE follower SET finalized_number = ?3, finalized_hash = ?4 "
                         "WHERE name = ?1 AND chain_id = ?2",
                         {name_, chain_id_, block.number, block.hash}));
            return {};
        });
    }

    Result<std::vector<chain::Log>> undelivered(std::uint32_t limit) override {
        return logs("l.block_number <= f.finalized_number", limit);
    }
    Result<std::vector<chain::Log>> unfinalized(std::uint32_t limit) override {
        return logs("(f.finalized_number IS NULL OR l.block_number > f.finalized_number)", limit);
    }

    Status mark_delivered(const std::vector<LogKey>& keys) override {
        return db_.transact([&]() -> Status {
            for (const LogKey& key : keys)
                GYM_CHECK(
                    db_.exec("UPDATE log SET delivered = 1 WHERE follower = ?1 AND chain_id = ?2 "
                             "AND block_hash = ?3 AND log_index = ?4",
                             {name_, chain_id_, key.block_hash, key.log_index}));
            return {};
        });
    }

  private:
    Result<std::optional<FollowedBlock>> read_tip() {
        GYM_TRY(const auto rows,
                db_.exec(std::string(kSelectBlock) + "ORDER BY number DESC LIMIT 1",
                         {name_, chain_id_}));
        return first_block(rows);
    }

    Result<std::optional<FollowedBlock>> read_finalized() {
        GYM_TRY(const auto rows, db_.exec(std::string(kSelectBlock) +
                                              "AND hash = (SELECT finalized_hash FROM follower "
                                              "WHERE name = ?1 AND chain_id = ?2)",
                                          {name_, chain_id_}));
        return first_block(rows);
    }

    Status insert(const BlockWithLogs& entry) {
        const FollowedBlock& block = entry.block;
        GYM_CHECK(db_.exec(
            "INSERT INTO block (follower, chain_id, hash, number, parent_hash, timestamp_s) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
            "ON CONFLICT (follower, chain_id, hash) DO UPDATE SET orphaned = 0",
            {name_, chain_id_, block.hash, block.number, block.parent_hash, block.timestamp_s}));
        for (const chain::Log& log : entry.logs)
            GYM_CHECK(db_.exec(
                "INSERT INTO log (follower, chain_id, block_hash, log_index, block_number, "
                "address, topics, data, transaction_hash) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
                {name_, chain_id_, block.hash, log.log_index, log.block_number, log.address,
                 join_topics(log.topics), log.data, log.transaction_hash}));
        return {};
    }

    Result<std::vector<chain::Log>> logs(const std::string& condition, std::uint32_t limit) {
        return db_.transact([&]() -> Result<std::vector<chain::Log>> {
            GYM_TRY(const auto rows,
                    db_.exec("SELECT l.address, l.topics, l.data, l.block_number, l.block_hash, "
                             "l.transaction_hash, l.log_index FROM log l "
                             "JOIN block b ON b.follower = l.follower AND b.chain_id = l.chain_id "
                             "AND b.hash = l.block_hash "
                             "JOIN follower f ON f.name = l.follower AND f.chain_id = l.chain_id "
                             "WHERE l.follower = ?1 AND l.chain_id = ?2 AND NOT b.orphaned "
                             "AND NOT l.delivered AND " +
                                 condition + " ORDER BY l.block_number, l.log_index LIMIT ?3",
                             {name_, chain_id_, limit}));
            std::vector<chain::Log> out;
            for (const SqlRow& row : rows) {
                chain::Log log;
                log.address = row.fixed<Address>(0);
                log.topics = split_topics(row.blob(1));
                log.data = row.blob(2);
                log.block_number = row.u64(3);
                log.block_hash = row.fixed<Digest>(4);
                log.transaction_hash = row.fixed<Digest>(5);
                log.log_index = static_cast<std::uint32_t>(row.u64(6));
                out.push_back(std::move(log));
            }
            return out;
        });
    }

    SqliteDb& db_;
    const std::string name_;
    const std::uint64_t chain_id_;
};

}  // namespace

Result<std::unique_ptr<chain::FollowerStore>> make_sqlite_follower(SqliteDb& db,
                                                                   const std::string& name,
                                                                   std::uint64_t chain_id) {
    auto store = std::make_unique<SqliteFollower>(db, name, chain_id);
    GYM_CHECK(store->create());
    return std::unique_ptr<chain::FollowerStore>(std::move(store));
}

}  // namespace gym::chain_store
