#include "gym/chain_store/postgres.hpp"
#include "records.hpp"

namespace gym::chain_store {
namespace {

using chain::Attempt;
using chain::Intent;
using chain::IntentRequest;
using chain::IntentState;
using chain::Outcome;

constexpr const char* kIntentColumns =
    "id, recipient, value_wei, data, gas_requested, label, state, cancel_requested, nonce, "
    "gas_limit, "
    "settled_at_ms, transaction_hash, block_hash, block_number, gas_used, gas_price_wei, "
    "contract_address, "
    "reason";
constexpr db::TransactOptions kRepeatable{.idempotent = true};
constexpr db::TransactOptions kReading{.read_only = true, .idempotent = true};

/// Both names of one failure: a constraint or a trigger found the state changed.
Status conflict_of(Status status, const std::string& id, const char* expected) {
    if (!status.ok() && (status.error().code == ErrorCode::kAlreadyExists ||
                         status.error().code == ErrorCode::kConflict))
        return fail(ErrorCode::kConflict,
                    not_in_state(id, expected).message + " (" + status.error().message + ")");
    return status;
}

Intent intent_from(const db::Row& row) {
    Intent out;
    out.request.id = row.get<std::string>("id");
    out.request.to = row.get<std::optional<Address>>("recipient");
    out.request.value_wei = row.get<Amount>("value_wei");
    out.request.data = row.get<Bytes>("data");
    out.request.gas_limit = row.get<std::optional<std::uint64_t>>("gas_requested");
    out.request.label = row.get<std::string>("label");
    out.state = chain::parse_intent_state(row.get<std::string>("state")).value();
    out.cancel_requested = row.get<bool>("cancel_requested");
    out.nonce = row.get<std::optional<std::uint64_t>>("nonce");
    out.gas_limit = row.get<std::optional<std::uint64_t>>("gas_limit").value_or(0);
    if (row.is_null("settled_at_ms")) return out;
    Outcome outcome;
    outcome.state = out.state;
    outcome.transaction_hash = row.get<std::optional<Digest>>("transaction_hash");
    outcome.block_hash = row.get<std::optional<Digest>>("block_hash");
    outcome.block_number = row.get<std::optional<std::uint64_t>>("block_number");
    outcome.gas_used = row.get<std::optional<std::uint64_t>>("gas_used").value_or(0);
    outcome.gas_price_wei = row.get<std::optional<Amount>>("gas_price_wei").value_or(Amount());
    outcome.contract_address = row.get<std::optional<Address>>("contract_address");
    outcome.reason = row.get<std::optional<std::string>>("reason").value_or("");
    out.outcome = outcome;
    return out;
}

Attempt attempt_from(const db::Row& row) {
    return {row.get<Digest>("hash"),        row.get<Bytes>("raw"),
            row.get<Amount>("fee_max_wei"), row.get<Amount>("priority_fee_wei"),
            row.get<bool>("cancels"),       row.get<UnixMs>("signed_at_ms")};
}

class PostgresIntents final : public chain::IntentStore {
  public:
    PostgresIntents(db::Database& database, Service service, std::uint64_t chain_id,
                    const Address& sender)
        : database_(database),
          role_(std::move(service.role)),
          chain_id_(chain_id),
          sender_(sender) {}

    Result<Intent> submit(const IntentRequest& request, UnixMs now_ms) override {
        return database_.transact(
            [&](db::Transaction& tx) -> Result<Intent> {
                GYM_CHECK(
                    tx.exec("INSERT INTO chain.intent (service, chain_id, sender, id, recipient, "
                            "value_wei, data, gas_requested, label, submitted_at_ms, state) "
                            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'queued') "
                            "ON CONFLICT (service, chain_id, sender, id) DO NOTHING",
                            {role_, chain_id_, sender_, request.id, request.to, request.value_wei,
                             request.data, request.gas_limit, request.label, now_ms}));
                GYM_TRY(Intent intent, load(tx, request.id, true));
                if (!same_request(intent.request, request)) return other_request(request.id);
                if (intent.state != IntentState::kRejected) return intent;
                GYM_CHECK(
                    tx.exec("UPDATE chain.intent SET state = 'queued', cancel_requested = false, "
                            "settled_at_ms = NULL, reason = NULL "
                            "WHERE (service, chain_id, sender, id) = ($1, $2, $3, $4)",
                            {role_, chain_id_, sender_, request.id}));
                return load(tx, request.id, false);
            },
            kRepeatable);
    }

    Result<Intent> find(const std::string& id) override {
        return database_.transact([&](db::Transaction& tx) { return load(tx, id, false); },
                                  kReading);
    }

    Result<std::vector<Intent>> open(std::uint32_t limit) override {
        return database_.transact(
            [&](db::Transaction& tx) -> Result<std::vector<Intent>> {
                GYM_TRY(
                    const db::Rows rows,
                    tx.exec(
                        std::string("SELECT ") + kIntentColumns +
                            " FROM chain.intent WHERE (service, chain_id, sender) = ($1, $2, $3) "
                            "AND state IN ('queued', 'signed') "
                            "ORDER BY state = 'queued', nonce, seq LIMIT $4",
                        {role_, chain_id_, sender_, limit}));
                std::vector<Intent> out;
                for (const db::Row& row : rows) {
                    out.push_back(intent_from(row));
                    if (out.back().state == IntentState::kSigned)
                        GYM_CHECK(load_attempts(tx, out.back()));
                }
                return out;
            },
            kReading);
    }

    Result<std::optional<std::uint64_t>> highest_nonce() override { return highest(""); }
    Result<std::optional<std::uint64_t>> highest_settled_nonce() override {
        return highest(" AND block_number IS NOT NULL");
    }

    Status assign(const std::string& id, std::uint64_t nonce, std::uint64_t gas_limit,
                  const Attempt& first) override {
        return conflict_of(database_.transact([&](db::Transaction& tx) -> Status {
            GYM_TRY(const db::Rows rows,
                    tx.exec("UPDATE chain.intent SET state = 'signed', nonce = $5, gas_limit = $6 "
                            "WHERE (service, chain_id, sender, id) = ($1, $2, $3, $4) "
                            "AND state = 'queued'",
                            {role_, chain_id_, sender_, id, nonce, gas_limit}));
            if (rows.affected() != 1) return not_in_state(id, "queued");
            return insert_attempt(tx, id, 0, first);
        }),
                           id, "queued with a free nonce");
    }

    Status add_attempt(const std::string& id, std::size_t attempts_expected,
                       const Attempt& attempt) override {
        return conflict_of(database_.transact([&](db::Transaction& tx) -> Status {
            GYM_TRY(const Intent intent, load(tx, id, true));
            if (intent.state != IntentState::kSigned || intent.attempts.size() != attempts_expected)
                return not_in_state(id, "as it was");
            return insert_attempt(tx, id, attempts_expected, attempt);
        }),
                           id, "as it was");
    }

    Status request_cancel(const std::string& id) override {
        return database_.transact(
            [&](db::Transaction& tx) -> Status {
                GYM_TRY(const Intent intent, load(tx, id, true));
                if (chain::is_settled(intent.state)) return not_in_state(id, "open");
                GYM_CHECK(
                    tx.exec("UPDATE chain.intent SET cancel_requested = true "
                            "WHERE (service, chain_id, sender, id) = ($1, $2, $3, $4)",
                            {role_, chain_id_, sender_, id}));
                return {};
            },
            kRepeatable);
    }

    Status settle(const std::string& id, const Outcome& outcome, UnixMs now_ms) override {
        return database_.transact(
            [&](db::Transaction& tx) -> Status {
                GYM_TRY(const Intent intent, load(tx, id, true));
                if (chain::is_settled(intent.state)) return check_settled(intent, outcome);
                GYM_CHECK(tx.exec(
                    "UPDATE chain.intent SET state = $5, settled_at_ms = $6, transaction_hash = "
                    "$7, "
                    "block_hash = $8, block_number = $9, gas_used = $10, gas_price_wei = $11, "
                    "contract_address = $12, reason = $13 "
                    "WHERE (service, chain_id, sender, id) = ($1, $2, $3, $4)",
                    {role_, chain_id_, sender_, id, chain::to_string(outcome.state), now_ms,
                     outcome.transaction_hash, outcome.block_hash, outcome.block_number,
                     outcome.gas_used, outcome.gas_price_wei, outcome.contract_address,
                     outcome.reason}));
                return {};
            },
            kRepeatable);
    }

  private:
    Result<Intent> load(db::Transaction& tx, const std::string& id, bool lock) {
        GYM_TRY(const auto row,
                tx.exec_optional(std::string("SELECT ") + kIntentColumns +
                                     " FROM chain.intent "
                                     "WHERE (service, chain_id, sender, id) = ($1, $2, $3, $4)" +
                                     (lock ? " FOR UPDATE" : ""),
                                 {role_, chain_id_, sender_, id}));
        if (!row) return no_intent(id);
        Intent intent = intent_from(*row);
        GYM_CHECK(load_attempts(tx, intent));
        return intent;
    }

    Status load_attempts(db::Transaction& tx, Intent& intent) {
        GYM_TRY(
            const db::Rows rows,
            tx.exec(
                "SELECT hash, raw, fee_max_wei, priority_fee_wei, cancels, signed_at_ms "
                "FROM chain.attempt "
                "WHERE (service, chain_id, sender, intent_id) = ($1, $2, $3, $4) ORDER BY number",
                {role_, chain_id_, sender_, intent.request.id}));
        for (const db::Row& row : rows)
            intent.attempts.push_back(attempt_from(row));
        return {};
    }

    Status insert_attempt(db::Transaction& tx, const std::string& id, std::size_t number,
                          const Attempt& attempt) {
        GYM_CHECK(tx.exec(
            "INSERT INTO chain.attempt (service, chain_id, sender, intent_id, number, hash, "
            "raw, fee_max_wei, priority_fee_wei, cancels, signed_at_ms) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            {role_, chain_id_, sender_, id, number, attempt.hash, attempt.raw, attempt.fee_max_wei,
             attempt.priority_fee_wei, attempt.cancels, attempt.signed_at_ms}));
        return {};
    }

    Result<std::optional<std::uint64_t>> highest(const std::string& condition) {
        return database_.transact(
            [&](db::Transaction& tx) -> Result<std::optional<std::uint64_t>> {
                GYM_TRY(const db::Row row,
                        tx.exec_one("SELECT max(nonce) FROM chain.intent "
                                    "WHERE (service, chain_id, sender) = ($1, $2, $3)" +
                                        condition,
                                    {role_, chain_id_, sender_}));
                return row.get<std::optional<std::uint64_t>>(std::size_t{0});
            },
            kReading);
    }

    db::Database& database_;
    const std::string role_;
    const std::uint64_t chain_id_;
    const Address sender_;
};

}  // namespace

std::unique_ptr<chain::IntentStore> postgres_intents(db::Database& database, Service service,
                                                     std::uint64_t chain_id,
                                                     const Address& sender) {
    return std::make_unique<PostgresIntents>(database, std::move(service), chain_id, sender);
}

}  // namespace gym::chain_store
