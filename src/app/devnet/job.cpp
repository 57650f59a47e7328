#include "job.hpp"

#include <chrono>
#include <utility>

#include "gym/blob/dataset.hpp"
#include "gym/client/api_client.hpp"
#include "gym/common/file.hpp"
#include "gym/contracts/deployment.hpp"
#include "gym/contracts/rewards_distributor.hpp"
#include "gym/devnet/infrastructure.hpp"
#include "gym/devnet/progress.hpp"
#include "gym/ledger/ledger.hpp"
#include "gym/plan/draft.hpp"
#include "gym/plan/order_signer.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "gym/registry/job_spec.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/rewards/claim_proof.hpp"

namespace gym::devnet {
namespace {

constexpr std::uint32_t kDepositTimeoutS = 60;
constexpr std::uint32_t kTermsTimeoutS = 60;
constexpr const char* kSubmission = "demo";  // the idempotency key

/// Asks a gym-api again that restarts.
client::ApiClient api_of(const Layout& layout, const std::string& key) {
    return client::ApiClient(
        {.url = layout.api_url(), .key = key, .retry_for = std::chrono::seconds(20)});
}

/// The job file with the dataset's root in the place of the word DATASET.
Result<std::string> fill_in(const std::filesystem::path& job_file, const std::string& root) {
    GYM_TRY(const Bytes bytes, read_file(job_file, 1 << 20));
    std::string text(bytes.begin(), bytes.end());
    const std::string word = "dataset: DATASET";
    const std::size_t at = text.find(word);
    if (at == std::string::npos)
        return fail(ErrorCode::kMalformed, job_file.string() + " has no line '" + word + "'");
    return text.replace(at, word.size(), "dataset: \"" + root + "\"");
}

/// Deadlines that the file leaves out follow the network's window for disputes, which its
/// coordinator publishes as soon as it has read the chain.
Result<std::string> with_deadlines(const client::ApiClient& api, const std::string& job) {
    plan::Facts facts;
    GYM_CHECK(wait_until("the network's window for disputes", {.timeout_s = kTermsTimeoutS},
                         [&]() -> Result<bool> {
                             GYM_TRY(facts, plan::network_facts(api));
                             return facts.dispute_window_ms.has_value();
                         }));
    GYM_TRY(registry::JobSpec spec, registry::parse_job_spec(job, "the job"));
    GYM_TRY(const auto config, program::read_train_config(*spec.model));
    GYM_TRY(const plan::ModelWork work, plan::model_work(config));
    return plan::fit_deadlines(job, spec.terms, work, facts);
}

/// The job's order, signed by its owner.
Result<records::SealedTerms> sealed_order(const Layout& layout, const std::string& job) {
    GYM_TRY(const auto deployment, contracts::load_deployment(layout.deployment()));
    GYM_TRY(crypto::PrivateKey owner, holder_key(layout, kJobOwner));
    const plan::OrderSigner signer{std::move(owner), {deployment.chain_id, deployment.escrow}};
    return signer.seal_job(job, kSubmission, SystemClock().now_ms());
}

Result<Amount> payable_total(db::Transaction& tx) {
    GYM_TRY(const db::Row row, tx.exec_one("SELECT coalesce(sum(credits), 0)::text AS total "
                                           "FROM ledger.account WHERE kind = 'payable'"));
    return Amount::parse(row.get<std::string>("total"));
}

/// Nothing waits for an epoch, and the chain's active root, which the services have seen
/// too, pays all that the ledger made payable.
Result<bool> is_settled(db::Transaction& tx, const contracts::RootSubmitted& active) {
    GYM_TRY(const Amount payable, payable_total(tx));
    GYM_TRY(const db::Row row,
            tx.exec_one("SELECT count(*) AS n FROM ledger.account WHERE kind = 'earned' "
                        "AND (credits > debits OR credits_pending > 0)"));
    GYM_TRY(const auto epochs, rewards::list_epochs(tx, 1));
    return row.get<std::int64_t>("n") == 0 && !payable.is_zero() &&
           active.total_cumulative == payable && !epochs.empty() &&
           epochs.front().root == active.root &&
           epochs.front().state == rewards::EpochState::kSubmitted;
}

Status claim_for(const Layout& layout, const contracts::Deployment& deployment,
                 db::Database& database, const std::string& holder) {
    GYM_TRY(const auto wallet, open_account(layout, holder));
    const auto proof = database.transact(
        [&](db::Transaction& tx) {
            return rewards::claim_proof(tx, wallet->address(), SystemClock().now_ms());
        },
        {.read_only = true});
    if (!proof.ok()) {
        if (proof.error().code == ErrorCode::kNotFound) return {};  // earned nothing
        return proof.error();
    }
    const contracts::RewardsDistributor distributor(deployment.distributor);
    GYM_TRY(const Amount claimed, distributor.claimed(wallet->client(), wallet->address()));
    if (claimed >= proof->cumulative) return {};
    const auto claim = [&] {
        return wallet->execute(
            distributor.claim({wallet->address(), proof->cumulative, proof->path}),
            "claim/" + std::to_string(proof->epoch));
    };
    // A node that still plays or settles a game sends from the same key, and may take the number.
    Result<chain::Outcome> done = claim();
    for (int again = 0; !done.ok() && done.error().code == ErrorCode::kConflict && again < 3;
         ++again)
        done = claim();
    return done.ok() ? Status() : Status(done.error());
}

}  // namespace

Status fund_owner(const Layout& layout, const contracts::Deployment& deployment,
                  db::Database& database, const Amount& amount) {
    GYM_TRY(const auto wallet, open_account(layout, kJobOwner));
    GYM_CHECK(wallet->deposit(deployment, wallet->address(), amount, "deposit/demo"));
    const ledger::AccountKey available{
        .owner = wallet->address().hex(),
        .asset = ledger::erc20_asset(deployment.chain_id, deployment.token),
        .kind = ledger::AccountKind::kAvailable};
    return wait_until(
        "the deposit to be credited", {.timeout_s = kDepositTimeoutS}, [&]() -> Result<bool> {
            GYM_TRY(const ledger::Balance balance,
                    database.transact(
                        [&](db::Transaction& tx) { return ledger::balance(tx, available); },
                        {.read_only = true}));
            return balance.spendable() >= amount;
        });
}

Result<Digest> register_text(const Layout& layout, const Programs& programs,
                             const OfferedText& offered) {
    GYM_TRY(const std::string key, ensure_api_key(layout, programs, offered.holder));
    GYM_TRY(const blob::Dataset dataset, blob::Dataset::build_from_text(offered.text));
    GYM_TRY(const Amount price, Amount::parse_tokens(offered.price_tokens));
    GYM_TRY(const auto registered,
            api_of(layout, key).register_dataset(dataset, {offered.name, offered.licence, price}));
    return registered->root;
}

Result<Digest> submit_job(const Layout& layout, const Programs& programs, const Digest& dataset,
                          const std::filesystem::path& job_file) {
    GYM_TRY(const std::string key, ensure_api_key(layout, programs, kJobOwner));
    GYM_TRY(const std::string filled, fill_in(job_file, dataset.hex()));
    GYM_TRY(const std::string job, with_deadlines(api_of(layout, key), filled));
    GYM_TRY(const records::SealedTerms order, sealed_order(layout, job));
    GYM_TRY(const auto submitted, api_of(layout, key).submit_job(job, kSubmission, order));
    return submitted->id;
}

Status watch_job(db::Database& database, const Digest& job_id, const WaitLimits& limits) {
    ProgressPrinter printer;
    Status status = wait_through("the job to end", limits, [&]() -> Result<Stage> {
        GYM_TRY(const JobProgress progress,
                read_progress(database, job_id, SystemClock().now_ms()));
        printer.show(progress);
        using enum registry::JobStatus;
        if (progress.status == kFailed || progress.status == kCancelled ||
            progress.status == kPaused)
            return fail(ErrorCode::kConflict,
                        "the job is " + std::string(registry::to_string(progress.status)) + ": " +
                            progress.status_reason);
        GYM_CHECK(check_disputes(progress));
        return Stage{progress.status == kCompleted && progress.units_open == 0,
                     progress_line(progress) + std::to_string(progress.units_open)};
    });
    printer.finish();
    return status;
}

Status wait_for_slash(const ReportSources& sources, const WaitLimits& limits) {
    return wait_until("the cheat's stake to be taken", limits, [&]() -> Result<bool> {
        GYM_TRY(const auto dispute, read_dispute(sources));
        return dispute && !dispute->slashed.is_zero();
    });
}

Status settle_and_claim(const Layout& layout, const contracts::Deployment& deployment,
                        db::Database& database, const WaitLimits& limits) {
    GYM_TRY(const auto reader, open_account(layout, kDeployer));
    const contracts::RewardsDistributor distributor(deployment.distributor);
    GYM_CHECK(wait_until("the last payout root", limits, [&]() -> Result<bool> {
        GYM_TRY(const auto root, distributor.active_root(reader->client()));
        return database.transact([&](db::Transaction& tx) { return is_settled(tx, root); },
                                 {.read_only = true});
    }));
    std::vector<std::string> earners = layout.worker_names();
    earners.emplace_back(kVerifier);
    earners.emplace_back(kProvider);
    for (const std::string& holder : earners)
        GYM_CHECK(claim_for(layout, deployment, database, holder));
    return {};
}

}  // namespace gym::devnet
