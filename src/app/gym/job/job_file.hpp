#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gym/client/api_client.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/common/temporary_folder.hpp"
#include "gym/data/document_licences.hpp"
#include "gym/licence/licence.hpp"
#include "gym/owner/local_data.hpp"
#include "gym/plan/plan.hpp"
#include "gym/program/train_program.hpp"
#include "gym/protocol/job_cost.hpp"
#include "gym/registry/dataset_names.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/jobs.hpp"
#include "job/job_mix.hpp"
#include "job/job_request.hpp"

namespace gym::app {

/// A job file with everything that it names on disk put in, ready to be submitted.
struct ResolvedJob {
    std::string name;
    /// Self-contained: the model inlined, the dataset by its root; `init` after resolve_init().
    std::string yaml;
    /// What parse_init() reads, with a job's id cut; weights on disk; or a registered model's name.
    std::string init;
    program::TrainConfig config;
    registry::JobTerms terms;
    licence::Use use = licence::Use::kCommercial;
    Amount budget_wei;
    Amount max_data_price_wei;  ///< for a million tokens of text
    registry::Access access;    ///< to the model
    Digest dataset_root;
    std::optional<owner::LocalTokens> tokens;  ///< absent if the file names a registered root
    std::filesystem::path
        dataset_file;  ///< of `tokens`, or where their tokenizer lies (find_bundle())
    std::string dataset_name;
    data::LicenceCounts document_licences = {};  ///< of `tokens`, where there is a manifest
    MixedFrom mixed_from = {};                   ///< where the job file has `data`
    std::vector<std::string> warnings = {};      ///< sentences that the owner should read
    /// The weights of a model that was imported for this job: `init` names them.
    std::shared_ptr<const TemporaryFolder> imported = {};
    std::optional<plan::Plan> plan = {};  ///< where terms were left to the planner
};

/// Asked once model and dataset are known, if the planner is needed.
using AskFacts = std::function<Result<plan::Facts>(const ResolvedJob& job)>;

/// Looks up a dataset's name. @return its root.
using DatasetLookup = std::function<Result<Digest>(const registry::DatasetReference&)>;

/// Asks a registered dataset's manifest for the token between its documents.
using AskSeparator = std::function<Result<std::uint32_t>(const Digest& dataset)>;

/// Puts in what the text names and completes it. A dataset may be a token file, any text or a
/// folder (load_job_data()); without such a file it is looked up as a name, if it can be one and
/// there is a `lookup`. @param ask_separator for --keep-documents-apart. @errors those of
/// resolve_job_file(); load_job_data(); plan::make_plan(); those of `ask_facts`.
[[nodiscard]] Result<ResolvedJob> resolve_job(const JobText& given, const AskFacts& ask_facts,
                                              const DatasetLookup& lookup = {},
                                              const AskSeparator& ask_separator = {});

/// Reads the job file `path`, which must leave nothing to the planner; the files that it names are
/// relative to its folder. @errors kIo, kNotFound, kMalformed, kInvalidArgument naming file, line
/// and key.
[[nodiscard]] Result<ResolvedJob> resolve_job_file(const std::filesystem::path& path,
                                                   const DatasetLookup& lookup = {});

/// Puts `price` into the text that is submitted, in the place of what the file says.
/// @errors kInvalidArgument for a key that cannot be replaced.
Status agree_to_data_price(ResolvedJob& job, const Amount& price);

/// Puts `init` into the text that is submitted. @errors kInvalidArgument for a key that cannot be
/// replaced.
Status begin_from(ResolvedJob& job, const std::string& init);

/// Price of the tokens that a job consumes.
struct DataTerms {
    Amount price_wei_per_mtoken;
    std::uint32_t quality_ppm = 0;
};

/// Cost of the job's tokens; a file that is not registered costs nothing.
struct DataPrice {
    std::optional<DataTerms> terms;
    std::string unknown = {};  ///< why there are no terms
    std::optional<registry::Dataset> record = {};
    [[nodiscard]] bool registered() const { return record.has_value(); }
};
/// Asks gym-api; without an answer the price is not known. @errors kMalformed for a wrong answer.
[[nodiscard]] Result<DataPrice> data_price(const client::ApiClient& api, const ResolvedJob& job);

/// What is to be said of a job on this dataset before anything is paid: its licence, and what of
/// the model's vocabulary it uses. @errors kInvalidArgument if the model cannot train on it.
[[nodiscard]] Result<std::vector<std::string>> data_warnings(const ResolvedJob& job,
                                                             const registry::Dataset& dataset);

/// The network's fee, as far as it is known.
struct KnownFee {
    std::optional<client::FeeRates> rates;
    std::optional<protocol::CostRates> bound;  ///< what a job may cost at the most
    std::string unknown = {};                  ///< why there are no rates, or no bound
};
/// Asks gym-api for today's; without an answer it is not known. @errors kMalformed for a wrong
/// answer.
[[nodiscard]] Result<KnownFee> network_fee(const client::ApiClient& api);

/// Cost of a job, by counting.
struct JobQuote {
    std::uint64_t flops_per_step = 0;
    std::uint64_t parameters = 0;
    Amount flops;                     ///< of all units of all rounds
    Amount compute_wei;               ///< their price
    std::optional<DataTerms> data;    ///< absent: not known
    Amount data_wei;                  ///< for the tokens of all units, as far as known
    Amount pflop_day_wei;             ///< price of 10^15 FLOP/s for a day
    std::optional<Amount> most_wei;   ///< nothing costs more; absent: a price or rate is not known
    std::optional<Amount> round_wei;  ///< the same of one round
    std::optional<std::uint64_t> rounds_covered;  ///< by the budget for sure, up to all
};
/// By the rule by which a coordinator begins a round (protocol::rounds_bound).
/// @errors kInvalidArgument (the model), kOutOfRange.
[[nodiscard]] Result<JobQuote> quote(const ResolvedJob& job, const std::optional<DataTerms>& data,
                                     const std::optional<protocol::CostRates>& bound);

}  // namespace gym::app
