#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "gym/api/postgres.hpp"
#include "gym/blob/blob_store.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/common/assert.hpp"
#include "gym/common/clock.hpp"
#include "gym/crypto/key.hpp"
#include "gym/ledger/ledger.hpp"
#include "gym/registry/cost_terms.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/size_limits.hpp"
#include "gym/rewards/accounting.hpp"
#include "gym/rewards/settlement.hpp"
#include "locking_chain.hpp"
#include "manual_clock.hpp"
#include "postgres.hpp"

namespace gym::api::testing {

inline constexpr const char* kAsset = "erc20:31337:0x00000000000000000000000000000000000000aa";

inline const records::OrderNetwork kNetwork{31'337, Address{{0xee}}};

inline crypto::PrivateKey signing_key(std::uint8_t last) {
    std::array<std::uint8_t, 32> secret{};
    secret.back() = last;
    return crypto::PrivateKey::from_bytes(secret).value();
}
/// Of a key that this test holds, so that its owner can sign.
inline Address address_of(std::uint8_t last) {
    return signing_key(last).address();
}
/// The key of an address_of().
inline crypto::PrivateKey signing_key_of(const Address& address) {
    for (unsigned last = 1; last < 256; ++last) {
        auto key = signing_key(static_cast<std::uint8_t>(last));
        if (key.address() == address) return key;
    }
    GYM_ASSERT(false, "the address is none of the test's");
    return crypto::PrivateKey::generate();
}

/// A job file for a model that no machine has to train: `extra` is appended.
inline std::string job_spec(const Digest& dataset, const std::string& budget = "100",
                            const std::string& extra = "") {
    return "name: test\n"
           "model:\n"
           "  batch: 2\n"
           "  model: {vocabulary: 256, context: 16, layers: 1, heads: 1, width: 16}\n"
           "dataset: \"" +
           dataset.hex() +
           "\"\n"
           "rounds: 3\n"
           "slots: 2\n"
           "steps_per_round: 4\n"
           "price_per_pflop: 1.5\n"
           "budget: " +
           budget + "\n" + extra;
}

/// The backend on a database of its own, with the rights of gym_api.
class ApiDatabaseTest : public ::testing::Test {
  protected:
    void SetUp() override {
        api_db_ = database_.as("gym_api");
        rewards_db_ = database_.as("gym_rewards");
        const std::string text(2'000, 'x');
        dataset_ = add(owner_, "text", dataset_file(text)).value().dataset.root;
    }

    PostgresBackend backend() {
        PostgresBackend::Options options;
        options.asset = kAsset;
        options.network = kNetwork;
        return PostgresBackend(*api_db_, blobs_, clock_, options);
    }

    std::uint64_t expiry() const {
        return static_cast<std::uint64_t>(clock_.now_ms() / 1000) + records::kOrderLifetimeSeconds;
    }
    /// Signs the submission as its owner. Of a text that does not parse as a job it says nothing.
    Submission sealed(Submission submission) const {
        const auto spec = registry::parse_submitted_spec(submission.spec_yaml, "job");
        return sealed_as(std::move(submission),
                         spec.ok() ? registry::order_terms(*spec) : records::OrderTerms());
    }
    /// Signs these terms, whatever the text says.
    Submission sealed_as(Submission submission, const records::OrderTerms& terms) const {
        submission.terms = terms;
        auto order = records::job_order(terms, submission.spec_yaml, submission.owner,
                                        records::order_nonce(submission.idempotency_key));
        order.expiry_s = expiry();
        submission.seal = records::seal_order(kNetwork, order, signing_key_of(submission.owner));
        return submission;
    }
    Funding sealed(Funding funding) const {
        const records::JobFunding order{funding.owner, funding.job_id, funding.amount,
                                        records::order_nonce(funding.idempotency_key), expiry()};
        funding.seal = records::seal_order(kNetwork, order, signing_key_of(funding.owner));
        return funding;
    }
    static rewards::RewardsConfig rewards_config() {
        rewards::RewardsConfig config;
        config.domain.chain_id = kNetwork.chain_id;
        config.domain.token = Address::parse(std::string_view(kAsset).substr(12)).value();
        config.escrow = kNetwork.escrow;
        return config;
    }
    /// As gym-rewards does it in each tick. @return how many it accepted or refused.
    std::size_t check_orders() {
        const auto taken =
            rewards::Accounting(*rewards_db_, clock_, rewards_config()).take_orders();
        EXPECT_TRUE(taken.ok()) << taken.error().message;
        return taken.value_or(0);
    }
    /// Likewise, with a chain that locks at once what it accepts.
    std::size_t take_orders() {
        const std::size_t taken = check_orders();
        gym::testing::LockingChain chain;
        const auto locked =
            rewards::Settlement(*rewards_db_, clock_, rewards_config(), chain, {}).lock_orders();
        EXPECT_TRUE(locked.ok()) << locked.error().message;
        return taken;
    }
    /// Submits the job and lets gym-rewards decide.
    Result<Submitted> submit(Submission submission) {
        auto submitted = backend().submit_job(sealed(std::move(submission)));
        take_orders();
        return submitted;
    }
    /// Likewise. @return the job with its new budget.
    Result<registry::Job> fund(Funding funding) {
        const Digest job = funding.job_id;
        GYM_TRY([[maybe_unused]] const auto ordered,
                backend().fund_job(sealed(std::move(funding))));
        take_orders();
        return api_db_->transact([&](db::Transaction& tx) { return registry::get_job(tx, job); });
    }

    Result<AddedDataset> add(const Address& owner, const std::string& name, const Bytes& file) {
        return backend().add_dataset(
            {.owner = owner, .name = name, .licence = "CC0-1.0", .file = file});
    }

    static Bytes dataset_file(const std::string& text) {
        return blob::Dataset::build_from_text(as_bytes(text)).value().encode();
    }

    /// The announcements of coordinator and gym-rewards at their start.
    void publish_terms(std::uint32_t fee_ppm, std::uint64_t cost_bound_ppm = 2'500'000) {
        const Status said = database_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_CHECK(
                tx.exec("INSERT INTO rewards.fee_terms VALUES (true, $1, 500000, 1, 1100000, "
                        "50000) ON CONFLICT (id) DO UPDATE SET fee_ppm = excluded.fee_ppm",
                        {fee_ppm}));
            return registry::publish_cost_rates(tx, {cost_bound_ppm, fee_ppm}, 1);
        });
        ASSERT_TRUE(said.ok()) << said.error().message;
    }

    /// As the coordinator publishes it.
    void publish_sizes(const protocol::SizeLimits& limits) {
        const Status said = database_.owner().transact(
            [&](db::Transaction& tx) { return registry::publish_size_limits(tx, limits, 1); });
        ASSERT_TRUE(said.ok()) << said.error().message;
    }

    /// Tokens that arrived on chain for `owner`, as gym-rewards books them.
    void deposit(const Address& owner, const std::string& tokens, const std::string& purpose) {
        book(rewards::chain_escrow_account(kAsset), rewards::available_account(kAsset, owner),
             tokens, purpose);
    }

    /// A posting as gym-rewards makes it.
    void book(const ledger::AccountKey& source, const ledger::AccountKey& target,
              const std::string& tokens, const std::string& purpose) {
        const Status status = database_.owner().transact([&](db::Transaction& tx) -> Status {
            GYM_TRY(const auto from, ledger::open_account(tx, source));
            GYM_TRY(const auto to, ledger::open_account(tx, target));
            ledger::TransferRequest request;
            request.id = ledger::transfer_id(purpose);
            request.debit = from;
            request.credit = to;
            request.amount = Amount::parse_tokens(tokens).value();
            GYM_TRY(const auto done, ledger::submit(tx, std::span(&request, 1), clock_.now_ms()));
            EXPECT_EQ(done.front(), ledger::TransferStatus::kCreated);
            return {};
        });
        ASSERT_TRUE(status.ok()) << status.error().message;
    }

    std::uint64_t count(const std::string& table) {
        return database_.owner()
            .transact([&](db::Transaction& tx) -> Result<std::uint64_t> {
                GYM_TRY(const db::Row row, tx.exec_one("SELECT count(*) FROM " + table));
                return row.get<std::uint64_t>(0);
            })
            .value();
    }

    gym::testing::TestDatabase database_;
    std::unique_ptr<db::Database> api_db_;
    std::unique_ptr<db::Database> rewards_db_;
    blob::MemoryStore blobs_;
    gym::testing::ManualClock clock_{1'000'000};
    const Address owner_ = address_of(1);
    Digest dataset_;
};

}  // namespace gym::api::testing
