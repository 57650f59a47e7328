#pragma once

#include <boost/json/fwd.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gym/blob/dataset.hpp"
#include "gym/client/records.hpp"
#include "gym/common/result.hpp"
#include "gym/protocol/uptime.hpp"
#include "gym/records/order.hpp"
#include "gym/registry/dataset_names.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/evaluations.hpp"
#include "gym/registry/model_names.hpp"
#include "gym/registry/prefixes.hpp"
#include "gym/registry/published.hpp"
#include "gym/registry/service_health.hpp"

namespace gym::client {

/// A larger dataset is sent in parts: gym-api takes no body of any size.
inline constexpr std::uint64_t kDatasetBodyBytes = std::uint64_t{64} << 20;

struct ApiOptions {
    std::string url;  ///< http(s)://host:port
    std::string key;  ///< of the API, for what needs one; may be empty
    /// How long an unavailable gym-api is asked again. Only calls that may be repeated are.
    std::chrono::milliseconds retry_for{0};
    std::uint64_t dataset_body_bytes = kDatasetBodyBytes;
};

struct DatasetTerms {
    std::string name;     ///< for people, 1 to 128 bytes
    std::string licence;  ///< an SPDX license expression
    Amount price_wei_per_mtoken;
    /// Absent: the network's default (registry::default_visibility).
    std::optional<registry::Access> access = {};
};

/// A mix of registered datasets.
struct MixRequest {
    struct Part {
        Digest root;
        std::uint64_t weight_ppm = 0;  ///< a share of the sum of all, in millionths of any unit
    };
    std::vector<Part> parts;
    std::uint64_t tokens = 0;  ///< 0: as many as the shares allow
    bool best_effort = false;  ///< accepts other shares
};

/// The bytes of a blob that is sent.
struct BlobSource {
    std::uint64_t size_bytes = 0;
    /// The bytes from `offset`, as many as asked for.
    std::function<Result<Bytes>(std::uint64_t offset, std::size_t size_bytes)> read;
};
/// `bytes` must outlive it.
[[nodiscard]] BlobSource source_of(ByteView bytes);
/// @errors kNotFound, kIo.
[[nodiscard]] Result<BlobSource> source_of(const std::filesystem::path& file);

using UploadProgress = std::function<void(std::uint64_t sent_bytes, std::uint64_t size_bytes)>;

inline constexpr std::uint32_t kPageItemsMax = 1'000;

/// A part of a list.
struct ListPage {
    std::string owner = {};     ///< an address; empty: everybody's
    std::uint32_t limit = 100;  ///< at most kPageItemsMax
    std::uint64_t offset = 0;
};

/// What may be downloaded of a model.
enum class ModelPart : std::uint8_t { kProgram, kState };

/// A piece of a part.
struct ModelPiece {
    Digest job;
    std::uint64_t round = 0;
    ModelPart part = ModelPart::kState;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;                              ///< 1 to kModelPieceBytesMax
    std::optional<registry::ModelReference> named = {};  ///< in the place of job and round
};
inline constexpr std::uint64_t kModelPieceBytesMax = std::uint64_t{8} << 20;

/// Weights that get a name: a state and a program that were uploaded, or what a job trained.
struct ModelTerms {
    std::string licence;                   ///< an SPDX license expression
    std::optional<Digest> state = {};      ///< state root
    std::optional<Digest> program = {};    ///< blob root
    std::optional<Digest> tokenizer = {};  ///< blob root of tokenizer::encode_bundle()
    std::optional<Digest> job = {};
    std::optional<std::uint64_t> round = {};      ///< absent: the newest
    std::optional<registry::Access> access = {};  ///< absent: registry::default_visibility()
};

/// A client of gym-api: one bounded request a call, TLS as http::Connection does it. Safe from many
/// threads at once.
/// @errors of every call: kInvalidArgument for another kind of URL; kUnavailable without an answer,
/// and for 502 to 504; kUnauthenticated, kPermissionDenied, kNotFound, kConflict,
/// kInsufficientFunds, kInvalidArgument by the answer's status, with the problem's title and
/// detail; kMalformed naming URL, member and what was expected there; else kInternal.
class ApiClient {
  public:
    explicit ApiClient(ApiOptions options);

    /// The services that told gym-api's database of themselves; all of them work.
    /// @errors kUnavailable also for a service that does not work, which is named.
    [[nodiscard]] Result<std::vector<registry::ServiceHealth>> health() const;
    [[nodiscard]] Result<Network> network() const;
    [[nodiscard]] Result<NetworkFee> fee() const;
    [[nodiscard]] Result<Market> market() const;
    /// All registered nodes of a role, ascending by address, live or not; follows pages.
    [[nodiscard]] Result<std::vector<Node>> nodes(records::NodeRole role) const;

    // Money.

    [[nodiscard]] Result<Answer<Account>> account(const Address& address) const;
    /// At most `limit` transfers before `before`; follows pages. Needs the key of the address.
    /// @errors also kMalformed for a statement that does not get older, or longer than requested.
    [[nodiscard]] Result<Statement> statement(const Address& address, std::uint64_t limit,
                                              std::optional<std::uint64_t> before) const;
    /// By its id, or the compute credit of a unit.
    [[nodiscard]] Result<Answer<rewards::Receipt>> receipt(const std::string& id) const;
    [[nodiscard]] Result<AnswerList<rewards::Receipt>> unit_credits(const std::string& unit) const;
    /// @errors kNotFound: no payout root on chain pays the earner.
    [[nodiscard]] Result<ClaimProof> claim_proof(const Address& earner) const;
    /// Byte for byte as published: its hash counts.
    [[nodiscard]] Result<std::string> epoch_file(std::uint64_t epoch) const;
    /// JSON for ledger::parse_proof(). Needs the key of a party.
    [[nodiscard]] Result<std::string> transfer_proof(const std::string& uuid) const;

    // Jobs.

    [[nodiscard]] Result<Answer<JobDetail>> job(const Digest& id) const;
    /// Newest first.
    [[nodiscard]] Result<AnswerList<Job>> jobs(const ListPage& page) const;
    [[nodiscard]] Result<Answer<JobBill>> bill(const Digest& job) const;
    /// The job's model after `round`; without one, after the newest that is aggregated. Needs the
    /// key of the job's owner.
    [[nodiscard]] Result<Answer<JobModel>> model(const Digest& job,
                                                 std::optional<std::uint64_t> round) const;
    /// Exactly the bytes of the piece, unchecked. @errors also kMalformed for more or less of them.
    [[nodiscard]] Result<std::string> model_piece(const ModelPiece& piece) const;
    /// Makes weights of the key's owner the next version of a name.
    [[nodiscard]] Result<Answer<registry::ModelVersion>> name_model(
        const registry::ModelReference& reference, const ModelTerms& terms) const;
    /// The newest version, or that of the reference. @errors kNotFound.
    [[nodiscard]] Result<Answer<registry::ModelVersion>> model_version(
        const registry::ModelReference& reference) const;
    /// Newest first. @errors kNotFound.
    [[nodiscard]] Result<AnswerList<registry::ModelVersion>> model_versions(
        const std::string& name) const;
    /// Of each name the newest version, newest first.
    [[nodiscard]] Result<AnswerList<registry::ModelVersion>> models(const ListPage& page) const;
    [[nodiscard]] Result<Answer<registry::ModelVersion>> set_model_access(
        const registry::ModelReference& reference, const registry::Access& access) const;
    /// The files of its tokenizer, as their owner gave them, unchecked. @errors kNotFound.
    [[nodiscard]] Result<std::string> model_tokenizer(
        const registry::ModelReference& reference) const;
    /// What is not public does not leave this machine in the clear. @errors kInvalidArgument.
    [[nodiscard]] Status check_confidential(registry::Visibility visibility) const;
    /// Happens once under one `idempotency_key`. @param order of the text (registry::order_terms),
    /// sealed with records::order_nonce(idempotency_key). @param again also if the same job is
    /// running.
    [[nodiscard]] Result<Answer<Job>> submit_job(const std::string& yaml,
                                                 const std::string& idempotency_key,
                                                 const records::SealedTerms& order,
                                                 bool again = false) const;
    /// Locks more tokens; happens once under one `idempotency_key`. @param seal of the JobFunding.
    [[nodiscard]] Result<Answer<Job>> fund_job(const Digest& job, const Amount& amount,
                                               const std::string& idempotency_key,
                                               const records::OrderSeal& seal) const;
    /// @param verb "pause", "resume" or "cancel".
    [[nodiscard]] Result<Answer<Job>> ask_job(const Digest& job, const std::string& verb) const;

    // Datasets.

    /// Absent if nobody registered it.
    [[nodiscard]] Result<std::optional<Answer<registry::Dataset>>> dataset(
        const Digest& root) const;
    /// Newest first.
    [[nodiscard]] Result<AnswerList<registry::Dataset>> datasets(const ListPage& page) const;
    /// Uploads and registers it; in parts, if it is large, with `progress` as upload_blob() has it.
    /// Content addressed: sending the same again changes nothing.
    /// @return the record as it stands. @errors kConflict: another owner, or other terms;
    /// kInvalidArgument: a text that is not public, over plain HTTP to another machine.
    [[nodiscard]] Result<Answer<registry::Dataset>> register_dataset(
        const blob::Dataset& dataset, const DatasetTerms& terms,
        const UploadProgress& progress = {}) const;
    /// The same of a token file on disk, in constant memory: a large one is sent in parts, from
    /// where an earlier call stopped, then registered. @param root of its tokens. @param progress
    /// as upload_blob().
    /// @errors also those of upload_blob(), and kIo.
    [[nodiscard]] Result<Answer<registry::Dataset>> register_dataset(
        const std::filesystem::path& token_file, const Digest& root, const DatasetTerms& terms,
        const UploadProgress& progress = {}) const;
    /// Asks for a mix of registered datasets, whose root follows from the request alone; asked
    /// again the answer says how far it is. @errors kNotFound (a part); kPermissionDenied (its
    /// licence); kInvalidArgument, kConflict, kOutOfRange (what cannot be mixed).
    [[nodiscard]] Result<Answer<Mix>> mix(const MixRequest& request) const;
    /// Asks until the mix is made. `waits` is called before each pause. @errors also kTimeout.
    [[nodiscard]] Result<registry::Dataset> make_mix(
        const MixRequest& request, const std::function<void(const Mix&)>& waits = {}) const;
    /// Gives a dataset's manifest, a file on disk, which is sent in parts as upload_blob() does.
    /// Giving the same again changes nothing. @errors also kMalformed, kMismatch (it is not this
    /// dataset's); kConflict (the dataset has another).
    [[nodiscard]] Status give_manifest(const Digest& dataset, const std::filesystem::path& file,
                                       const UploadProgress& progress = {}) const;
    /// Gives the files of a dataset's tokenizer. @param files tokenizer::encode_bundle().
    /// @errors kConflict: the dataset has others.
    [[nodiscard]] Status give_tokenizer(const Digest& dataset, ByteView files) const;
    /// The files as their owner gave them, unchecked; absent if nobody did. Needs a key.
    [[nodiscard]] Result<std::optional<Bytes>> tokenizer_files(const Digest& dataset) const;
    /// Who may see a dataset of the key's owner. @errors kNotFound, kPermissionDenied.
    [[nodiscard]] Result<Answer<registry::Dataset>> set_dataset_access(
        const Digest& root, const registry::Access& access) const;
    /// The same of the model of a job.
    [[nodiscard]] Result<Answer<Job>> set_job_access(const Digest& job,
                                                     const registry::Access& access) const;
    /// Makes a dataset of the key's owner the next version of a name. @errors kNotFound if the
    /// dataset is not registered and only that is missing.
    [[nodiscard]] Result<Answer<registry::DatasetVersion>> name_dataset(
        const registry::DatasetReference& reference, const Digest& root) const;
    /// Whether a dataset that is not registered yet could get the name then; of a registered one
    /// nothing is asked. Changes nothing. @errors those of name_dataset() without kNotFound.
    [[nodiscard]] Status check_dataset_name(const registry::DatasetReference& reference,
                                            const Digest& root) const;
    /// The newest version, or that of the reference. @errors kNotFound.
    [[nodiscard]] Result<Answer<registry::DatasetVersion>> dataset_version(
        const registry::DatasetReference& reference) const;
    /// Newest first. @errors kNotFound.
    [[nodiscard]] Result<AnswerList<registry::DatasetVersion>> dataset_versions(
        const std::string& name) const;
    /// Newest first.
    [[nodiscard]] Result<AnswerList<registry::Evaluation>> evaluations() const;

    // Blobs, which jobs name by their roots.

    /// What gym-api has of a blob that the key's owner sends; absent if nothing.
    [[nodiscard]] Result<std::optional<Answer<Upload>>> upload(const Digest& root) const;
    /// Sends a blob in parts, from where an earlier call stopped, until gym-api has all of it and
    /// has found its root. A part that is cut is sent again from where it was cut, as long as
    /// something arrives or ApiOptions::retry_for lasts.
    /// @param progress may be empty; called after each part.
    /// @errors kMismatch if the source does not have the root; also the source's.
    [[nodiscard]] Result<Answer<Upload>> upload_blob(const Digest& root, const BlobSource& source,
                                                     const UploadProgress& progress = {}) const;

    // Inputs of audits.

    [[nodiscard]] Result<PublishedRound> round(const Digest& job, std::uint64_t round) const;
    /// At most kPageItemsMax, which is more than a round has.
    [[nodiscard]] Result<std::vector<registry::Unit>> units(const Digest& job,
                                                            std::uint64_t round) const;
    [[nodiscard]] Result<std::vector<UnitReport>> unit_reports(const Digest& unit) const;
    /// Signed, in the order of their leaves.
    [[nodiscard]] Result<std::vector<Bytes>> commitments(const Digest& job,
                                                         std::uint64_t round) const;
    [[nodiscard]] Result<std::vector<registry::PublishedReport>> reports(const Digest& job,
                                                                         std::uint64_t round) const;
    /// Decided ones, without times.
    [[nodiscard]] Result<std::vector<registry::Prefix>> prefixes(const Digest& job,
                                                                 std::uint64_t round) const;
    [[nodiscard]] Result<std::vector<protocol::PublishedChallenge>> challenges(const Address& node,
                                                                               UnixMs from_ms,
                                                                               UnixMs to_ms) const;

  private:
    [[nodiscard]] Result<std::string> get_text(const std::string& path,
                                               std::uint64_t bytes_max) const;
    template <class Read>
    auto get(const std::string& path, Read&& read, std::uint64_t bytes_max) const;
    template <class Read>
    auto get(const std::string& path, Read&& read) const;
    template <class Read>
    auto get_pages(const std::string& path, const char* name, Read&& read) const;
    struct Post;
    [[nodiscard]] Result<Answer<registry::Dataset>> post_dataset(Post post, const Digest& root,
                                                                 const DatasetTerms& terms) const;
    void forget_upload(const Digest& blob) const;
    [[nodiscard]] Result<Answer<registry::Dataset>> register_body(ByteView file, const Digest& root,
                                                                  const DatasetTerms& terms) const;
    [[nodiscard]] Result<Answer<registry::Dataset>> register_upload(
        const Digest& blob, const BlobSource& source, const Digest& root, const DatasetTerms& terms,
        const UploadProgress& progress) const;
    [[nodiscard]] Result<Answer<Upload>> put_part(const Digest& root, const BlobSource& source,
                                                  std::uint64_t offset) const;
    template <class Read>
    auto post(const Post& post, Read&& read) const;

    ApiOptions options_;
};

}  // namespace gym::client
