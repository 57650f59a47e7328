#include "gym/registry/chain_commitments.hpp"

namespace gym::registry {

Result<std::optional<std::uint64_t>> find_commitments_seen(db::Transaction& tx,
                                                           const Address& log) {
    GYM_TRY(const auto row, tx.exec_optional("SELECT seen_block FROM "
                                             "registry.chain_commitment_watch WHERE contract = $1",
                                             {log}));
    if (!row) return std::optional<std::uint64_t>();
    return std::optional(row->get<std::uint64_t>(0));
}

Status set_commitments_seen(db::Transaction& tx, const Address& log, std::uint64_t block) {
    GYM_CHECK(
        tx.exec("INSERT INTO registry.chain_commitment_watch AS known (contract, "
                "seen_block) VALUES ($1, $2) ON CONFLICT (contract) DO UPDATE SET "
                "seen_block = greatest(known.seen_block, excluded.seen_block)",
                {log, block}));
    return {};
}

Result<bool> note_chain_commitment(db::Transaction& tx, const ChainCommitment& published) {
    GYM_TRY(const db::Rows rows,
            tx.exec("INSERT INTO registry.chain_commitment (leaf, unit_id, commitment, block) "
                    "VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                    {protocol::commitment_leaf(published.commitment), published.unit,
                     protocol::encode(published.commitment), published.block}));
    return rows.affected() == 1;
}

Result<std::optional<ChainCommitment>> find_chain_commitment(db::Transaction& tx,
                                                             const Digest& unit) {
    GYM_TRY(const auto row,
            tx.exec_optional(
                "SELECT commitment, block, epoch, leaf_index FROM registry.chain_commitment WHERE "
                "unit_id = $1",
                {unit}));
    if (!row) return std::optional<ChainCommitment>();
    ChainCommitment out;
    out.unit = unit;
    GYM_TRY(out.commitment, protocol::decode_signed_commitment(row->get<Bytes>("commitment")));
    out.block = row->get<std::uint64_t>("block");
    out.epoch = row->get<std::optional<std::uint64_t>>("epoch");
    if (out.epoch) out.leaf_index = row->get<std::uint32_t>("leaf_index");
    return std::optional(out);
}

Result<std::vector<Digest>> chain_commitments_without_epoch(db::Transaction& tx,
                                                            const Digest& job_id,
                                                            std::uint64_t round, bool late_before) {
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT k.leaf FROM registry.chain_commitment k JOIN registry.unit u ON u.id = "
                    "k.unit_id WHERE u.job_id = $1 AND (u.round = $2 OR ($3 AND u.round = $2 - 1)) "
                    "AND k.epoch IS NULL AND u.epoch IS NULL AND u.ended_at_ms IS NOT NULL "
                    "ORDER BY u.round DESC, u.slot",
                    {job_id, round, late_before}));
    std::vector<Digest> out;
    for (const db::Row row : rows)
        out.push_back(row.get<Digest>(0));
    return out;
}

Status set_chain_epoch(db::Transaction& tx, std::uint64_t epoch, std::uint32_t first,
                       const std::vector<Digest>& leaves) {
    if (leaves.empty()) return {};
    GYM_CHECK(
        tx.exec("UPDATE registry.chain_commitment k SET epoch = $1, leaf_index = $3 + "
                "n.place - 1 FROM unnest($2::bytea[]) WITH ORDINALITY AS n(leaf, place) "
                "WHERE k.leaf = n.leaf",
                {epoch, db::Param::array(leaves), std::int64_t{first}}));
    return {};
}

}  // namespace gym::registry
