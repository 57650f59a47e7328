#include "gym/chain_store/postgres.hpp"
#include "records.hpp"

namespace gym::chain_store {
namespace {

using chain::BlockWithLogs;
using chain::FollowedBlock;
using chain::LogKey;

constexpr db::TransactOptions kRepeatable{.idempotent = true};
constexpr db::TransactOptions kReading{.read_only = true, .idempotent = true};
constexpr const char* kBlockColumns = "number, hash, parent_hash, timestamp_s";

FollowedBlock block_from(const db::Row& row) {
    return {row.get<std::uint64_t>("number"), row.get<Digest>("hash"),
            row.get<Digest>("parent_hash"), row.get<std::uint64_t>("timestamp_s")};
}

std::optional<FollowedBlock> block_from(const std::optional<db::Row>& row) {
    if (!row) return std::nullopt;
    return block_from(*row);
}

chain::Log log_from(const db::Row& row) {
    chain::Log out;
    out.address = row.get<Address>("address");
    out.topics = split_topics(row.get<Bytes>("topics"));
    out.data = row.get<Bytes>("data");
    out.block_number = row.get<std::uint64_t>("block_number");
    out.block_hash = row.get<Digest>("block_hash");
    out.transaction_hash = row.get<Digest>("transaction_hash");
    out.log_index = row.get<std::uint32_t>("log_index");
    return out;
}

class PostgresFollower final : public chain::FollowerStore {
  public:
    PostgresFollower(db::Database& database, Service service, std::string name,
                     std::uint64_t chain_id)
        : database_(database),
          role_(std::move(service.role)),
          name_(std::move(name)),
          chain_id_(chain_id) {}

    Status create() {
        return database_.transact(
            [&](db::Transaction& tx) -> Status {
                GYM_CHECK(
                    tx.exec("INSERT INTO chain.follower (service, name, chain_id) "
                            "VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                            {role_, name_, chain_id_}));
                return {};
            },
            kRepeatable);
    }

    Result<std::optional<FollowedBlock>> tip() override {
        return database_.transact([&](db::Transaction& tx) { return read_tip(tx); }, kReading);
    }

    Result<std::optional<FollowedBlock>> canonical(std::uint64_t number) override {
        return database_.transact(
            [&](db::Transaction& tx) -> Result<std::optional<FollowedBlock>> {
                GYM_TRY(const auto row, tx.exec_optional(select_block() + " AND number = $4",
                                                         {role_, name_, chain_id_, number}));
                return block_from(row);
            },
            kReading);
    }

    Result<std::optional<FollowedBlock>> finalized() override {
        return database_.transact(
            [&](db::Transaction& tx) -> Result<std::optional<FollowedBlock>> {
                GYM_TRY(const auto row,
                        tx.exec_optional("SELECT b.number, b.hash, b.parent_hash, b.timestamp_s "
                                         "FROM chain.follower f JOIN chain.block b "
                                         "ON (b.service, b.follower, b.chain_id, b.hash) = "
                                         "(f.service, f.name, f.chain_id, f.finalized_hash) "
                                         "WHERE (f.service, f.name, f.chain_id) = ($1, $2, $3)",
                                         {role_, name_, chain_id_}));
                return block_from(row);
            },
            kReading);
    }

    Status append(const std::vector<BlockWithLogs>& blocks) override {
        return database_.transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(lock(tx));
            GYM_TRY(const auto tip, read_tip(tx));
            GYM_CHECK(check_continues(tip, blocks));
            for (const BlockWithLogs& entry : blocks)
                GYM_CHECK(insert(tx, entry));
            return {};
        });
    }

    Status orphan_from(std::uint64_t first) override {
        return database_.transact(
            [&](db::Transaction& tx) -> Status {
                GYM_CHECK(lock(tx));
                GYM_CHECK(
                    tx.exec("UPDATE chain.block SET orphaned = true "
                            "WHERE (service, follower, chain_id) = ($1, $2, $3) "
                            "AND NOT orphaned AND number >= $4",
                            {role_, name_, chain_id_, first}));
                return {};
            },
            kRepeatable);
    }

    Status finalize(const FollowedBlock& block) override {
        return database_.transact(
            [&](db::Transaction& tx) -> Status {
                GYM_CHECK(lock(tx));
                GYM_TRY(const auto row, tx.exec_optional(select_block() + " AND hash = $4",
                                                         {role_, name_, chain_id_, block.hash}));
                if (!row || row->get<std::uint64_t>("number") != block.number)
                    return fail(ErrorCode::kConflict,
                                "block " + std::to_string(block.number) + " is not canonical here");
                GYM_CHECK(
                    tx.exec("UPDATE chain.follower SET finalized_number = $4, finalized_hash = $5 "
                            "WHERE (service, name, chain_id) = ($1, $2, $3)",
                            {role_, name_, chain_id_, block.number, block.hash}));
                return {};
            },
            kRepeatable);
    }

    Result<std::vector<chain::Log>> undelivered(std::uint32_t limit) override {
        return logs("l.block_number <= f.finalized_number AND NOT l.delivered", limit);
    }
    Result<std::vector<chain::Log>> unfinalized(std::uint32_t limit) override {
        return logs(
            "(f.finalized_number IS NULL OR l.block_number > f.finalized_number) "
            "AND NOT l.delivered",
            limit);
    }

    Status mark_delivered(const std::vector<LogKey>& keys) override {
        return database_.transact(
            [&](db::Transaction& tx) -> Status {
                for (const LogKey& key : keys)
                    GYM_CHECK(
                        tx.exec("UPDATE chain.log SET delivered = true "
                                "WHERE (service, follower, chain_id, block_hash, log_index) = "
                                "($1, $2, $3, $4, $5)",
                                {role_, name_, chain_id_, key.block_hash, key.log_index}));
                return {};
            },
            kRepeatable);
    }

  private:
    static std::string select_block() {
        return std::string("SELECT ") + kBlockColumns +
               " FROM chain.block WHERE (service, follower, chain_id) = ($1, $2, $3) AND NOT "
               "orphaned";
    }

    /// One writer at a time: what follows reads and writes several tables.
    Status lock(db::Transaction& tx) {
        GYM_CHECK(
            tx.exec_one("SELECT 1 FROM chain.follower "
                        "WHERE (service, name, chain_id) = ($1, $2, $3) FOR UPDATE",
                        {role_, name_, chain_id_}));
        return {};
    }

    Result<std::optional<FollowedBlock>> read_tip(db::Transaction& tx) {
        GYM_TRY(const auto row, tx.exec_optional(select_block() + " ORDER BY number DESC LIMIT 1",
                                                 {role_, name_, chain_id_}));
        return block_from(row);
    }

    Status insert(db::Transaction& tx, const BlockWithLogs& entry) {
        const FollowedBlock& block = entry.block;
        GYM_CHECK(
            tx.exec("INSERT INTO chain.block (service, follower, chain_id, hash, number, "
                    "parent_hash, timestamp_s) VALUES ($1, $2, $3, $4, $5, $6, $7) "
                    "ON CONFLICT (service, follower, chain_id, hash) "
                    "DO UPDATE SET orphaned = false",
                    {role_, name_, chain_id_, block.hash, block.number, block.parent_hash,
                     block.timestamp_s}));
        for (const chain::Log& log : entry.logs)
            GYM_CHECK(tx.exec(
                "INSERT INTO chain.log (service, follower, chain_id, block_hash, log_index, "
                "block_number, address, topics, data, transaction_hash) "
                "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING",
                {role_, name_, chain_id_, block.hash, log.log_index, log.block_number, log.address,
                 join_topics(log.topics), log.data, log.transaction_hash}));
        return {};
    }

    Result<std::vector<chain::Log>> logs(const std::string& condition, std::uint32_t limit) {
        return database_.transact(
            [&](db::Transaction& tx) -> Result<std::vector<chain::Log>> {
                GYM_TRY(
                    const db::Rows rows,
                    tx.exec("SELECT l.address, l.topics, l.data, l.block_number, l.block_hash, "
                            "l.transaction_hash, l.log_index "
                            "FROM chain.log l "
                            "JOIN chain.block b ON (b.service, b.follower, b.chain_id, b.hash) = "
                            "(l.service, l.follower, l.chain_id, l.block_hash) "
                            "JOIN chain.follower f ON (f.service, f.name, f.chain_id) = "
                            "(l.service, l.follower, l.chain_id) "
                            "WHERE (l.service, l.follower, l.chain_id) = ($1, $2, $3) "
                            "AND NOT b.orphaned AND " +
                                condition + " ORDER BY l.block_number, l.log_index LIMIT $4",
                            {role_, name_, chain_id_, limit}));
                std::vector<chain::Log> out;
                for (const db::Row& row : rows)
                    out.push_back(log_from(row));
                return out;
            },
            kReading);
    }

    db::Database& database_;
    const std::string role_;
    const std::string name_;
    const std::uint64_t chain_id_;
};

}  // namespace

Result<std::unique_ptr<chain::FollowerStore>> postgres_follower(db::Database& database,
                                                                Service service,
                                                                const std::string& name,
                                                                std::uint64_t chain_id) {
    auto store = std::make_unique<PostgresFollower>(database, std::move(service), name, chain_id);
    GYM_CHECK(store->create());
    return std::unique_ptr<chain::FollowerStore>(std::move(store));
}

}  // namespace gym::chain_store
