#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gym/api/backend.hpp"
#include "gym/api/turns.hpp"
#include "gym/api/uploads.hpp"
#include "gym/blob/blob_store.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/function_ref.hpp"
#include "gym/db/database.hpp"
#include "gym/registry/dataset_quota.hpp"
#include "gym/registry/model_names.hpp"
#include "gym/rewards/claim_proof.hpp"

namespace gym::api {

/// The backend on PostgreSQL (role gym_api; schema api, sql/migrations/0050_api.sql). References
/// must outlive it. When the database is gone, calls fail with kUnavailable after `give_up_after`.
class PostgresBackend final : public Queries, public Submissions, public Keys {
  public:
    struct Options {
        std::string asset;              ///< ledger::erc20_asset() of the network's token
        records::OrderNetwork network;  ///< that orders must be signed for
        std::chrono::milliseconds give_up_after{2'000};
        std::int64_t node_live_ms = 30'000;
        /// Usefulness of datasets that are not measured yet (docs/REWARDS.md, "Usefulness").
        std::uint32_t usefulness_default_ppm = 500'000;
        registry::DatasetQuota dataset_quota = {};  ///< of each owner
        registry::ModelQuota model_quota = {};      ///< of each owner
        /// Of a token file; more than a body may have can be uploaded.
        std::uint64_t dataset_bytes_max = std::uint64_t{256} << 20;
        Amount price_per_pflop_min;  ///< a job that pays less is refused
        /// Of PostgresUploads; absent: no job can begin from uploaded weights.
        std::optional<UploadFiles> uploads = {};
    };
    PostgresBackend(db::Database& database, blob::BlobStore& blobs, const Clock& clock,
                    Options options);

    Result<AccountView> account(const Address& address) override;
    Result<std::vector<registry::Node>> nodes(const registry::NodeFilter& filter) override;
    Result<registry::Node> node(const Address& address) override;
    Result<std::vector<registry::Job>> jobs(const registry::JobFilter& filter) override;
    Result<JobView> job(const Digest& id) override;
    Result<JobView> job_of_model(const Digest& id, const registry::Viewer& viewer) override;
    Result<std::unique_ptr<const blob::BlobReader>> open_blob(const Digest& root) override;
    Result<std::vector<registry::Unit>> units(const registry::UnitFilter& filter) override;
    Result<UnitView> unit(const Digest& id) override;
    Result<std::vector<rewards::Receipt>> unit_receipts(const Digest& id) override;
    Result<JobBill> bill(const Digest& id) override;
    Result<std::vector<registry::Dataset>> datasets(const registry::DatasetFilter& filter) override;
    Result<registry::Dataset> dataset(const Digest& root, const registry::Viewer& viewer) override;
    Result<std::optional<registry::DatasetManifest>> dataset_manifest(
        const Digest& dataset) override;
    Result<std::optional<registry::DatasetTokenizer>> dataset_tokenizer(
        const Digest& dataset) override;
    Result<registry::DatasetVersion> dataset_version(const registry::DatasetReference& reference,
                                                     const registry::Viewer& viewer) override;
    Result<std::vector<registry::DatasetVersion>> dataset_versions(
        const std::string& name, const registry::Viewer& viewer) override;
    Result<registry::ModelVersion> model_version(const registry::ModelReference& reference,
                                                 const registry::Viewer& viewer) override;
    Result<std::vector<registry::ModelVersion>> model_versions(
        const std::string& name, const registry::Viewer& viewer) override;
    Result<std::vector<registry::ModelVersion>> models(
        const registry::ModelFilter& filter) override;
    Result<std::vector<registry::Evaluation>> evaluations(std::uint32_t limit) override;
    Result<registry::Evaluation> evaluation(const Digest& id) override;
    Result<rewards::ClaimProof> proof(const Address& earner) override;
    Result<rewards::Receipt> receipt(std::string_view id) override;
    Result<ledger::TransferProof> transfer_proof(const Address& reader,
                                                 const ledger::TransferId& id) override;
    Result<std::vector<StatementLine>> statement(const StatementFilter& filter) override;
    Result<std::vector<rewards::PayoutEpoch>> epochs(std::uint32_t limit) override;
    Result<std::string> epoch_file(std::uint64_t epoch) override;
    Result<RoundView> round(const Digest& job_id, std::uint64_t round) override;
    Result<std::vector<registry::PublishedCommitment>> commitments(
        const Digest& job_id, std::uint64_t round, const registry::Page& page) override;
    Result<std::vector<registry::Prefix>> prefixes(const Digest& job_id, std::uint64_t round,
                                                   const registry::Page& page) override;
    Result<std::vector<registry::PublishedReport>> reports(const Digest& job_id,
                                                           std::uint64_t round,
                                                           const registry::Page& page) override;
    Result<std::vector<protocol::PublishedChallenge>> challenges(
        const Address& node, UnixMs from_ms, UnixMs to_ms, const registry::Page& page) override;
    Result<NetworkTerms> terms() override;
    Result<std::vector<std::string>> mirrors() override;
    Result<Market> market() override;
    Result<Gauges> gauges() override;
    Status ping() override;
    Result<std::vector<registry::ServiceHealth>> services() override;

    Result<Submitted> submit_job(const Submission& submission) override;
    Result<registry::Job> request_job(const Address& owner, const Digest& id,
                                      registry::JobRequest request) override;
    Result<registry::Job> fund_job(const Funding& funding) override;
    Result<AddedDataset> add_dataset(const DatasetOffer& offer) override;
    Result<registry::AddedTokenizer> add_dataset_tokenizer(const Digest& dataset,
                                                           ByteView files) override;
    Result<registry::AddedManifest> add_dataset_manifest(const registry::Dataset& dataset,
                                                         const Digest& upload) override;
    Result<registry::NamedDataset> name_dataset(const Address& owner,
                                                const registry::DatasetReference& reference,
                                                const Digest& root) override;
    Result<registry::NamedModel> name_model(const ModelOffer& offer) override;
    Result<registry::ModelVersion> set_model_access(const Address& owner,
                                                    const registry::ModelReference& reference,
                                                    const registry::Access& access) override;
    Result<registry::Dataset> set_dataset_access(const Address& owner, const Digest& root,
                                                 const registry::Access& access) override;
    Result<registry::Job> set_job_access(const Address& owner, const Digest& id,
                                         const registry::Access& access) override;

    Result<KeyHolder> authenticate(std::string_view key) override;

  private:
    /// @errors kNotFound; kUnavailable where gym-api takes none.
    Result<std::unique_ptr<const blob::BlobReader>> open_upload(const Address& owner,
                                                                const Digest& blob);
    /// @param blob the root of the file's bytes. @param store keeps them.
    Result<AddedDataset> register_file(const DatasetOffer& offer, const Digest& blob,
                                       const blob::BlobReader& file, FunctionRef<Status()> store);

    db::Database& database_;
    blob::BlobStore& blobs_;
    const Clock& clock_;
    Options options_;
    /// One uploaded file is read at a time: it takes the disk anyhow.
    std::unique_ptr<Turns> reading_ = std::make_unique<Turns>();
    std::unique_ptr<rewards::PayoutTreeCache> payout_trees_ =
        std::make_unique<rewards::PayoutTreeCache>();
};

/// A new API key of `owner`, shown once: only its hash is stored. @errors kUnavailable.
Result<std::string> create_key(db::Database& database, const Address& owner,
                               const std::string& label, UnixMs now_ms, const KeyTerms& terms = {});

struct KeyInfo {
    std::string id;  ///< the key's public part
    Address owner;
    std::string label;
    UnixMs created_at_ms = 0;
    std::optional<UnixMs> revoked_at_ms;
    KeyTerms terms;
    Amount spent_wei;  ///< that its orders came to, refused ones included
};
Result<std::vector<KeyInfo>> list_keys(db::Database& database);
/// @errors kNotFound.
Status revoke_key(db::Database& database, const std::string& id, UnixMs now_ms);

}  // namespace gym::api
