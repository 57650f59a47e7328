#pragma once

#include "gym/crypto/key.hpp"
#include "gym/ledger/sealer.hpp"
#include "gym/ledger/verify.hpp"
#include "ledger_fixture.hpp"

namespace gym::ledger {

/// A ledger with a sealer. After each test the whole of it is verified.
class SealTest : public LedgerTest {
  protected:
    void SetUp() override {
        a_ = account("0xa");
        b_ = account("0xb");
        c_ = account("0xc");
    }
    void TearDown() override {
        LedgerTest::TearDown();
        const auto report = verified();
        ASSERT_TRUE(report.ok()) << report.error().message;
        EXPECT_EQ(report->problems, std::vector<Problem>{});
    }

    Result<VerifyReport> verified(VerifyOptions options = {}) {
        return verify(*database_, options);
    }
    std::optional<Seal> tick(Sealer& sealer) {
        const auto seal = sealer.tick();
        EXPECT_TRUE(seal.ok()) << seal.error().message;
        return seal.value_or(std::nullopt);
    }
    std::optional<Seal> tick() { return tick(sealer_); }
    void pay(const std::string& name, std::uint64_t amount = 1) {
        ASSERT_EQ(book(move(name, a_, b_, amount)), kCreated);
    }
    std::uint64_t seq_of(const std::string& name) {
        const auto row = test_.owner().transact([&](db::Transaction& tx) {
            return tx.exec_one("SELECT seq FROM ledger.transfer WHERE id = $1",
                               {to_uuid(transfer_id(name))});
        });
        return row.ok() ? row->get<std::uint64_t>(0) : 0;
    }
    static std::string refusal(db::Database& database, const std::string& sql) {
        const auto result = database.transact([&](db::Transaction& t) { return t.exec(sql); });
        return result.ok() ? "" : std::string(to_string(result.error().code));
    }

    AccountId a_{}, b_{}, c_{};
    const crypto::PrivateKey key_ = crypto::PrivateKey::generate();
    Sealer sealer_{*database_, clock_, key_};
};

}  // namespace gym::ledger
