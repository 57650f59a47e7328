#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "gym/api/api.hpp"
#include "gym/engine/state.hpp"
#include "sample_statement.hpp"
#include "transfer_proof.hpp"

namespace gym::api::testing {

inline constexpr const char* kGoodKey = "gym_good";      ///< of address 1
inline constexpr const char* kOtherKey = "gym_other";    ///< of address 2
inline constexpr const char* kWalletKey = "gym_wallet";  ///< of FakeBackend::wallet

/// The header Gym-Order of a request whose signature nobody checks.
inline const std::string kSealText =
    R"({"chain_id":1,"escrow":"0x00000000000000000000000000000000000000ee","expiry":30,)"
    R"("signature":"0x)" +
    std::string(130, '1') + "\"}";
/// The same of a job, with what its order says of the job's text.
inline const std::string kJobSealText =
    kSealText.substr(0, kSealText.size() - 1) +
    R"(,"datasets":["0x0000000000000000000000000000000000000000000000000000000000000007"],)"
    R"("budget_wei":"5","price_wei_per_pflop":"6","max_data_price_wei":"0"})";

inline Address address_of(std::uint8_t last) {
    Address out;
    out.data.back() = last;
    return out;
}
inline Digest digest_of(std::uint8_t last) {
    Digest out;
    out.data.back() = last;
    return out;
}

/// Answers from memory; `down` stands for a database that does not answer.
class FakeBackend final : public Queries, public Submissions, public Keys, public Uploads {
  public:
    bool down = false;
    std::vector<registry::ServiceHealth> health;
    bool ended = false;                              ///< jobs have completed
    std::function<void(JobView&)> edit_job;          ///< makes job() answer something else
    std::function<void(RoundView&)> edit_round;      ///< the same of round()
    std::function<void(AccountView&)> edit_account;  ///< and of account()
    std::map<Digest, registry::Job> stored_jobs;
    registry::NodeFilter last_node_filter;
    int submissions = 0;
    Amount available{5}, escrowed, withdrawing;  ///< of every account
    std::optional<rewards::ClaimProof> payout;   ///< what everybody may claim
    std::vector<rewards::ClaimProof> outdated;   ///< proofs that are given before it, last first

    registry::Job sample_job(std::uint8_t id) const {
        registry::Job job;
        job.id = digest_of(id);
        job.owner = address_of(1);
        job.name = "sample";
        job.budget_wei = Amount(1000);
        job.access.visibility = registry::Visibility::kPublic;
        job.artifacts = registry::JobArtifacts{};
        if (ended) {
            job.status = registry::JobStatus::kCompleted;
            job.ended_at_ms = 1'000;
        }
        return job;
    }
    registry::Unit sample_unit() const {
        registry::Unit unit;
        unit.id = digest_of(7);
        unit.worker = address_of(2);
        unit.status.state = protocol::UnitState::kRejected;
        unit.reason_code = "step_differs";
        unit.reason = "unit 2 of round 3: step 12 differs from re-execution";
        return unit;
    }

    Result<AccountView> account(const Address& address) override {
        GYM_CHECK(ping());
        AccountView view;
        view.address = address;
        view.available = available;
        view.escrowed = escrowed;
        view.withdrawing = withdrawing;
        view.rewards.pending = Amount(7);
        view.last_credits.push_back(sample_receipt());
        if (edit_account) edit_account(view);
        return view;
    }
    Result<std::vector<registry::Node>> nodes(const registry::NodeFilter& filter) override {
        GYM_CHECK(ping());
        last_node_filter = filter;
        return std::vector<registry::Node>{sample_node()};
    }
    Result<registry::Node> node(const Address&) override { return sample_node(); }
    registry::JobFilter last_job_filter;
    Result<std::vector<registry::Job>> jobs(const registry::JobFilter& filter) override {
        GYM_CHECK(ping());
        last_job_filter = filter;
        return std::vector<registry::Job>{sample_job(1)};
    }
    Result<JobView> job(const Digest& id) override {
        if (id != digest_of(1)) return fail(ErrorCode::kNotFound, "no job " + id.hex());
        JobView view;
        view.job = sample_job(1);
        registry::Round round;
        round.validation_loss = 2.5;
        view.rounds = {round};
        view.faults = {sample_unit()};
        view.data = {{.dataset = digest_of(5), .part_tokens = 7, .mix_tokens = 10}};
        view.units = {{"final", 3}};
        if (edit_job) edit_job(view);
        return view;
    }
    Result<JobView> job_of_model(const Digest& id, const registry::Viewer& viewer) override {
        GYM_TRY(JobView view, job(id));
        if (!viewer.may_see(view.job.access, view.job.owner))
            return fail(ErrorCode::kNotFound, "no job " + id.hex());
        return view;
    }
    std::optional<Digest> lost;  ///< a blob that is not there
    Result<std::unique_ptr<const blob::BlobReader>> open_blob(const Digest& root) override {
        if (root == lost) return fail(ErrorCode::kNotFound, "no blob " + root.hex());
        if (blobs.has(root).value()) return blobs.open_reader(root);
        // A state of no tensors.
        const Digest empty = blobs.put(engine::encode_state({})).value();
        return blobs.open_reader(empty);
    }
    blob::MemoryStore blobs;
    Result<JobBill> bill(const Digest& id) override {
        GYM_CHECK(ping());
        return JobBill{id,
                       Amount(30),
                       {{rewards::CreditKind::kCompute, 2, Amount(20), Amount(1)},
                        {rewards::CreditKind::kData, 1, Amount(10)}}};
    }
    Result<std::vector<rewards::Receipt>> unit_receipts(const Digest&) override {
        return std::vector<rewards::Receipt>{sample_receipt(), sample_receipt()};
    }
    Result<std::vector<registry::Unit>> units(const registry::UnitFilter&) override {
        return std::vector<registry::Unit>{sample_unit()};
    }
    Result<UnitView> unit(const Digest&) override {
        UnitView view;
        view.unit = sample_unit();
        view.history = {{}};
        view.reports = {{}};
        return view;
    }
    Result<std::vector<registry::Dataset>> datasets(
        const registry::DatasetFilter& filter) override {
        last_dataset_filter = filter;
        return std::vector<registry::Dataset>{sample_dataset()};
    }
    registry::DatasetFilter last_dataset_filter;
    Result<registry::Dataset> dataset(const Digest& root, const registry::Viewer& viewer) override {
        GYM_CHECK(ping());
        if (unknown_dataset) return fail(ErrorCode::kNotFound, "no dataset " + root.hex());
        registry::Dataset out = sample_dataset();
        out.root = root;
        if (edit_dataset) edit_dataset(out);
        if (!viewer.may_see(out.access, out.owner))
            return fail(ErrorCode::kNotFound, "no dataset " + root.hex());
        return out;
    }
    Result<std::optional<registry::DatasetTokenizer>> dataset_tokenizer(
        const Digest& dataset) override {
        const auto found = tokenizers.find(dataset);
        if (found == tokenizers.end()) return std::optional<registry::DatasetTokenizer>();
        return std::optional(found->second);
    }
    Result<registry::AddedTokenizer> add_dataset_tokenizer(const Digest& dataset,
                                                           ByteView files) override {
        GYM_TRY(const Digest blob, blobs.put(files));
        const auto [at, is_new] = tokenizers.try_emplace(
            dataset, registry::DatasetTokenizer{dataset, blob, files.size(), 3});
        return registry::AddedTokenizer{at->second, is_new};
    }
    Result<std::optional<registry::DatasetManifest>> dataset_manifest(
        const Digest& dataset) override {
        const auto found = manifests.find(dataset);
        if (found == manifests.end()) return std::optional<registry::DatasetManifest>();
        return std::optional(found->second);
    }
    Result<registry::AddedManifest> add_dataset_manifest(const registry::Dataset& dataset,
                                                         const Digest& upload) override {
        GYM_TRY(const Digest blob, blobs.put(as_bytes("{}\n")));
        const auto [at, is_new] = manifests.try_emplace(
            dataset.root, registry::DatasetManifest{dataset.root, upload, blob, 3, 3});
        return registry::AddedManifest{at->second, is_new};
    }
    std::map<Digest, registry::DatasetManifest> manifests;
    std::map<Digest, registry::DatasetTokenizer> tokenizers;
    bool unknown_dataset = false;
    std::function<void(registry::Dataset&)> edit_dataset;
    Result<registry::DatasetVersion> dataset_version(const registry::DatasetReference& reference,
                                                     const registry::Viewer&) override {
        if (unknown_dataset) return fail(ErrorCode::kNotFound, "no name " + reference.name);
        return registry::DatasetVersion{reference.name, reference.version.value_or(3), digest_of(4),
                                        address_of(1), 1'000};
    }
    Result<std::vector<registry::DatasetVersion>> dataset_versions(
        const std::string& name, const registry::Viewer&) override {
        return std::vector<registry::DatasetVersion>{{name, 3, digest_of(4), address_of(1), 1'000}};
    }
    static registry::ModelVersion sample_model() {
        registry::ModelVersion out;
        out.name = "zoo-llama";
        out.version = 2;
        out.owner = address_of(1);
        out.state = {digest_of(20), digest_of(21), 12};
        out.program = {digest_of(22), digest_of(23), 34};
        out.tokenizer = digest_of(24);
        out.tokenizer_blob = digest_of(25);
        out.licence = "Apache-2.0";
        out.access.visibility = registry::Visibility::kPublic;
        return out;
    }
    Result<registry::ModelVersion> model_version(const registry::ModelReference& reference,
                                                 const registry::Viewer& viewer) override {
        registry::ModelVersion out = sample_model();
        if (edit_model) edit_model(out);
        if (!viewer.may_see(out.access, out.owner))
            return fail(ErrorCode::kNotFound, "no name " + reference.name);
        return out;
    }
    std::function<void(registry::ModelVersion&)> edit_model;
    Result<std::vector<registry::ModelVersion>> model_versions(const std::string&,
                                                               const registry::Viewer&) override {
        return std::vector<registry::ModelVersion>{sample_model()};
    }
    Result<std::vector<registry::ModelVersion>> models(
        const registry::ModelFilter& filter) override {
        last_model_filter = filter;
        return std::vector<registry::ModelVersion>{sample_model()};
    }
    registry::ModelFilter last_model_filter;
    Result<registry::NamedModel> name_model(const ModelOffer& offer) override {
        last_model_offer = offer;
        if (during_naming) during_naming();
        return registry::NamedModel{sample_model(), offer.reference.name != "known"};
    }
    ModelOffer last_model_offer;
    std::function<void()> during_naming;
    Result<registry::ModelVersion> set_model_access(const Address& owner,
                                                    const registry::ModelReference& reference,
                                                    const registry::Access& access) override {
        GYM_TRY(auto out, model_version(reference, registry::Viewer::account(owner)));
        if (out.owner != owner) return fail(ErrorCode::kPermissionDenied, "not yours");
        out.access = access;
        return out;
    }
    Result<std::vector<registry::Evaluation>> evaluations(std::uint32_t) override {
        GYM_CHECK(ping());
        registry::Evaluation retired = sample_evaluation();
        retired.retired = registry::Retirement{digest_of(11), digest_of(12), 9, 2'000};
        return std::vector<registry::Evaluation>{sample_evaluation(), retired};
    }
    Result<registry::Evaluation> evaluation(const Digest& id) override {
        GYM_CHECK(ping());
        registry::Evaluation out = sample_evaluation();
        out.id = id;
        return out;
    }
    Result<rewards::ClaimProof> proof(const Address& earner) override {
        if (!outdated.empty()) {
            const rewards::ClaimProof proof = outdated.back();
            outdated.pop_back();
            return proof;
        }
        if (payout) return *payout;
        if (earner != address_of(1)) return fail(ErrorCode::kNotFound, "nothing to claim");
        rewards::ClaimProof proof;
        proof.cumulative = Amount(11);
        proof.path = {{{digest_of(1), Amount(5)}, address_of(3)},
                      {{digest_of(2), Amount(6)}, address_of(4)}};
        return proof;
    }
    /// One transfer, of address 1; sealed or not.
    Result<ledger::TransferProof> transfer_proof(const Address& reader,
                                                 const ledger::TransferId& id) override {
        GYM_CHECK(ping());
        const ledger::TransferProof proof = sample_transfer_proof();
        if (id != proof.transfer.id) return fail(ErrorCode::kNotFound, "no transfer");
        if (reader != address_of(1)) return fail(ErrorCode::kPermissionDenied, "not yours");
        if (unsealed) return fail(ErrorCode::kConflict, "no seal covers the transfer yet");
        return proof;
    }
    bool unsealed = false;
    Result<std::vector<StatementLine>> statement(const StatementFilter& filter) override {
        GYM_CHECK(ping());
        last_statement = filter;
        if (during_statement) during_statement();
        return sample_page(filter);
    }
    std::function<void()> during_statement;
    StatementFilter last_statement;
    Result<rewards::Receipt> receipt(std::string_view) override { return sample_receipt(); }
    Result<std::vector<rewards::PayoutEpoch>> epochs(std::uint32_t) override {
        return std::vector<rewards::PayoutEpoch>{{}};
    }
    Result<std::string> epoch_file(std::uint64_t) override { return std::string("{}"); }
    Result<RoundView> round(const Digest& job_id, std::uint64_t number) override {
        GYM_CHECK(ping());
        RoundView view;
        view.round.job_id = view.round.record.job_id = job_id;
        view.round.round = view.round.record.round = number;
        view.round.beacon = digest_of(3);
        view.aggregate = Bytes{1, 2};
        if (edit_round) edit_round(view);
        return view;
    }
    Result<std::vector<registry::PublishedCommitment>> commitments(
        const Digest&, std::uint64_t, const registry::Page& page) override {
        last_page = page;
        return std::vector<registry::PublishedCommitment>{{0, digest_of(7), {1, 2, 255}}};
    }
    Result<std::vector<registry::PublishedReport>> reports(const Digest&, std::uint64_t,
                                                           const registry::Page& page) override {
        last_page = page;
        return std::vector<registry::PublishedReport>{{}};
    }
    Result<std::vector<registry::Prefix>> prefixes(const Digest&, std::uint64_t,
                                                   const registry::Page& page) override {
        last_page = page;
        registry::Prefix prefix;
        prefix.steps = 3;
        return std::vector<registry::Prefix>{prefix};
    }
    Result<std::vector<protocol::PublishedChallenge>> challenges(
        const Address&, UnixMs from_ms, UnixMs to_ms, const registry::Page& page) override {
        last_page = page;
        last_span = {from_ms, to_ms};
        return std::vector<protocol::PublishedChallenge>{{{digest_of(1), 1, 2}, {}, {}, false}};
    }
    registry::Page last_page;
    std::pair<UnixMs, UnixMs> last_span;
    Result<std::vector<std::string>> mirrors() override { return mirrors_named; }
    std::vector<std::string> mirrors_named;
    Result<NetworkTerms> terms() override {
        return NetworkTerms{{20'000, 500'000}, protocol::CostRates{2'500'000, 20'000}};
    }
    Result<Market> market() override {
        return Market{1, Amount(1'000), Market::Paid{digest_of(1), Amount(900)}};
    }
    Result<Gauges> gauges() override {
        GYM_CHECK(ping());
        Gauges gauges;
        gauges.jobs = {{"running", 2}};
        gauges.workers_live = 3;
        return gauges;
    }
    Status ping() override {
        if (down) return fail(ErrorCode::kUnavailable, "connection to 10.0.0.7 refused");
        return {};
    }
    Result<std::vector<registry::ServiceHealth>> services() override {
        GYM_CHECK(ping());
        return health;
    }

    Result<Submitted> submit_job(const Submission& submission) override {
        GYM_CHECK(ping());
        ++submissions;
        last_seal = submission.seal;
        last_terms = submission.terms;
        if (submission.spec_yaml == "poor")
            return fail(ErrorCode::kInsufficientFunds, "the budget is too large");
        if (submission.spec_yaml == "throw") throw std::runtime_error("unexpected");
        registry::Job job = sample_job(1);
        job.owner = submission.owner;
        return Submitted{job, submission.idempotency_key == "again"};
    }
    std::string last_funding_key;
    std::optional<Address> wallet;
    records::OrderSeal last_seal;
    records::OrderTerms last_terms;
    Result<registry::Job> request_job(const Address& owner, const Digest& id,
                                      registry::JobRequest) override {
        if (owner != address_of(1)) return fail(ErrorCode::kPermissionDenied, "not yours");
        registry::Job job = sample_job(1);
        job.id = id;
        return job;
    }
    Result<registry::Job> fund_job(const Funding& funding) override {
        if (funding.amount > Amount(1'000))
            return fail(ErrorCode::kInsufficientFunds, "the budget is more than what is available");
        registry::Job job = sample_job(1);
        job.id = funding.job_id;
        job.budget_wei = job.budget_wei.plus(funding.amount).value();
        last_funding_key = funding.idempotency_key;
        last_seal = funding.seal;
        return job;
    }
    Result<AddedDataset> add_dataset(const DatasetOffer& offer) override {
        registry::Dataset dataset = sample_dataset();
        dataset.owner = offer.owner;
        dataset.name = offer.name;
        dataset.licence = offer.licence;
        dataset.price_wei_per_mtoken = offer.price_wei_per_mtoken;
        dataset.tokens = offer.file.size();
        last_offer_root = offer.root;
        last_offer_access = offer.access;
        return AddedDataset{dataset, offer.name != "known"};
    }
    std::optional<Digest> last_offer_root;
    std::optional<registry::Access> last_offer_access;
    Result<registry::Dataset> set_dataset_access(const Address& owner, const Digest& root,
                                                 const registry::Access& access) override {
        GYM_TRY(registry::Dataset out, dataset(root, registry::Viewer::account(owner)));
        if (out.owner != owner) return fail(ErrorCode::kPermissionDenied, "not yours");
        out.access = access;
        return out;
    }
    Result<registry::Job> set_job_access(const Address& owner, const Digest& id,
                                         const registry::Access& access) override {
        GYM_TRY(JobView view, job_of_model(id, registry::Viewer::account(owner)));
        if (view.job.owner != owner) return fail(ErrorCode::kPermissionDenied, "not yours");
        view.job.access = access;
        return view.job;
    }

    /// What uploads sent, one after the other, and the part that began last.
    std::string uploaded;
    UploadPart last_part;
    Result<std::shared_ptr<UploadSink>> begin(const UploadPart& part) override {
        GYM_CHECK(ping());
        if (part.offset.value_or(uploaded.size()) != uploaded.size())
            return fail(ErrorCode::kConflict, "continue at " + std::to_string(uploaded.size()));
        last_part = part;
        return std::shared_ptr<UploadSink>(std::make_shared<FakeSink>(*this));
    }
    Result<Upload> upload(const Address&, const Digest& root) override {
        GYM_CHECK(ping());
        return Upload{root, 5, uploaded.size(), uploaded.size() == 5, {}, 9};
    }
    Result<Upload> forget(const Address& owner, const Digest& root) override {
        GYM_TRY(const Upload before, upload(owner, root));
        uploaded.clear();
        return before;
    }

    Result<registry::NamedDataset> name_dataset(const Address& owner,
                                                const registry::DatasetReference& reference,
                                                const Digest& root) override {
        return registry::NamedDataset{
            {reference.name, reference.version.value_or(3), root, owner, 1'000},
            reference.name != "known"};
    }
    Result<KeyHolder> authenticate(std::string_view key) override {
        GYM_CHECK(ping());
        const auto holder = [](const Address& owner) {
            return KeyHolder{owner, "0123456789abcdef", KeyTerms().scopes};
        };
        if (key == kGoodKey) return holder(address_of(1));
        if (key == kOtherKey) return holder(address_of(2));
        if (key == kWalletKey && wallet) return holder(*wallet);
        return fail(ErrorCode::kUnauthenticated, "the API key is not valid");
    }

    static registry::Evaluation sample_evaluation() {
        registry::Evaluation out;
        out.id = digest_of(8);
        out.terms.vocabulary = 256;
        out.terms.steps = 40;
        out.terms.windows = 64;
        out.model_yaml = "batch: 8\n";
        out.before_bits = 0x40b1'0000;
        out.baseline_bits = 0x4010'0000;
        out.number = 1;
        return out;
    }
    static registry::Dataset sample_dataset() {
        registry::Dataset out;
        out.root = digest_of(4);
        out.name = "sample";
        out.licence = "CC0-1.0";
        out.tokens = 1'000;
        out.price_wei_per_mtoken = Amount(2'000'000);
        out.novelty_ppm = 900'000;
        out.usefulness_ppm = 500'000;
        out.quality_ppm = 450'000;
        out.nearest = registry::NearestDataset{digest_of(5), 100'000};
        out.measurement = registry::DatasetMeasurement{digest_of(8), digest_of(9), 0x40b1'0000,
                                                       0x4060'8000,  0x4010'0000,  1'500};
        out.number = 2;
        return out;
    }

    static rewards::Receipt sample_receipt() {
        rewards::Receipt receipt;
        receipt.credit.id = "00000000-0000-8000-8000-000000000000";
        receipt.credit.amount = Amount(3);
        return receipt;
    }

  private:
    class FakeSink final : public UploadSink {
      public:
        explicit FakeSink(FakeBackend& backend) : backend_(backend) {}
        Status write(ByteView piece) override {
            if (std::ranges::find(piece, '!') != piece.end())
                return fail(ErrorCode::kOutOfRange, "the disk is full");
            backend_.uploaded.append(piece.begin(), piece.end());
            return {};
        }
        Result<Upload> finish() override {
            return Upload{backend_.last_part.root,
                          backend_.last_part.size_bytes,
                          backend_.uploaded.size(),
                          backend_.uploaded.size() == backend_.last_part.size_bytes,
                          {},
                          9};
        }

      private:
        FakeBackend& backend_;
    };
    static registry::Node sample_node() {
        registry::Node node;
        node.address = address_of(9);
        node.profile.device = "cpu";
        node.last_seen_at_ms = 1'000;
        return node;
    }
};

/// Makes every mix at once: of the sample dataset and another one, or not at all.
class FakeMixes final : public Mixes {
  public:
    MixState state = MixState::kMade;
    MixOrder last_order;
    Result<MixProgress> mix(const MixOrder& order) override {
        last_order = order;
        if (state != MixState::kMade) return MixProgress{state};
        registry::Dataset out = FakeBackend::sample_dataset();
        out.parts = {{.root = digest_of(5), .tokens = 700, .weight_ppm = 700'000, .name = "a"},
                     {.root = digest_of(6), .tokens = 300, .weight_ppm = 300'000, .name = "b"}};
        return MixProgress{MixState::kMade, out};
    }
};

}  // namespace gym::api::testing
