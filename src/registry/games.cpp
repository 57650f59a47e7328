#include "gym/registry/games.hpp"

namespace gym::registry {
namespace {

constexpr std::string_view kGameSelect =
    "SELECT name, asserter, open_games, is_faulty, opened_block, asks_data FROM "
    "registry.disputed_unit ";

DisputedUnit to_disputed_unit(const db::Row& row) {
    DisputedUnit out;
    out.name = row.get<Digest>("name");
    out.asserter = row.get<Address>("asserter");
    out.open_games = row.get<std::uint64_t>("open_games");
    out.faulty = row.get<bool>("is_faulty");
    out.opened_block = row.get<std::optional<std::uint64_t>>("opened_block");
    out.asks_data = row.get<bool>("asks_data");
    return out;
}

Result<std::vector<DisputedUnit>> list(db::Transaction& tx, const Address& contract,
                                       std::string_view condition) {
    GYM_TRY(const db::Rows rows, tx.exec(std::string(kGameSelect) + "WHERE contract = $1 AND " +
                                             std::string(condition) + " ORDER BY name",
                                         {contract}));
    std::vector<DisputedUnit> out;
    for (const db::Row row : rows)
        out.push_back(to_disputed_unit(row));
    return out;
}

Status store(db::Transaction& tx, const Address& contract, const DisputedUnit& unit) {
    if (unit.asserter == Address()) {
        GYM_CHECK(tx.exec("DELETE FROM registry.disputed_unit WHERE contract = $1 AND name = $2",
                          {contract, unit.name}));
        return {};
    }
    // While games are open the first of them counts; of later ones only if there was none
    // meanwhile.
    GYM_CHECK(tx.exec(
        "INSERT INTO registry.disputed_unit AS known (contract, name, asserter, "
        "open_games, is_faulty, opened_block, asks_data) VALUES ($1, $2, $3, $4, $5, $6, $7) "
        "ON CONFLICT (contract, name) DO UPDATE SET "
        "asks_data = known.asks_data OR excluded.asks_data, "
        "open_games = excluded.open_games, is_faulty = excluded.is_faulty, handled_at_ms = "
        "CASE WHEN excluded.is_faulty THEN known.handled_at_ms END, opened_block = "
        "CASE WHEN known.open_games = 0 THEN excluded.opened_block "
        "WHEN known.opened_block IS NOT NULL "
        "THEN least(known.opened_block, excluded.opened_block) END",
        {contract, unit.name, unit.asserter, unit.open_games, unit.faulty, unit.opened_block,
         unit.asks_data}));
    return {};
}

}  // namespace

Result<std::optional<GameWatch>> find_game_watch(db::Transaction& tx, const Address& contract) {
    GYM_TRY(const auto row, tx.exec_optional("SELECT seen_block, window_blocks FROM "
                                             "registry.game_watch WHERE contract = $1",
                                             {contract}));
    if (!row) return std::optional<GameWatch>();
    return std::optional(GameWatch{contract, row->get<std::uint64_t>("seen_block"),
                                   row->get<std::uint64_t>("window_blocks")});
}

Result<std::optional<std::uint64_t>> first_open_epoch_block(db::Transaction& tx) {
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT min(posted_block)::bigint FROM registry.round WHERE state <> "
                        "'closed'"));
    return row.get<std::optional<std::uint64_t>>(0);
}

Status set_aggregate_block(db::Transaction& tx, const Digest& job_id, std::uint64_t round,
                           std::uint64_t block) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.round SET aggregate_block = $3 WHERE job_id = $1 AND round = "
                    "$2 AND (aggregate_block IS NULL OR aggregate_block = $3)",
                    {job_id, round, block}));
    if (rows.affected() == 1) return {};
    return fail(ErrorCode::kConflict, "the aggregate of round " + std::to_string(round) +
                                          " of job " + job_id.hex() + " is in another block than " +
                                          std::to_string(block));
}

Result<std::optional<Digest>> unposted_aggregate(db::Transaction& tx, const Digest& job_id,
                                                 std::uint64_t round) {
    GYM_TRY(
        const auto row,
        tx.exec_optional("SELECT u.id FROM registry.unit u JOIN registry.round r ON r.job_id = "
                         "u.job_id AND r.round = u.round JOIN registry.unit_commitment c "
                         "ON c.unit_id = u.id WHERE u.job_id = $1 AND u.round = $2 AND u.kind = "
                         "'aggregate' AND r.aggregate_block IS NULL",
                         {job_id, round}));
    if (!row) return std::optional<Digest>();
    return std::optional(row->get<Digest>(0));
}

Result<std::optional<std::uint64_t>> window_block(db::Transaction& tx, const Digest& unit) {
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT registry.window_block(u.kind, r.posted_block, r.aggregate_block) "
                        "FROM registry.unit u JOIN registry.round r ON r.job_id = u.job_id AND "
                        "r.round = u.round + u.late::integer WHERE u.id = $1",
                        {unit}));
    return row.get<std::optional<std::uint64_t>>(0);
}

Result<bool> store_games(db::Transaction& tx, const GameWatch& watch,
                         const std::vector<DisputedUnit>& units) {
    GYM_TRY(const db::Rows moved,
            tx.exec("INSERT INTO registry.game_watch AS known (contract, seen_block, "
                    "window_blocks) VALUES ($1, $2, $3) ON CONFLICT (contract) DO UPDATE SET "
                    "seen_block = excluded.seen_block, window_blocks = excluded.window_blocks "
                    "WHERE known.seen_block < excluded.seen_block",
                    {watch.contract, watch.seen_block, watch.window_blocks}));
    if (moved.affected() == 0) return false;
    for (const DisputedUnit& unit : units)
        GYM_CHECK(store(tx, watch.contract, unit));
    return true;
}

Result<std::optional<DisputedUnit>> find_disputed_unit(db::Transaction& tx, const Address& contract,
                                                       const Digest& name) {
    GYM_TRY(const auto row,
            tx.exec_optional(std::string(kGameSelect) + "WHERE contract = $1 AND name = $2",
                             {contract, name}));
    if (!row) return std::optional<DisputedUnit>();
    return std::optional(to_disputed_unit(*row));
}

Result<std::vector<DisputedUnit>> units_in_games(db::Transaction& tx, const Address& contract) {
    return list(tx, contract, "open_games > 0");
}

Result<std::vector<DisputedUnit>> new_faults(db::Transaction& tx, const Address& contract) {
    return list(tx, contract, "is_faulty AND handled_at_ms IS NULL");
}

Result<bool> mark_fault_handled(db::Transaction& tx, const Address& contract, const Digest& name,
                                UnixMs now_ms) {
    GYM_TRY(const db::Rows rows,
            tx.exec("UPDATE registry.disputed_unit SET handled_at_ms = $3 WHERE contract = $1 AND "
                    "name = $2 AND is_faulty AND handled_at_ms IS NULL",
                    {contract, name, now_ms}));
    return rows.affected() == 1;
}

}  // namespace gym::registry
