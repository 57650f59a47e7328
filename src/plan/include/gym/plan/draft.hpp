#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gym/common/result.hpp"
#include "gym/common/yaml_text.hpp"
#include "gym/plan/plan.hpp"
#include "gym/registry/job_spec.hpp"

/// Job files that leave terms to the planner.
namespace gym::plan {

// Keys of a job file in the owner's units; no submitted job has them.
inline constexpr const char* kTokensKey = "tokens";     ///< 1e9
inline constexpr const char* kNodesKey = "nodes";       ///< 8
inline constexpr const char* kMaxCostKey = "max_cost";  ///< 50
inline constexpr const char* kWithinKey = "within";     ///< 6h
inline constexpr const char* kDataKey = "data";         ///< datasets to mix, made one before

struct Draft {
    YamlText text;  ///< the job file without the wishes
    Wishes wishes;
    FixedTerms fixed;
    /// What is written. Terms that are not stand at some value: `fixed` says which ones count.
    registry::JobSpec spec;
    /// Of a model whose learning rate's schedule is to follow the job, as a preset's: it ends with
    /// the job's last step, its warm-up becomes a tenth of the job at most, and that of a unit a
    /// fifth of it. Absent: the model file says all that.
    struct WarmUps {
        std::uint32_t job_steps = 0, unit_steps = 0;
    };
    std::optional<WarmUps> follow = {};
    bool compresses = false;  ///< nobody wrote the compression of deltas: see compress_deltas()
    bool updates = false;     ///< nor that of updates: see compress_updates()

    [[nodiscard]] bool needs_plan() const { return wishes.any() || !fixed.complete(); }
};

/// What of a model's training nobody wrote, so that the plan fits it to the job.
struct OpenTraining {
    bool schedule = false;  ///< of the learning rate
    bool outer = false;     ///< the outer step
};
/// Notes in the draft and in what its model's steps cost that the plan chooses these.
void leave_open(const OpenTraining& open, const program::OptimizerConfig& optimizer, Draft& draft,
                ModelWork& work);
/// Whether the job's model, which is inlined, leaves its outer step open.
/// @errors kMalformed for a text that is not YAML.
[[nodiscard]] Result<bool> leaves_outer_open(const Draft& draft);

/// Gives a job whose terms are planned, and whose model is inlined and names no `compression`, the
/// one that costs no loss worth mentioning (docs/TESTING.md, "Losses with compressed deltas"):
/// dense-4bit.
/// @param config of that model, which says the same afterwards.
/// @errors kInvalidArgument for a text that is not a YAML mapping.
[[nodiscard]] Status compress_deltas(Draft& draft, program::TrainConfig& config);

/// Gives a job whose terms are planned, whose deltas are compressed, and whose model names no
/// `update`, updates in rows, if the network says that it takes the larger outer state.
/// @param config as compress_deltas(). @errors the same; those of program::train_program().
[[nodiscard]] Status compress_updates(Draft& draft, const Facts& facts,
                                      program::TrainConfig& config);

/// @errors as registry::parse_job_spec() for what is written; kInvalidArgument for a wish that is
/// not one.
[[nodiscard]] Result<Draft> read_draft(YamlText text);

/// The draft with every term of the plan that it left open: a job file without wishes.
/// @errors kInvalidArgument for a key that cannot be written.
[[nodiscard]] Result<std::string> complete(const Draft& draft, const Plan& plan);

/// A job file with all terms, and with shorter deadlines than the usual ones in the place of those
/// that it leaves out, if the network's window for disputes is too short for these.
/// @param terms that `text` has. @errors as make_plan() for deadlines that do not fit.
[[nodiscard]] Result<std::string> fit_deadlines(const std::string& text,
                                                const registry::JobTerms& terms,
                                                const ModelWork& work, const Facts& facts);

/// Notes which deadlines of `terms` the text writes. @errors kInvalidArgument for a text that is
/// not a YAML mapping.
Status fix_deadlines(const YamlText& text, const registry::JobTerms& terms, FixedTerms& fixed);

/// Where a job file has a plan's term: "deadlines.unit_ms" for "unit_ms".
[[nodiscard]] std::string path_of(const std::string& term);

}  // namespace gym::plan
