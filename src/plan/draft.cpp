#include "gym/plan/draft.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "gym/engine/outer_state.hpp"
#include "gym/plan/units.hpp"
#include "gym/program/delta_codec.hpp"
#include "gym/program/train_program.hpp"
#include "gym/program/update_codec.hpp"

namespace gym::plan {
namespace {

/// Terms that a job file must have, with values that refuse nothing else in it.
struct Placeholder {
    const char* key;
    const char* value;
};
constexpr std::array<Placeholder, 5> kPlaceholders{{{"rounds", "2"},
                                                    {"slots", "8192"},
                                                    {"steps_per_round", "32768"},
                                                    {"price_per_pflop", "1"},
                                                    {"budget", "1"}}};
static_assert(registry::kJobSlotsMax == 8'192 && registry::kJobStepsMax == 32'768);

constexpr const char* kCompressionPath = "model.compression";
constexpr const char* kUpdatePath = "model.update";

template <class Parse>
auto read_with(YamlMap& map, const char* key, Parse parse) -> decltype(parse(std::string())) {
    GYM_TRY(const std::string text, map.string(key));
    auto parsed = parse(text);
    if (parsed.ok()) return parsed;
    return map.error_at(key, "cannot be used: " + parsed.error().message);
}

Result<Wishes> read_wishes(YamlMap& map) {
    Wishes out;
    if (map.has(kTokensKey)) {
        GYM_TRY(out.tokens, read_with(map, kTokensKey, parse_count));
    }
    if (map.has(kNodesKey)) {
        if (map.has("slots"))
            return map.error_at(kNodesKey, "and 'slots' are the same: write one of them");
        GYM_TRY(const std::int64_t nodes, map.integer(kNodesKey, 1, registry::kJobSlotsMax));
        out.nodes = static_cast<std::uint32_t>(nodes);
    }
    if (map.has(kMaxCostKey)) {
        GYM_TRY(out.max_cost_wei, read_with(map, kMaxCostKey, [](const std::string& text) {
                    return Amount::parse_tokens(text);
                }));
    }
    if (map.has(kWithinKey)) {
        GYM_TRY(out.within_s, read_with(map, kWithinKey, parse_duration_s));
    }
    return out;
}

/// Notes a term that the text has.
template <class Into, class Value>
Status take_if_written(const YamlText& text, const char* path, Into& into, const Value& value) {
    GYM_TRY(const bool there, text.has(path));
    if (there) into = value;
    return {};
}

Result<FixedTerms> fixed_terms(const YamlText& text, const registry::JobSpec& spec) {
    FixedTerms out;
    out.rest = spec.terms;
    const auto take = [&](const char* path, auto& into, const auto& value) {
        return take_if_written(text, path, into, value);
    };
    const registry::JobTerms& terms = spec.terms;
    GYM_CHECK(take("rounds", out.rounds, terms.rounds));
    GYM_CHECK(take("slots", out.slots, terms.slots_max));
    GYM_CHECK(take("workers_min", out.workers_min, terms.workers_min));
    GYM_CHECK(take("steps_per_round", out.steps, terms.steps));
    GYM_CHECK(take("checkpoint_every", out.checkpoint_every, terms.checkpoint_every));
    GYM_CHECK(take("evaluate_windows", out.evaluate_windows, terms.evaluate_windows));
    GYM_CHECK(take("price_per_pflop", out.price_wei_per_pflop, terms.price_wei_per_pflop));
    GYM_CHECK(take("budget", out.budget_wei, spec.budget_wei));
    GYM_TRY(out.elastic, text.has("elastic"));
    GYM_CHECK(fix_deadlines(text, terms, out));
    return out;
}

}  // namespace

Status fix_deadlines(const YamlText& text, const registry::JobTerms& terms, FixedTerms& fixed) {
    const protocol::LifecycleParams& life = terms.lifecycle;
    GYM_CHECK(take_if_written(text, "deadlines.unit_ms", fixed.unit_ms, life.unit_ms));
    GYM_CHECK(take_if_written(text, "deadlines.report_ms", fixed.report_ms, life.report_ms));
    GYM_CHECK(take_if_written(text, "deadlines.reveal_ms", fixed.reveal_ms, life.reveal_ms));
    return take_if_written(text, "sampling.draws_max", fixed.draws_max, life.draws_max);
}

std::string path_of(const std::string& term) {
    const bool is_deadline = term.ends_with("_ms") && !term.starts_with(kElasticTerms);
    return (is_deadline ? "deadlines." : "") + term;
}

Result<Draft> read_draft(YamlText text) {
    GYM_TRY(YamlMap map, YamlMap::parse(text.text(), text.origin()));
    GYM_TRY(const Wishes wishes, read_wishes(map));
    for (const char* key : {kTokensKey, kNodesKey, kMaxCostKey, kWithinKey})
        if (map.has(key)) GYM_CHECK(text.erase(key));
    // Behind all lines, so that errors name the lines of the file.
    YamlText whole = text;
    for (const Placeholder& term : kPlaceholders)
        if (!map.has(term.key)) GYM_CHECK(whole.set(term.key, term.value));
    constexpr std::array<std::string_view, 5> kAlso{kTokensKey, kNodesKey, kMaxCostKey, kWithinKey,
                                                    kDataKey};
    GYM_TRY(registry::JobSpec spec, registry::parse_job_spec(whole.text(), whole.origin(), kAlso));
    GYM_TRY(const FixedTerms fixed, fixed_terms(text, spec));
    return Draft{std::move(text), wishes, fixed, std::move(spec)};
}

void leave_open(const OpenTraining& open, const program::OptimizerConfig& optimizer, Draft& draft,
                ModelWork& work) {
    if (open.schedule) {
        draft.follow = Draft::WarmUps{optimizer.warmup_steps, optimizer.inner_warmup_steps};
        work.schedule_steps = 0;
    }
    if (open.outer) work.outer_momentum.reset();
    work.compression_chosen = draft.compresses;
    work.update_chosen = draft.updates;
}

Result<bool> leaves_outer_open(const Draft& draft) {
    GYM_TRY(const bool written, draft.text.has("model.outer"));
    return !written;
}

Status compress_deltas(Draft& draft, program::TrainConfig& config) {
    if (!draft.needs_plan()) return {};
    GYM_TRY(const bool written, draft.text.has(kCompressionPath));
    if (written) return {};
    draft.compresses = true;
    config.compression = program::DeltaCodec::kDense;
    return draft.text.set(kCompressionPath, program::name_of(config.compression));
}

Status compress_updates(Draft& draft, const Facts& facts, program::TrainConfig& config) {
    if (!draft.needs_plan() || config.compression != program::DeltaCodec::kDense) return {};
    GYM_TRY(const bool written, draft.text.has(kUpdatePath));
    if (written || !facts.sizes) return {};
    program::TrainConfig smaller = config;
    smaller.update = program::UpdateCodec::kDense;
    GYM_TRY(const auto train, program::train_program(smaller));
    GYM_TRY(const std::uint64_t state_bytes, engine::state_bytes_max(train));
    // The outer state is twice as large: a network that cannot send it trains without.
    if (state_bytes > facts.sizes->blob_bytes) return {};
    draft.updates = true;
    config = std::move(smaller);
    return draft.text.set(kUpdatePath, program::name_of(config.update));
}

Result<std::string> complete(const Draft& draft, const Plan& plan) {
    YamlText text = draft.text;
    for (const Reason& reason : plan.reasons) {
        // A preset's outer step is in the text; that the plan chose one says that it is open.
        if (reason.term.starts_with("outer.") || reason.term == kCompressionTerm ||
            reason.term == kUpdateTerm) {
            GYM_CHECK(text.set("model." + reason.term, reason.value));
            continue;
        }
        const std::string path = path_of(reason.term);
        GYM_TRY(const bool there, text.has(path));
        if (!there) GYM_CHECK(text.set(path, reason.value));
    }
    if (!draft.follow) return text.text();
    constexpr std::uint64_t kWarmupShare = 10, kUnitWarmupShare = 5;
    const std::uint64_t steps =
        std::min<std::uint64_t>(plan.terms.rounds * plan.terms.steps, program::kScheduleStepsMax);
    const std::uint64_t warmup =
        std::min<std::uint64_t>(draft.follow->job_steps, steps / kWarmupShare);
    const std::uint64_t unit_warmup =
        std::min<std::uint64_t>(draft.follow->unit_steps, plan.terms.steps / kUnitWarmupShare);
    GYM_CHECK(text.set("model.optimizer.total_steps", std::to_string(steps)));
    GYM_CHECK(text.set("model.optimizer.warmup_steps", std::to_string(warmup)));
    GYM_CHECK(text.set("model.optimizer.inner_warmup_steps", std::to_string(unit_warmup)));
    return text.text();
}

}  // namespace gym::plan
