#include "records.hpp"
#include "sqlite_db.hpp"

namespace gym::chain_store {
namespace {

using chain::Attempt;
using chain::Intent;
using chain::IntentRequest;
using chain::IntentState;
using chain::Outcome;

constexpr const char* kSelectIntent =
    "SELECT id, recipient, value_wei, data, gas_requested, label, state, cancel_requested, nonce, "
    "gas_limit, "
    "settled_at_ms, transaction_hash, block_hash, block_number, gas_used, gas_price_wei, "
    "contract_address, "
    "reason FROM intent WHERE chain_id = ?1 AND sender = ?2 ";

Intent intent_from(const SqlRow& row) {
    Intent out;
    out.request.id = row.text(0);
    out.request.to = row.optional_fixed<Address>(1);
    out.request.value_wei = row.amount(2);
    out.request.data = row.blob(3);
    out.request.gas_limit = row.optional_u64(4);
    out.request.label = row.text(5);
    out.state = chain::parse_intent_state(row.text(6)).value();
    out.cancel_requested = row.integer(7) != 0;
    out.nonce = row.optional_u64(8);
    out.gas_limit = row.optional_u64(9).value_or(0);
    if (row.is_null(10)) return out;
    Outcome outcome;
    outcome.state = out.state;
    outcome.transaction_hash = row.optional_fixed<Digest>(11);
    outcome.block_hash = row.optional_fixed<Digest>(12);
    outcome.block_number = row.optional_u64(13);
    outcome.gas_used = row.optional_u64(14).value_or(0);
    if (!row.is_null(15)) outcome.gas_price_wei = row.amount(15);
    outcome.contract_address = row.optional_fixed<Address>(16);
    if (!row.is_null(17)) outcome.reason = row.text(17);
    out.outcome = outcome;
    return out;
}

class SqliteIntents final : public chain::IntentStore {
  public:
    SqliteIntents(SqliteDb& db, std::uint64_t chain_id, const Address& sender)
        : db_(db), chain_id_(chain_id), sender_(sender) {}

    Result<Intent> submit(const IntentRequest& request, UnixMs now_ms) override {
        return db_.transact([&]() -> Result<Intent> {
            GYM_CHECK(
                db_.exec("INSERT INTO intent (chain_id, sender, id, recipient, value_wei, data, "
                         "gas_requested, label, submitted_at_ms, state) "
                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'queued') "
                         "ON CONFLICT (chain_id, sender, id) DO NOTHING",
                         {chain_id_, sender_, request.id, request.to, request.value_wei,
                          request.data, request.gas_limit, request.label, now_ms}));
            GYM_TRY(Intent intent, load(request.id));
            if (!same_request(intent.request, request)) return other_request(request.id);
            if (intent.state != IntentState::kRejected) return intent;
            GYM_CHECK(
                db_.exec("UPDATE intent SET state = 'queued', cancel_requested = 0, "
                         "settled_at_ms = NULL, reason = NULL "
                         "WHERE chain_id = ?1 AND sender = ?2 AND id = ?3",
                         {chain_id_, sender_, request.id}));
            return load(request.id);
        });
    }

    Result<Intent> find(const std::string& id) override {
        return db_.transact([&] { return load(id); });
    }

    Result<std::vector<Intent>> open(std::uint32_t limit) override {
        return db_.transact([&]() -> Result<std::vector<Intent>> {
            GYM_TRY(const auto rows, db_.exec(std::string(kSelectIntent) +
                                                  "AND state IN ('queued', 'signed') "
                                                  "ORDER BY state = 'queued', nonce, seq LIMIT ?3",
                                              {chain_id_, sender_, limit}));
            std::vector<Intent> out;
            for (const SqlRow& row : rows) {
                out.push_back(intent_from(row));
                if (out.back().state == IntentState::kSigned) GYM_CHECK(load_attempts(out.back()));
            }
            return out;
        });
    }

    Result<std::optional<std::uint64_t>> highest_nonce() override { return highest(""); }
    Result<std::optional<std::uint64_t>> highest_settled_nonce() override {
        return highest(" AND block_number IS NOT NULL");
    }

    Status assign(const std::string& id, std::uint64_t nonce, std::uint64_t gas_limit,
                  const Attempt& first) override {
        return as_conflict(id, db_.transact([&]() -> Status {
            GYM_CHECK(
                db_.exec("UPDATE intent SET state = 'signed', nonce = ?4, "
                         "gas_limit = ?5 WHERE chain_id = ?1 AND sender = ?2 "
                         "AND id = ?3 AND state = 'queued'",
                         {chain_id_, sender_, id, nonce, gas_limit}));
            if (db_.changes() != 1) return not_in_state(id, "queued");
            return insert_attempt(id, 0, first);
        }));
    }

    Status add_attempt(const std::string& id, std::size_t attempts_expected,
                       const Attempt& attempt) override {
        return as_conflict(id, db_.transact([&]() -> Status {
            GYM_TRY(const Intent intent, load(id));
            if (intent.state != IntentState::kSigned || intent.attempts.size() != attempts_expected)
                return not_in_state(id, "as it was");
            return insert_attempt(id, attempts_expected, attempt);
        }));
    }

    Status request_cancel(const std::string& id) override {
        return db_.transact([&]() -> Status {
            GYM_TRY(const Intent intent, load(id));
            if (chain::is_settled(intent.state)) return not_in_state(id, "open");
            GYM_CHECK(
                db_.exec("UPDATE intent SET cancel_requested = 1 "
                         "WHERE chain_id = ?1 AND sender = ?2 AND id = ?3",
                         {chain_id_, sender_, id}));
            return {};
        });
    }

    Status settle(const std::string& id, const Outcome& outcome, UnixMs now_ms) override {
        return db_.transact([&]() -> Status {
            GYM_TRY(const Intent intent, load(id));
            if (chain::is_settled(intent.state)) return check_settled(intent, outcome);
            GYM_CHECK(
                db_.exec("UPDATE intent SET state = ?4, settled_at_ms = ?5, transaction_hash = ?6, "
                         "block_hash = ?7, block_number = ?8, gas_used = ?9, gas_price_wei = ?10, "
                         "contract_address = ?11, reason = ?12 WHERE chain_id = ?1 AND sender = ?2 "
                         "AND id = ?3",
                         {chain_id_, sender_, id, chain::to_string(outcome.state), now_ms,
                          outcome.transaction_hash, outcome.block_hash, outcome.block_number,
                          outcome.gas_used, outcome.gas_price_wei, outcome.contract_address,
                          outcome.reason}));
            return {};
        });
    }

  private:
    static Status as_conflict(const std::string& id, Status status) {
        if (!status.ok() && status.error().code == ErrorCode::kAlreadyExists)
            return fail(ErrorCode::kConflict, not_in_state(id, "as it was").message + " (" +
                                                  status.error().message + ")");
        return status;
    }

    Result<Intent> load(const std::string& id) {
        GYM_TRY(const auto rows,
                db_.exec(std::string(kSelectIntent) + "AND id = ?3", {chain_id_, sender_, id}));
        if (rows.empty()) return no_intent(id);
        Intent intent = intent_from(rows.front());
        GYM_CHECK(load_attempts(intent));
        return intent;
    }

    Status load_attempts(Intent& intent) {
        GYM_TRY(const auto rows,
                db_.exec("SELECT hash, raw, fee_max_wei, priority_fee_wei, cancels, signed_at_ms "
                         "FROM attempt WHERE chain_id = ?1 AND sender = ?2 AND intent_id = ?3 "
                         "ORDER BY number",
                         {chain_id_, sender_, intent.request.id}));
        for (const SqlRow& row : rows)
            intent.attempts.push_back({row.fixed<Digest>(0), row.blob(1), row.amount(2),
                                       row.amount(3), row.integer(4) != 0, row.integer(5)});
        return {};
    }

    Status insert_attempt(const std::string& id, std::size_t number, const Attempt& attempt) {
        GYM_CHECK(
            db_.exec("INSERT INTO attempt (chain_id, sender, intent_id, number, hash, raw, "
                     "fee_max_wei, priority_fee_wei, cancels, signed_at_ms) "
                     "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                     {chain_id_, sender_, id, static_cast<std::uint64_t>(number), attempt.hash,
                      attempt.raw, attempt.fee_max_wei, attempt.priority_fee_wei, attempt.cancels,
                      attempt.signed_at_ms}));
        return {};
    }

    Result<std::optional<std::uint64_t>> highest(const std::string& condition) {
        return db_.transact([&]() -> Result<std::optional<std::uint64_t>> {
            GYM_TRY(const auto rows,
                    db_.exec("SELECT max(nonce) FROM intent WHERE chain_id = ?1 AND sender = ?2" +
                                 condition,
                             {chain_id_, sender_}));
            return rows.at(0).optional_u64(0);
        });
    }

    SqliteDb& db_;
    const std::uint64_t chain_id_;
    const Address sender_;
};

}  // namespace

std::unique_ptr<chain::IntentStore> make_sqlite_intents(SqliteDb& db, std::uint64_t chain_id,
                                                        const Address& sender) {
    return std::make_unique<SqliteIntents>(db, chain_id, sender);
}

}  // namespace gym::chain_store
