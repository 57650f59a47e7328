#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"
#include "gym/common/yaml.hpp"
#include "gym/licence/licence.hpp"
#include "gym/records/order.hpp"
#include "gym/registry/jobs.hpp"

namespace gym::registry {

inline constexpr std::size_t kJobSpecBytesMax = 1 << 20;
/// Of a submitted text without its longest run of letters of base64, which is the program of an
/// imported model: a parser copies one long word, and makes some hundred bytes of each short one.
inline constexpr std::size_t kJobSpecOtherBytesMax = 64 << 10;
inline constexpr const char* kMaxDataPriceKey = "max_data_price";
inline constexpr const char* kUseKey = "use";
inline constexpr const char* kVisibilityKey = "visibility";
inline constexpr const char* kAllowedKey = "allowed";
/// Slots of a round: as many deltas as one aggregate program takes (program::kDeltasMax).
inline constexpr std::uint32_t kJobSlotsMax = 8'192;

/// Deltas of an aggregate.
struct AggregateSize {
    std::uint32_t deltas = 0;
    std::uint32_t held = 0;       ///< of them, of the round before
    std::uint32_t withdrawn = 0;  ///< of them, subtracted ones

    friend auto operator<=>(const AggregateSize&, const AggregateSize&) = default;
};
/// The most that an aggregate of the job has: what its budget has to cover. Where drawn units are
/// held, all but one of the round before may come late; where faulty ones are subtracted, as many
/// as one aggregate subtracts.
[[nodiscard]] AggregateSize largest_aggregate(const JobTerms& terms);
/// Inner steps of a unit: all step records of a unit travel in one message
/// (coordinator::Options::records_bytes_max).
inline constexpr std::uint32_t kJobStepsMax = 32'768;
/// The shortest times that leave the other side a chance: a unit whose verifiers cannot report in
/// time ends unpaid, so a report may take at least half of what the unit may.
inline constexpr std::int64_t kUnitMsMin = 10'000;
inline constexpr std::int64_t kReportMsMin = 10'000;
inline constexpr std::int64_t kRevealMsMin = 5'000;

/// With less than half of a round's steps it would be others that it waits for.
inline constexpr std::uint32_t kQuorumPpmMin = 500'000;

/// A job file (examples/job.yaml documents every key), as it is submitted or as its owner keeps it.
/// On disk `model` and `dataset` may name files; a submitted file is self-contained: `model` is a
/// mapping with the keys of a model file, `dataset` the root of a registered dataset.
struct JobSpec {
    std::string name;
    std::optional<YamlMap> model;  ///< for program::read_train_config(); absent: `model_file`
    std::string model_file;
    std::string dataset;  ///< "0x..." root, or a file
    std::string init;     ///< what the parameters begin as (parse_init()), or a file; empty: random
    Access access;        ///< to the model that comes out; private unless the file says another
    JobTerms terms;
    Amount budget_wei;
    /// The most that the owner pays for a million tokens of text; zero unless the file says it.
    Amount max_data_price_wei;
    /// What the trained weights are for: the data's licences must permit it.
    licence::Use use = licence::Use::kCommercial;
};

/// Reads all keys but those inside `model`. @errors kInvalidArgument, kMalformed naming `origin`,
/// line and key; kOutOfRange for a text longer than kJobSpecBytesMax.
/// @param also keys that the text may have had before, for the list in the error of an unknown one.
[[nodiscard]] Result<JobSpec> parse_job_spec(const std::string& text, const std::string& origin,
                                             std::span<const std::string_view> also = {});

/// Weights that a network has: a state that its owner uploaded, by its root, or the base state of a
/// job after a round.
struct InitialWeights {
    Digest root;  ///< zero if `job` is given
    std::optional<Digest> job;
    std::optional<std::uint64_t> round;  ///< of `job`; 0: before the first; absent: the last one

    friend bool operator==(const InitialWeights&, const InitialWeights&) = default;
};
inline constexpr std::string_view kInitKey = "init";
inline constexpr std::string_view kInitJobPrefix = "job:";

/// Reads "0x..." (a state's root), "job:ID" or "job:ID@ROUND". @errors kInvalidArgument.
[[nodiscard]] Result<InitialWeights> parse_init(std::string_view text);
/// What parse_init() reads.
[[nodiscard]] std::string to_string(const InitialWeights& init);

/// The same for a submitted file: `model` is present, `dataset` is a root, and `init` names weights
/// that the network has. @errors also kInvalidArgument where it names files; kOutOfRange for more
/// than kJobSpecOtherBytesMax, before anything is parsed.
struct SubmittedSpec {
    JobSpec spec;
    Digest dataset_root;
    std::optional<InitialWeights> init;
};
[[nodiscard]] Result<SubmittedSpec> parse_submitted_spec(const std::string& text,
                                                         const std::string& origin);

/// What its owner's order says of a submitted text.
[[nodiscard]] records::OrderTerms order_terms(const SubmittedSpec& spec);

/// The order that its owner signs for a submitted text. @param spec what parse_submitted_spec()
/// makes of `text`.
[[nodiscard]] records::JobOrder job_order(const SubmittedSpec& spec, std::string_view text,
                                          const Address& owner, const Digest& nonce);

}  // namespace gym::registry
