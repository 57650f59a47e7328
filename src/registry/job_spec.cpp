#include "gym/registry/job_spec.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "gym/common/printable.hpp"
#include "gym/protocol/evaluation.hpp"
#include "gym/protocol/round_record.hpp"

namespace gym::registry {

namespace {

constexpr std::int64_t kDurationMsMax = std::int64_t{30} * 24 * 3600 * 1000;
constexpr std::int64_t kRoundsMax = 1'000'000;
constexpr std::int64_t kDrawsMax = 1000;
constexpr std::size_t kNameBytesMax = 128;
constexpr double kDeltaNormMax = 1e30;
constexpr double kDeltaNormFactorMax = 1e6;

Result<Amount> tokens(YamlMap& map, std::string_view key, const char* unit = "") {
    GYM_TRY(const std::string text, map.string(key));
    auto amount = Amount::parse_tokens(text);
    if (amount.ok()) return amount;
    return map.error_at(key, std::string("must be an amount of GYM") + unit +
                                 ", like 12.5, with at most 18 decimals");
}

Status read_deadlines(YamlMap& map, protocol::LifecycleParams& out) {
    if (!map.has("deadlines")) return {};
    GYM_TRY(YamlMap keys, map.map("deadlines"));
    GYM_CHECK(keys.read_integer("unit_ms", kUnitMsMin, kDurationMsMax, out.unit_ms));
    GYM_CHECK(keys.read_integer("report_ms", kReportMsMin, kDurationMsMax, out.report_ms));
    GYM_CHECK(keys.read_integer("reveal_ms", kRevealMsMin, kDurationMsMax, out.reveal_ms));
    GYM_CHECK(keys.read_integer("defence_ms", 1, kDurationMsMax, out.defence_ms));
    GYM_CHECK(keys.read_integer("challenge_ms", 1, kDurationMsMax, out.challenge_ms));
    if (out.report_ms < out.unit_ms / 2)
        return keys.error_at("report_ms", "must be at least half of unit_ms, " +
                                              std::to_string(out.unit_ms / 2) +
                                              ": a verifier runs the whole unit");
    return keys.finish();
}

Status read_sampling(YamlMap& map, JobTerms& terms) {
    if (!map.has("sampling")) return {};
    GYM_TRY(YamlMap keys, map.map("sampling"));
    // Nobody may be sampled below the floor of the protocol, whatever a job says.
    GYM_CHECK(keys.read_integer("floor_ppm", protocol::kSamplingFloorPpm, kPpm,
                                terms.sampling.floor_ppm));
    GYM_CHECK(keys.read_integer("aggregate_ppm", 0, kPpm, terms.sampling.aggregate_ppm));
    GYM_CHECK(keys.read_integer("draws_max", 1, kDrawsMax, terms.lifecycle.draws_max));
    return keys.finish();
}

Status check_overlap(YamlMap& keys, const JobTerms& terms) {
    if (terms.elastic.overlap == 0) return {};
    if (terms.elastic.accept_late)
        return keys.error_at("overlap",
                             "must be 0 with accept_late: the aggregate that could take a late "
                             "delta is made before the epoch that has its commitment");
    if (terms.elastic.subtract)
        return keys.error_at("overlap",
                             "must be 0 with on_fraud: subtract: where all deltas of an aggregate "
                             "are of the round before, what each of them counted is not known");
    if (terms.rounds < 2)
        return keys.error_at("overlap",
                             "must be 0 in a job of one round: there is no next one "
                             "that its communication could overlap with");
    return {};
}

Status read_elastic(YamlMap& map, JobTerms& terms) {
    if (!map.has("elastic")) return {};
    GYM_TRY(YamlMap keys, map.map("elastic"));
    GYM_CHECK(keys.read_integer("quorum_ppm", kQuorumPpmMin, kPpm, terms.elastic.quorum_ppm));
    GYM_CHECK(keys.read_integer("grace_ms", 0, kDurationMsMax, terms.lifecycle.grace_ms));
    if (keys.has("adapt_steps")) {
        GYM_TRY(terms.elastic.adapt_steps, keys.boolean("adapt_steps"));
    }
    if (keys.has("hold_drawn")) {
        GYM_TRY(terms.elastic.hold_drawn, keys.boolean("hold_drawn"));
    }
    if (keys.has("accept_late")) {
        GYM_TRY(terms.elastic.accept_late, keys.boolean("accept_late"));
    }
    if (keys.has("on_fraud")) {
        GYM_TRY(const std::string what, keys.string("on_fraud"));
        if (what != "keep" && what != "subtract")
            return keys.error_at("on_fraud", "must be keep or subtract, not '" + what + "'");
        terms.elastic.subtract = what == "subtract";
    }
    GYM_CHECK(keys.read_integer("overlap", 0, 1, terms.elastic.overlap));
    GYM_CHECK(check_overlap(keys, terms));
    return keys.finish();
}

Status read_access(YamlMap& map, Access& out) {
    GYM_TRY(const std::string visibility,
            map.string_or(kVisibilityKey, std::string(to_string(Visibility::kPrivate))));
    std::vector<std::string> allowed;
    if (map.has(kAllowedKey)) {
        GYM_TRY(allowed, map.list_of_strings(kAllowedKey));
    }
    auto access = make_access(visibility, allowed);
    if (!access.ok())
        return map.error_at(map.has(kAllowedKey) ? kAllowedKey : kVisibilityKey,
                            "cannot be used: " + access.error().message);
    out = *std::move(access);
    return {};
}

Status read_terms(YamlMap& map, JobTerms& terms) {
    GYM_TRY(const std::int64_t rounds, map.integer("rounds", 1, kRoundsMax));
    terms.rounds = static_cast<std::uint64_t>(rounds);
    GYM_TRY(const std::int64_t slots, map.integer("slots", 1, kJobSlotsMax));
    terms.slots_max = static_cast<std::uint32_t>(slots);
    GYM_CHECK(map.read_integer("workers_min", 1, slots, terms.workers_min));
    GYM_TRY(const std::int64_t steps, map.integer("steps_per_round", 1, kJobStepsMax));
    terms.steps = static_cast<std::uint32_t>(steps);
    terms.checkpoint_every = terms.steps;
    GYM_CHECK(map.read_integer("checkpoint_every", 1, steps, terms.checkpoint_every));
    GYM_CHECK(map.read_integer("evaluate_windows", 1, std::int64_t{protocol::kEvaluationWindowsMax},
                               terms.evaluate_windows));
    if (map.has("delta_norm_max")) {
        GYM_TRY(terms.delta_norm_max,
                map.real("delta_norm_max", std::numeric_limits<double>::min(), kDeltaNormMax));
    }
    if (map.has("delta_norm_factor")) {
        GYM_TRY(terms.delta_norm_factor, map.real("delta_norm_factor", 1, kDeltaNormFactorMax));
    }
    GYM_CHECK(read_deadlines(map, terms.lifecycle));
    GYM_CHECK(read_sampling(map, terms));
    GYM_CHECK(read_elastic(map, terms));
    GYM_TRY(terms.price_wei_per_pflop, tokens(map, "price_per_pflop", " for 10^15 operations"));
    if (terms.price_wei_per_pflop.is_zero())
        return map.error_at("price_per_pflop", "must be above zero");
    return {};
}

}  // namespace

AggregateSize largest_aggregate(const JobTerms& terms) {
    const std::uint32_t slots = terms.slots_max;
    const std::uint32_t deltas =
        terms.elastic.holds_deltas() ? std::min(kJobSlotsMax, 2 * slots - 1) : slots;
    AggregateSize out{deltas, deltas - slots, 0};
    if (!terms.elastic.subtract) return out;
    out.withdrawn = static_cast<std::uint32_t>(protocol::kWithdrawnMax);
    out.deltas = std::min(kJobSlotsMax, deltas + out.withdrawn);
    out.held = std::min(out.held, out.deltas - out.withdrawn);
    return out;
}

Result<JobSpec> parse_job_spec(const std::string& text, const std::string& origin,
                               std::span<const std::string_view> also) {
    if (text.size() > kJobSpecBytesMax)
        return fail(ErrorCode::kOutOfRange, origin + " is longer than 1 MiB");
    GYM_TRY(YamlMap map, YamlMap::parse(text, origin));
    JobSpec spec;
    GYM_TRY(spec.name, map.string("name"));
    if (spec.name.empty() || spec.name.size() > kNameBytesMax)
        return map.error_at("name", "must be 1 to 128 bytes long");
    if (!is_printable(spec.name))
        return map.error_at("name", "has a control character: others read it on a terminal");
    auto model = map.map("model");
    if (model.ok()) {
        spec.model.emplace(std::move(model).value());
    } else {
        GYM_TRY(spec.model_file, map.string("model"));
    }
    GYM_TRY(spec.dataset, map.string("dataset"));
    GYM_TRY(spec.init, map.string_or(kInitKey, ""));
    if (map.has(kInitKey) && spec.init.empty())
        return map.error_at(kInitKey, "must name weights; leave the key out for random ones");
    GYM_CHECK(read_access(map, spec.access));
    GYM_CHECK(read_terms(map, spec.terms));
    GYM_TRY(spec.budget_wei, tokens(map, "budget"));
    if (spec.budget_wei.is_zero()) return map.error_at("budget", "must be above zero");
    if (map.has(kMaxDataPriceKey)) {
        GYM_TRY(spec.max_data_price_wei,
                tokens(map, kMaxDataPriceKey, " for a million tokens of text"));
    }
    if (map.has(kUseKey)) {
        GYM_TRY(const std::string use, map.string(kUseKey));
        const auto known = licence::parse_use(use);
        if (!known.ok()) return map.error_at(kUseKey, known.error().message);
        spec.use = *known;
    }
    if (map.has("on_fraud")) {
        // Rounds are never rewound: the clip on deltas bounds what one wrong delta can do.
        GYM_TRY([[maybe_unused]] const std::string choice, map.choice("on_fraud", {"continue"}));
    }
    for (const std::string_view key : also)
        (void)map.has(key);  // finish() lists it
    GYM_CHECK(map.finish());
    return spec;
}

Result<InitialWeights> parse_init(std::string_view text) {
    const auto refused = [&] {
        return fail(ErrorCode::kInvalidArgument,
                    "'" + std::string(text) +
                        "' must be the 0x... root of an uploaded state, job:ID or job:ID@ROUND");
    };
    InitialWeights out;
    if (!text.starts_with(kInitJobPrefix)) {
        const auto root = Digest::parse(text);
        if (!root.ok()) return refused();
        out.root = *root;
        return out;
    }
    text.remove_prefix(kInitJobPrefix.size());
    const std::size_t at = text.find('@');
    const auto job = Digest::parse(text.substr(0, at));
    if (!job.ok()) return refused();
    out.job = *job;
    if (at == std::string_view::npos) return out;
    const std::string_view number = text.substr(at + 1);
    std::uint64_t round = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), round);
    if (error != std::errc{} || end != number.data() + number.size() || number.empty())
        return refused();
    out.round = round;
    return out;
}

std::string to_string(const InitialWeights& init) {
    if (!init.job) return init.root.hex();
    return std::string(kInitJobPrefix) + init.job->hex() +
           (init.round ? "@" + std::to_string(*init.round) : "");
}

namespace {

bool is_base64(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/' || c == '=';
}

std::size_t longest_word(std::string_view text) {
    std::size_t longest = 0, length = 0;
    for (const char c : text) {
        length = is_base64(c) ? length + 1 : 0;
        longest = std::max(longest, length);
    }
    return longest;
}

}  // namespace

Result<SubmittedSpec> parse_submitted_spec(const std::string& text, const std::string& origin) {
    if (const std::size_t others = text.size() - longest_word(text); others > kJobSpecOtherBytesMax)
        return fail(ErrorCode::kOutOfRange,
                    origin + " has " + std::to_string(others) + " bytes" +
                        " beside the program of an imported model, at most " +
                        std::to_string(kJobSpecOtherBytesMax) + " are possible");
    GYM_TRY(JobSpec spec, parse_job_spec(text, origin));
    if (!spec.model)
        return fail(ErrorCode::kInvalidArgument,
                    origin + ": 'model' must be a mapping in a submitted job, not a file's name");
    const auto root = Digest::parse(spec.dataset);
    if (!root.ok())
        return fail(ErrorCode::kInvalidArgument,
                    origin +
                        ": 'dataset' must be the 0x... root of a registered dataset in a "
                        "submitted job");
    SubmittedSpec out{std::move(spec), *root, {}};
    if (out.spec.init.empty()) return out;
    auto init = parse_init(out.spec.init);
    if (!init.ok()) return init.error().in(origin + ": 'init' in a submitted job");
    out.init = *init;
    return out;
}

records::OrderTerms order_terms(const SubmittedSpec& spec) {
    return {.datasets = {spec.dataset_root},
            .budget_wei = spec.spec.budget_wei,
            .price_wei_per_pflop = spec.spec.terms.price_wei_per_pflop,
            .max_data_price_wei = spec.spec.max_data_price_wei};
}

records::JobOrder job_order(const SubmittedSpec& spec, std::string_view text, const Address& owner,
                            const Digest& nonce) {
    return records::job_order(order_terms(spec), text, owner, nonce);
}

}  // namespace gym::registry
