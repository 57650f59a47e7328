#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "data/dataset_client.hpp"
#include "gym/blob/dataset.hpp"
#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/program/train_program.hpp"
#include "gym/protocol/job_cost.hpp"
#include "gym/registry/jobs.hpp"

namespace gym::app {

/// A job file with everything that it names on disk put in, ready to be submitted.
struct ResolvedJob {
    std::string name;
    std::string yaml;  ///< self-contained: the model inlined, the dataset by its root
    program::TrainConfig config;
    registry::JobTerms terms;
    Amount budget_wei;
    Amount max_data_price_wei;  ///< for a million tokens of text
    Digest dataset_root;
    std::optional<blob::Dataset> dataset;  ///< absent if the file names a registered root
    std::string dataset_name;
};

/// Reads `path`; the files that it names are relative to its folder. A dataset file may be a token
/// file or any text. @errors kIo, kNotFound, kMalformed, kInvalidArgument naming file, line and
/// key.
[[nodiscard]] Result<ResolvedJob> resolve_job_file(const std::filesystem::path& path);

/// Puts `price` into the text that is submitted, in the place of what the file says.
/// @errors kInvalidArgument for a key that cannot be replaced.
Status agree_to_data_price(ResolvedJob& job, const Amount& price);

/// What the network takes on top of what a job's work costs.
struct FeeRates {
    std::uint32_t fee_ppm = 0;
    std::uint32_t burned_ppm = 0;  ///< of the fee
};

/// What the job's tokens cost; a file that nobody has registered costs nothing.
struct DataPrice {
    std::optional<DataTerms> terms;
    std::string unknown = {};  ///< why there are no terms
    bool registered = true;
};
/// Asks the gym-api at `url`; where none answers, the price is not known.
/// @errors kMalformed for an answer that is none.
[[nodiscard]] Result<DataPrice> data_price(const std::string& url, const ResolvedJob& job);

struct NetworkFee {
    std::optional<FeeRates> rates;
    std::optional<protocol::CostRates> bound;  ///< what a job may cost at the most
    std::string unknown = {};                  ///< why there are no rates, or no bound
};
/// Asks the gym-api at `url` for today's; where none answers, the fee is not known.
/// @errors kMalformed for an answer that is none.
[[nodiscard]] Result<NetworkFee> network_fee(const std::string& url);

/// What a job will cost, by counting.
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
