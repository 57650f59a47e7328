#include "gym/api/statement.hpp"
#include "gym/ledger/proof.hpp"
#include "postgres_calls.hpp"

// An owner's transfers: statements and proofs.
namespace gym::api {
namespace {

/// Parameters: owner as text, owner, asset, before, limit. A page has lines of `limit` accounts at
/// the most, those with the newest lines: the others are not read.
constexpr std::string_view kLines =
    "WITH own AS MATERIALIZED ("
    "  SELECT a.id FROM ledger.account a WHERE a.owner = $1 AND a.asset = $3"
    "  UNION ALL SELECT a.id FROM registry.job j JOIN ledger.account a"
    "    ON a.owner = 'job:0x' || encode(j.id, 'hex') AND a.asset = $3 AND a.kind = 'escrow'"
    "  WHERE j.owner = $2), "
    "busy AS MATERIALIZED ("
    "  SELECT own.id FROM own, LATERAL ledger.newest_transfers(own.id, $4, 1) AS head"
    "  ORDER BY head DESC LIMIT $5), "
    "page AS MATERIALIZED ("
    "  SELECT DISTINCT seq FROM busy, LATERAL ledger.newest_transfers(busy.id, $4, $5::integer) AS "
    "seq"
    "  ORDER BY seq DESC LIMIT $5), "
    "seal AS MATERIALIZED (SELECT last_seq FROM ledger.seal ORDER BY number DESC LIMIT 1) "
    "SELECT t.id, t.seq, (extract(epoch FROM t.created_at) * 1000)::bigint AS at_ms, t.kind, "
    "  CASE WHEN t.reason = '' THEN coalesce(p.reason, '') ELSE t.reason END AS reason, "
    "  r.id IS NOT NULL AS ended, t.seq <= coalesce((SELECT last_seq FROM seal), 0) AS sealed, "
    "  t.amount, d.owner AS debit_owner, d.kind AS debit_kind, d.id IN (TABLE own) AS debit_own, "
    "  t.debit_after, c.owner AS credit_owner, c.kind AS credit_kind, "
    "  c.id IN (TABLE own) AS credit_own, t.credit_after, k.job_id, k.round "
    "FROM page JOIN ledger.transfer t ON t.seq = page.seq "
    "JOIN ledger.account d ON d.id = t.debit_account "
    "JOIN ledger.account c ON c.id = t.credit_account "
    "LEFT JOIN ledger.transfer p ON p.id = t.pending_id "
    "LEFT JOIN ledger.transfer r ON r.pending_id = t.id AND t.kind = 'pending' "
    "LEFT JOIN rewards.credit k ON k.id = coalesce(t.pending_id, t.id) "
    "ORDER BY t.seq DESC";

Result<StatementAccount> side_of(const db::Row& row, const std::string& side) {
    StatementAccount out;
    out.owner = row.get<std::string>(side + "_owner");
    GYM_TRY(out.kind, ledger::parse_account_kind(row.get<std::string>(side + "_kind")));
    out.own = row.get<bool>(side + "_own");
    // Balances of others are not disclosed.
    if (out.own) out.balance_after = row.get<std::optional<std::string>>(side + "_after");
    return out;
}

LineState state_of(ledger::TransferKind kind, bool ended) {
    switch (kind) {
        case ledger::TransferKind::kTransfer:
        case ledger::TransferKind::kPost:
            return LineState::kPosted;
        case ledger::TransferKind::kPending:
            return ended ? LineState::kEnded : LineState::kPending;
        case ledger::TransferKind::kVoid:
        case ledger::TransferKind::kExpire:
            break;
    }
    return LineState::kReleased;
}

/// The job whose escrow the line touches. For lines without a credit, which names its job itself.
std::optional<Digest> job_of(const StatementLine& line) {
    constexpr std::string_view kPrefix = "job:";
    for (const StatementAccount* side : {&line.from, &line.to}) {
        if (!side->owner.starts_with(kPrefix)) continue;
        if (auto id = Digest::parse(side->owner.substr(kPrefix.size())); id.ok()) return *id;
    }
    return std::nullopt;
}

Result<StatementLine> line_of(const db::Row& row) {
    StatementLine out;
    GYM_TRY(out.id, ledger::parse_uuid(row.get<std::string>("id")));
    out.seq = row.get<std::uint64_t>("seq");
    out.at = row.get<UnixMs>("at_ms");
    GYM_TRY(out.kind, ledger::parse_transfer_kind(row.get<std::string>("kind")));
    out.reason = row.get<std::string>("reason");
    out.state = state_of(out.kind, row.get<bool>("ended"));
    out.sealed = row.get<bool>("sealed");
    out.amount = row.get<Amount>("amount");
    GYM_TRY(out.from, side_of(row, "debit"));
    GYM_TRY(out.to, side_of(row, "credit"));
    out.job_id = row.get<std::optional<Digest>>("job_id");
    if (!out.job_id) out.job_id = job_of(out);
    out.round = row.get<std::optional<std::uint64_t>>("round");
    return out;
}

}  // namespace

Result<std::vector<StatementLine>> PostgresBackend::statement(const StatementFilter& filter) {
    return calls::read(database_, options_,
                       [&](db::Transaction& tx) -> Result<std::vector<StatementLine>> {
                           GYM_TRY(const db::Rows rows,
                                   tx.exec(kLines, {filter.owner.hex(), filter.owner,
                                                    options_.asset, filter.before, filter.limit}));
                           std::vector<StatementLine> out;
                           for (const db::Row row : rows) {
                               GYM_TRY(StatementLine line, line_of(row));
                               out.push_back(std::move(line));
                           }
                           return out;
                       });
}

namespace {

/// @errors kNotFound; kPermissionDenied unless one of the two accounts is the reader's own or that
/// of a job of theirs.
Status check_reader(db::Transaction& tx, const Address& reader, const ledger::TransferId& id) {
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT $2 IN (d.owner, c.owner) OR EXISTS (SELECT FROM registry.job "
                             "j WHERE j.owner = $3 AND 'job:0x' || encode(j.id, 'hex') IN "
                             "(d.owner, c.owner)) FROM ledger.transfer t "
                             "JOIN ledger.account d ON d.id = t.debit_account "
                             "JOIN ledger.account c ON c.id = t.credit_account WHERE t.id = $1",
                             {ledger::to_uuid(id), reader.hex(), reader}));
    if (!row) return fail(ErrorCode::kNotFound, "no transfer " + ledger::to_uuid(id));
    if (row->get<bool>(0)) return {};
    return fail(ErrorCode::kPermissionDenied, "transfer " + ledger::to_uuid(id) +
                                                  " touches no account of " + reader.hex() +
                                                  ": only the payer and the payee get its proof");
}

}  // namespace

Result<ledger::TransferProof> PostgresBackend::transfer_proof(const Address& reader,
                                                              const ledger::TransferId& id) {
    auto proof =
        calls::read(database_, options_, [&](db::Transaction& tx) -> Result<ledger::TransferProof> {
            GYM_CHECK(check_reader(tx, reader, id));
            return ledger::prove_transfer(tx, id);
        });
    if (proof.ok() || proof.error().code != ErrorCode::kMismatch) return proof;
    // Rows that no longer make their seal's root are our fault, not the request's.
    return fail(ErrorCode::kInternal, proof.error().message);
}

}  // namespace gym::api
