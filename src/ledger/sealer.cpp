#include "gym/ledger/sealer.hpp"

#include <algorithm>

#include "gym/commit/merkle.hpp"
#include "sealed_rows.hpp"

namespace gym::ledger {

using db::Transaction;

namespace {

struct Head {
    SealHead seal;
    std::uint64_t last_seq = 0;
    UnixMs sealed_at = 0;
};

Result<Head> read_head(Transaction& transaction) {
    GYM_TRY(const auto row,
            transaction.exec_optional("SELECT number, hash, last_seq, sealed_at_ms FROM "
                                      "ledger.seal ORDER BY number DESC LIMIT 1"));
    if (!row) return Head{};
    return Head{{row->get<std::uint64_t>(0), row->get<Digest>(1)},
                row->get<std::uint64_t>(2),
                row->get<UnixMs>(3)};
}

}  // namespace

Result<std::optional<SealHead>> seal_head(Transaction& transaction) {
    GYM_TRY(const Head head, read_head(transaction));
    if (head.seal.number == 0) return std::optional<SealHead>();
    return std::optional(head.seal);
}

class Sealer::Impl {
  public:
    Impl(db::Database& database, const Clock& clock, const crypto::PrivateKey& key,
         SealerOptions options)
        : database_(database), clock_(clock), key_(key), options_(options) {
        options_.transfers_max =
            std::clamp<std::size_t>(options.transfers_max, 1, kSealTransfersMax);
        options_.page = std::max<std::size_t>(options.page, 1);
    }

    Result<std::optional<Seal>> tick() {
        GYM_TRY(const std::uint64_t settled,
                database_.transact([](Transaction& tx) -> Result<std::uint64_t> {
                    GYM_TRY(const db::Row row, tx.exec_one("SELECT ledger.settle()"));
                    return row.get<std::uint64_t>(0);
                }));
        GYM_TRY(const std::optional<SealRecord> record,
                database_.transact([&](Transaction& tx) { return next_record(tx, settled); }));
        if (!record) return std::optional<Seal>();
        const Seal seal = sign_seal(*record, key_);
        GYM_CHECK(database_.transact([&](Transaction& tx) { return append(tx, seal); }));
        return std::optional(seal);
    }

  private:
    /// Settled transfers no longer change, so neither a lock nor a common snapshot is needed.
    Result<std::optional<SealRecord>> next_record(Transaction& transaction, std::uint64_t settled) {
        GYM_CHECK(read_in_order(transaction));
        GYM_TRY(const Head head, read_head(transaction));
        SealRecord record;
        std::vector<Digest> leaves;
        SeqRange range{head.last_seq, settled};
        while (leaves.size() < options_.transfers_max) {
            const std::size_t count =
                std::min(options_.page, options_.transfers_max - leaves.size());
            GYM_TRY(const auto rows, read_transfers(transaction, range, count));
            if (rows.empty()) break;
            GYM_CHECK(accounts_.load(transaction, rows));
            append_leaves(leaves, rows, accounts_);
            if (record.first_seq == 0) record.first_seq = rows.front().transfer.seq;
            range.after = record.last_seq = rows.back().transfer.seq;
            if (rows.size() < count) break;
        }
        if (leaves.empty()) return std::optional<SealRecord>();
        record.number = head.seal.number + 1;
        record.transfers = leaves.size();
        record.root = commit::merkle_root(leaves);
        record.previous = head.seal.hash;
        record.sealed_at = std::max(clock_.now_ms(), head.sealed_at);
        return std::optional(record);
    }

    static Status append(Transaction& transaction, const Seal& seal) {
        const SealRecord& record = seal.record;
        GYM_TRY(
            const db::Row row,
            transaction.exec_one(
                "SELECT ledger.append_seal($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                {record.number, record.first_seq, record.last_seq, record.transfers, record.root,
                 record.previous, record.sealed_at, record.signer, seal.signature}));
        GYM_ASSERT(row.get<Digest>(0) == seal.hash, "the database hashes a seal as this program");
        return {};
    }

    db::Database& database_;
    const Clock& clock_;
    const crypto::PrivateKey& key_;
    SealerOptions options_;
    AccountDigests accounts_;
};

Sealer::Sealer(db::Database& database, const Clock& clock, const crypto::PrivateKey& key,
               SealerOptions options)
    : impl_(std::make_unique<Impl>(database, clock, key, options)) {}
Sealer::~Sealer() = default;

Result<std::optional<Seal>> Sealer::tick() {
    return impl_->tick();
}

}  // namespace gym::ledger
