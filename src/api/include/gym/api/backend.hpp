#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/api/http.hpp"
#include "gym/api/key_terms.hpp"
#include "gym/api/statement.hpp"
#include "gym/blob/blob_store.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/clock.hpp"
#include "gym/common/result.hpp"
#include "gym/ledger/proof.hpp"
#include "gym/protocol/delta_size.hpp"
#include "gym/protocol/job_cost.hpp"
#include "gym/records/order.hpp"
#include "gym/registry/dataset_manifests.hpp"
#include "gym/registry/dataset_names.hpp"
#include "gym/registry/dataset_parts.hpp"
#include "gym/registry/dataset_tokenizers.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/evaluations.hpp"
#include "gym/registry/feed.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/model_names.hpp"
#include "gym/registry/nodes.hpp"
#include "gym/registry/orders.hpp"
#include "gym/registry/prefixes.hpp"
#include "gym/registry/published.hpp"
#include "gym/registry/rounds.hpp"
#include "gym/registry/service_health.hpp"
#include "gym/registry/units.hpp"
#include "gym/rewards/claim_proof.hpp"
#include "gym/rewards/queries.hpp"

/// The interfaces that the handlers need: tests implement them in memory, gym-api with PostgreSQL.
/// Every method: thread-safe; @errors kUnavailable when the database does not answer.
namespace gym::api {

struct AccountView {
    Address address;
    Amount available;    ///< deposits and kept rewards, free for jobs
    Amount escrowed;     ///< locked in this owner's jobs
    Amount withdrawing;  ///< on its way back to the owner's wallet
    rewards::EarnerSummary rewards;
    std::vector<rewards::Receipt> last_credits;  ///< newest first, at most 20
};

struct JobCost {
    Amount spent;     ///< drawn by final units
    Amount reserved;  ///< pending compute credits of units that are not final
    Amount left;      ///< neither
    Amount refunded;  ///< returned to the owner after the job's end
    /// The most that assigned units may still cost: reserved, data, verification, bonus and fee.
    /// Absent until the network's services have published the rates.
    std::optional<Amount> committed = {};
};

/// A job's payments by kind of credit.
struct JobBill {
    Digest job_id;
    Amount spent;  ///< what left its escrow for credits: the sum of all posted ones
    std::vector<rewards::KindTotal> kinds;
};

/// Units of a job that have not ended, of all kinds.
struct OpenUnits {
    std::uint64_t count = 0;
    std::uint64_t in_window = 0;          ///< accepted: final at the end of their challenge windows
    std::optional<UnixMs> window_end_ms;  ///< the last of these ends
};

struct JobView {
    registry::Job job;
    std::vector<registry::StoredOrder> orders;  ///< of its owner, as they came
    JobCost cost;
    OpenUnits open_units;
    std::vector<registry::Round> rounds;                             ///< ascending
    std::vector<std::uint64_t> kept_rounds;                          ///< registry::kept_rounds()
    std::map<std::uint64_t, registry::EvaluationState> evaluations;  ///< by round
    std::vector<registry::Unit> faults;          ///< units disputed, rejected or slashed
    std::map<std::string, std::uint64_t> units;  ///< state -> train units
    std::vector<registry::JobDataPart> data;     ///< its providers, if its dataset is a mix
};

/// A verifier's report, without what is not public: its records, trace and salt.
struct ReportView {
    std::uint32_t draw = 0;
    Address verifier;
    UnixMs committed_at_ms = 0;
    std::optional<UnixMs> revealed_at_ms;
    std::optional<bool> equal;  ///< known once revealed
    bool accepted = false;
};

struct UnitView {
    registry::Unit unit;
    std::vector<registry::UnitEventRow> history;  ///< ascending
    std::vector<ReportView> reports;
};

/// A round and the coordinator's signed commitments to its own units.
struct RoundView {
    registry::Round round;
    std::optional<Bytes> aggregate, evaluation;
};

/// The chain and the addresses of the contracts.
struct Network {
    std::uint64_t chain_id = 0;
    Address token;
    Address escrow;
    Address distributor;
    Address commitment_log;
    Address stake;
    Address dispute_game;
};

/// The fee on top of work, and the bound on a job's costs.
struct NetworkTerms {
    rewards::PublishedFee fee;
    /// The larger of the rates of coordinator and gym-rewards; absent until both are published.
    std::optional<protocol::CostRates> bound = {};
    /// The coordinator's; absent until it has published them.
    std::optional<protocol::SizeLimits> sizes = {};
    /// How long after its draw a unit's fault can be taken to the chain; absent: not published.
    std::optional<std::int64_t> dispute_window_ms = {};
};

/// What jobs pay, of whichever visibility.
struct Market {
    std::uint64_t jobs = 0;               ///< the newest, at most 100
    std::optional<Amount> wei_per_pflop;  ///< their median; absent without any
    struct Paid {
        std::optional<Digest> job;  ///< absent: it is not public
        Amount wei_per_pflop;
    };
    std::optional<Paid> paid;  ///< the median by what was trained; absent: nothing was
    // Of all jobs that run and have rounds left to train: they share the workers.
    std::uint64_t running = 0;
    std::uint64_t slots_running = 0;
    Amount least_wei_per_pflop = {};  ///< a job that pays less is refused
};

/// Numbers for /metrics that only the database knows.
struct Gauges {
    std::map<std::string, std::uint64_t> jobs;   ///< by status
    std::map<std::string, std::uint64_t> units;  ///< by state
    std::uint64_t workers_live = 0;
    std::uint64_t verifiers_live = 0;
    std::uint64_t nodes_excluded = 0;
    std::uint64_t blobs_refused = 0;  ///< private blobs, to nodes without a task that needs them
    std::map<std::string, std::uint64_t> rounds;  ///< by state
    std::uint64_t round_open_s = 0;               ///< age of the oldest round that is not closed
    std::uint64_t unit_events_waiting = 0;        ///< that gym-rewards has not booked
    std::uint64_t payout_epoch = 0;               ///< the newest that was closed
    std::uint64_t payout_under_way_s = 0;  ///< age of an epoch on its way to the chain; 0: none
    bool payout_problem = false;           ///< the chain refuses a step of it
    std::optional<bool> books_equal;       ///< contracts against ledger; absent: never compared
    std::map<std::string, std::uint64_t> transactions_open;     ///< by service
    std::map<std::string, std::uint64_t> transaction_oldest_s;  ///< age, by service
    std::map<std::string, std::uint64_t> finalized_block;       ///< by service that follows
};

class Queries {
  public:
    virtual ~Queries() = default;
    virtual Result<AccountView> account(const Address& address) = 0;
    virtual Result<std::vector<registry::Node>> nodes(const registry::NodeFilter& filter) = 0;
    virtual Result<registry::Node> node(const Address& address) = 0;
    virtual Result<std::vector<registry::Job>> jobs(const registry::JobFilter& filter) = 0;
    virtual Result<JobView> job(const Digest& id) = 0;
    /// The same, where the viewer may see the job's model. @errors kNotFound, as job(), elsewhere.
    virtual Result<JobView> job_of_model(const Digest& id, const registry::Viewer& viewer) = 0;
    /// What the coordinator stored under a blob's root, as it is. @errors kNotFound, kIo.
    virtual Result<std::unique_ptr<const blob::BlobReader>> open_blob(const Digest& root) = 0;
    /// @errors kNotFound.
    virtual Result<JobBill> bill(const Digest& id) = 0;
    virtual Result<std::vector<registry::Unit>> units(const registry::UnitFilter& filter) = 0;
    virtual Result<UnitView> unit(const Digest& id) = 0;
    /// Every credit of a unit. @errors kNotFound.
    virtual Result<std::vector<rewards::Receipt>> unit_receipts(const Digest& id) = 0;
    virtual Result<std::vector<registry::Dataset>> datasets(
        const registry::DatasetFilter& filter) = 0;
    // Datasets that the viewer may not see are to it as if they did not exist.
    /// @errors kNotFound.
    virtual Result<registry::Dataset> dataset(const Digest& root,
                                              const registry::Viewer& viewer) = 0;
    virtual Result<std::optional<registry::DatasetTokenizer>> dataset_tokenizer(
        const Digest& dataset) = 0;
    virtual Result<std::optional<registry::DatasetManifest>> dataset_manifest(
        const Digest& dataset) = 0;
    /// @errors kNotFound.
    virtual Result<registry::DatasetVersion> dataset_version(
        const registry::DatasetReference& reference, const registry::Viewer& viewer) = 0;
    /// Of a name, newest first. @errors kNotFound for a name without any.
    virtual Result<std::vector<registry::DatasetVersion>> dataset_versions(
        const std::string& name, const registry::Viewer& viewer) = 0;
    // The same with versions of models.
    /// @errors kNotFound.
    virtual Result<registry::ModelVersion> model_version(const registry::ModelReference& reference,
                                                         const registry::Viewer& viewer) = 0;
    /// Of a name, newest first. @errors kNotFound for a name without any.
    virtual Result<std::vector<registry::ModelVersion>> model_versions(
        const std::string& name, const registry::Viewer& viewer) = 0;
    virtual Result<std::vector<registry::ModelVersion>> models(
        const registry::ModelFilter& filter) = 0;
    /// The evaluations that datasets are measured with, newest first.
    virtual Result<std::vector<registry::Evaluation>> evaluations(std::uint32_t limit) = 0;
    /// @errors kNotFound.
    virtual Result<registry::Evaluation> evaluation(const Digest& id) = 0;
    /// @errors kNotFound.
    virtual Result<RoundView> round(const Digest& job_id, std::uint64_t round) = 0;
    virtual Result<std::vector<registry::PublishedCommitment>> commitments(
        const Digest& job_id, std::uint64_t round, const registry::Page& page) = 0;
    virtual Result<std::vector<registry::PublishedReport>> reports(const Digest& job_id,
                                                                   std::uint64_t round,
                                                                   const registry::Page& page) = 0;
    virtual Result<std::vector<registry::Prefix>> prefixes(const Digest& job_id,
                                                           std::uint64_t round,
                                                           const registry::Page& page) = 0;
    /// Challenges whose deadlines are over. @errors kNotFound for an unknown node.
    virtual Result<std::vector<protocol::PublishedChallenge>> challenges(
        const Address& node, UnixMs from_ms, UnixMs to_ms, const registry::Page& page) = 0;
    /// @errors kNotFound until gym-rewards has published its fee.
    virtual Result<NetworkTerms> terms() = 0;
    /// Addresses of the network's servers of public blobs.
    virtual Result<std::vector<std::string>> mirrors() = 0;
    virtual Result<Market> market() = 0;
    /// The arguments of RewardsDistributor.claim(). @errors kNotFound for an address that the
    /// active root does not pay.
    virtual Result<rewards::ClaimProof> proof(const Address& earner) = 0;
    /// By a credit's or a unit's id. @errors kNotFound, kMalformed.
    virtual Result<rewards::Receipt> receipt(std::string_view id) = 0;
    /// For an owner of one of its accounts, or of the job that one belongs to. @errors kNotFound;
    /// kPermissionDenied for anybody else; kConflict if no seal covers it yet.
    virtual Result<ledger::TransferProof> transfer_proof(const Address& reader,
                                                         const ledger::TransferId& id) = 0;
    /// Transfers of an address's accounts and of the escrows of its jobs, newest first.
    virtual Result<std::vector<StatementLine>> statement(const StatementFilter& filter) = 0;
    virtual Result<std::vector<rewards::PayoutEpoch>> epochs(std::uint32_t limit) = 0;
    virtual Result<std::string> epoch_file(std::uint64_t epoch) = 0;
    virtual Result<Gauges> gauges() = 0;
    /// Whether the database answers.
    virtual Status ping() = 0;
    /// How the other services are, as they tell of themselves.
    virtual Result<std::vector<registry::ServiceHealth>> services() = 0;
};

struct Submission {
    Address owner;
    std::string idempotency_key;
    std::string spec_yaml;
    bool again = false;              ///< submit even if a job with the same text is running
    records::OrderSeal seal = {};    ///< of the job's order, whose nonce follows from the key
    records::OrderTerms terms = {};  ///< of that order: checked before the text is read
    std::string key_id = {};         ///< of the API key that brings it: its limit counts
};
struct Submitted {
    registry::Job job;
    bool replayed = false;  ///< the same request was answered before
};

/// A token file and the terms under which its owner offers it.
struct DatasetOffer {
    Address owner;
    std::string name;                             ///< for people, 1 to 128 bytes
    std::string licence;                          ///< an SPDX license expression
    Amount price_wei_per_mtoken;                  ///< per million tokens that final units consume
    std::optional<Digest> root = {};              ///< refused unless the file has this one
    std::optional<registry::Access> access = {};  ///< absent: registry::default_visibility()
    ByteView file = {};                           ///< blob::Dataset::encode()
    /// In the place of `file`: a complete upload of the owner, by the root of its blob.
    std::optional<Digest> upload = {};
};
struct AddedDataset {
    registry::Dataset dataset;
    bool is_new = false;
};

/// Weights that their owner registers under a name: uploads, or what a job trained.
struct ModelOffer {
    Address owner;
    registry::ModelReference reference;
    std::optional<Digest> state = {};             ///< root of an uploaded base state
    std::optional<Digest> program = {};           ///< uploaded blob: the train program's bytes
    std::optional<Digest> tokenizer = {};         ///< uploaded blob: tokenizer::encode_bundle()
    std::optional<Digest> job = {};               ///< in the place of the three
    std::optional<std::uint64_t> round = {};      ///< of the job; absent: the newest
    std::string licence;                          ///< an SPDX license expression
    std::optional<registry::Access> access = {};  ///< absent: registry::default_visibility()
};

struct Funding {
    Address owner;
    Digest job_id;
    Amount amount;
    std::string idempotency_key;
    records::OrderSeal seal = {};  ///< of the funding's order, whose nonce follows from the key
    std::string key_id = {};       ///< of the API key that brings it: its limit counts
};

class Submissions {
  public:
    virtual ~Submissions() = default;
    /// Checks the job and its owner's order and stores both with the idempotency key, in one
    /// transaction; gym-rewards checks the order again and locks the budget. The same request
    /// again, also under a later order, is answered with the stored job.
    /// @errors kMismatch (an order for another network); kPermissionDenied (not signed by the
    /// owner, or weights of another owner's job); kInvalidArgument (an expired order);
    /// kInvalidArgument, kMalformed (the spec); kNotFound (its dataset or weights); all tensors of
    /// the weights that do not fit, as engine::Differences; kInsufficientFunds; kPermissionDenied
    /// (the API key's limit); kConflict (the key was used with another request, or the dataset
    /// costs more than the job's max_data_price, or the owner's job with the same text is running).
    virtual Result<Submitted> submit_job(const Submission& submission) = 0;
    /// @errors kNotFound, kPermissionDenied (another owner's job), kConflict (it has ended).
    virtual Result<registry::Job> request_job(const Address& owner, const Digest& id,
                                              registry::JobRequest request) = 0;
    /// Orders more of the owner's money for a job: gym-rewards locks it, raises the budget and
    /// resumes a job that paused for want of it. The same request again adds nothing. @errors as
    /// request_job; of the order as submit_job; kInsufficientFunds; kConflict (the key was used
    /// with another amount).
    virtual Result<registry::Job> fund_job(const Funding& funding) = 0;
    /// Keeps a token file and registers it with its novelty against all that was registered
    /// before. A root is registered once: an owner that sends it again, under any name, gets the
    /// existing record.
    /// @errors kMalformed, kOutOfRange (the file); kMismatch (another root); kInvalidArgument (name
    /// licence, or a licence that contradicts the visibility); kOutOfRange (the price); kConflict
    /// (it belongs to another owner, or was registered with other terms or another visibility).
    virtual Result<AddedDataset> add_dataset(const DatasetOffer& offer) = 0;
    /// Keeps the files of a dataset's tokenizer. @param files checked, tokenizer::encode_bundle().
    /// @errors kConflict (the dataset has others).
    virtual Result<registry::AddedTokenizer> add_dataset_tokenizer(const Digest& dataset,
                                                                   ByteView files) = 0;
    /// Keeps a dataset's manifest, a complete upload of the dataset's owner, which is read once.
    /// @errors kNotFound (no such upload); kMalformed, kMismatch (it is not this dataset's);
    /// kOutOfRange (its size); kConflict (the dataset has another).
    virtual Result<registry::AddedManifest> add_dataset_manifest(const registry::Dataset& dataset,
                                                                 const Digest& upload) = 0;
    /// As registry::name_dataset().
    virtual Result<registry::NamedDataset> name_dataset(const Address& owner,
                                                        const registry::DatasetReference& reference,
                                                        const Digest& root) = 0;
    /// As registry::name_model(), after taking over what was uploaded.
    /// @errors kNotFound (an upload, job or round of the owner); kInvalidArgument (the licence,
    /// neither uploads nor a job); kMalformed (program, tokenizer); all tensors of the state that
    /// are not the program's, as engine::Differences.
    virtual Result<registry::NamedModel> name_model(const ModelOffer& offer) = 0;
    /// As registry::set_model_access(). @return the version as its owner sees it now.
    virtual Result<registry::ModelVersion> set_model_access(
        const Address& owner, const registry::ModelReference& reference,
        const registry::Access& access) = 0;
    /// As registry::set_dataset_access(). @return the dataset as its owner sees it now.
    virtual Result<registry::Dataset> set_dataset_access(const Address& owner, const Digest& root,
                                                         const registry::Access& access) = 0;
    /// As registry::set_job_access().
    virtual Result<registry::Job> set_job_access(const Address& owner, const Digest& id,
                                                 const registry::Access& access) = 0;
};

/// A mix of registered datasets that somebody asks for.
struct MixOrder {
    struct Part {
        std::string dataset;           ///< a root, NAME or NAME@VERSION
        std::uint64_t weight_ppm = 0;  ///< a share of the sum of all
    };
    Address owner;  ///< who asks
    std::vector<Part> parts;
    std::uint64_t tokens = 0;  ///< 0: as many as the shares allow
    bool best_effort = false;  ///< accepts shares that are not those that were asked for
};
enum class MixState : std::uint8_t { kWaiting, kMixing, kMade };
[[nodiscard]] std::string_view to_string(MixState state) noexcept;
struct MixProgress {
    MixState state = MixState::kWaiting;
    std::optional<registry::Dataset> dataset = {};  ///< once it is made
};

/// Makes mixes, one after the other, apart from the requests: asking again tells how far it is. A
/// mix is a pure function of the order's parts, weights and options, so everybody who asks for the
/// same gets the same dataset, and one that was forgotten is made again.
class Mixes {
  public:
    virtual ~Mixes() = default;
    /// @errors kNotFound (a part); kPermissionDenied (a part whose licence leaves training to its
    /// owner); kInvalidArgument (fewer than two parts or too many, one twice, one that is a mix
    /// itself, other tokenizers, shares that cannot be met); kOutOfRange (a mix that is too large);
    /// kConflict (the tokens are registered as another dataset); kUnavailable (too many mixes wait,
    /// or another one of this owner does); what went wrong when it was made, once.
    virtual Result<MixProgress> mix(const MixOrder& order) = 0;
};

/// A blob that its owner sends in parts, before a job names it.
struct Upload {
    Digest root;
    std::uint64_t size_bytes = 0;
    std::uint64_t received_bytes = 0;
    bool complete = false;             ///< all bytes are there and hash to `root`
    std::optional<Digest> state_root;  ///< of a complete blob that is a state
    UnixMs expires_at_ms = 0;          ///< forgotten then, unless more is sent
};

/// Where a request's body belongs in a blob.
struct UploadPart {
    Address owner;
    Digest root;                          ///< of the whole blob
    std::uint64_t size_bytes = 0;         ///< of the whole blob
    std::optional<std::uint64_t> offset;  ///< absent: the request only asks to check the blob
    std::uint64_t length_bytes = 0;
};

class UploadSink : public BodySink {
  public:
    /// After the part's last byte. Checks a blob of which this was the last part.
    /// @errors kMismatch, kMalformed, kInvalidArgument: the blob is not what its root says, or a
    /// state that no job can begin from; it is removed. kUnavailable: another one is being checked.
    [[nodiscard]] virtual Result<Upload> finish() = 0;
};

/// Uploads of one owner are not seen by others, not even by who knows a root.
class Uploads {
  public:
    virtual ~Uploads() = default;
    /// Room for a part; what of it arrives is kept, also if the rest never does.
    /// @errors kOutOfRange (an absurd size, the owner's quota, a full disk); kConflict (a part that
    /// does not begin where the upload ends, another size than before, a complete upload, or
    /// another request that sends the same blob).
    virtual Result<std::shared_ptr<UploadSink>> begin(const UploadPart& part) = 0;
    /// @errors kNotFound.
    virtual Result<Upload> upload(const Address& owner, const Digest& root) = 0;
    /// Forgets an upload; a job that began from it keeps its weights. @errors kNotFound.
    virtual Result<Upload> forget(const Address& owner, const Digest& root) = 0;
};

class Keys {
  public:
    virtual ~Keys() = default;
    /// @errors kUnauthenticated, also for a key that has expired or was revoked.
    virtual Result<KeyHolder> authenticate(std::string_view key) = 0;
};

}  // namespace gym::api
