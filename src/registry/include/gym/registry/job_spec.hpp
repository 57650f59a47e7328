#pragma once

#include <optional>
#include <string>

#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"
#include "gym/common/yaml.hpp"
#include "gym/records/order.hpp"
#include "gym/registry/jobs.hpp"

namespace gym::registry {

inline constexpr std::size_t kJobSpecBytesMax = 1 << 20;
inline constexpr const char* kMaxDataPriceKey = "max_data_price";
/// Slots of a round: what a round record has room for with a delta of each slot of the round before
/// (protocol::kRoundRecordBytesMax), and less than one aggregate program takes
/// (program::kDeltasMax). No round with more could be made.
inline constexpr std::uint32_t kJobSlotsMax = 630;
/// Inner steps of a unit: all step records of a unit travel in one message
/// (coordinator::Options::records_bytes_max).
inline constexpr std::uint32_t kJobStepsMax = 32'768;
/// The shortest times that leave the other side a chance: a unit whose verifiers cannot report in
/// time ends unpaid, so a report may take at least half of what the unit may.
inline constexpr std::int64_t kUnitMsMin = 10'000;
inline constexpr std::int64_t kReportMsMin = 10'000;
inline constexpr std::int64_t kRevealMsMin = 5'000;

/// A job file (examples/job.yaml documents every key), as it is submitted or as its owner keeps it.
/// On disk `model` and `dataset` may name files; a submitted file is self-contained: `model` is a
/// mapping with the keys of a model file, `dataset` the root of a registered dataset.
struct JobSpec {
    std::string name;
    std::optional<YamlMap> model;  ///< for program::read_train_config(); absent: `model_file`
    std::string model_file;
    std::string dataset;  ///< "0x..." root, or a file
    JobTerms terms;
    Amount budget_wei;
    /// The most that the owner pays for a million tokens of text; zero unless the file says it.
    Amount max_data_price_wei;
};

/// Reads all keys but those inside `model`. @errors kInvalidArgument, kMalformed naming `origin`,
/// line and key; kOutOfRange for a text longer than kJobSpecBytesMax.
[[nodiscard]] Result<JobSpec> parse_job_spec(const std::string& text, const std::string& origin);

/// The same for a submitted file: `model` is present and `dataset` is a root.
/// @errors also kInvalidArgument where it names files.
struct SubmittedSpec {
    JobSpec spec;
    Digest dataset_root;
};
[[nodiscard]] Result<SubmittedSpec> parse_submitted_spec(const std::string& text,
                                                         const std::string& origin);

/// The order that its owner signs for a submitted text. @param spec what parse_submitted_spec()
/// makes of `text`.
[[nodiscard]] records::JobOrder job_order(const SubmittedSpec& spec, std::string_view text,
                                          const Address& owner, const Digest& nonce);

}  // namespace gym::registry
