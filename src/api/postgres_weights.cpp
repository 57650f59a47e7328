// Weights that a submitted job begins from: an uploaded state, a registered model, or what another
// job has trained whose model its owner may see.
#include <set>
#include <utility>
#include <vector>

#include "gym/program/train_config_yaml.hpp"
#include "gym/program/train_program.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/model_names.hpp"
#include "gym/registry/rounds.hpp"
#include "postgres_calls.hpp"

namespace gym::api::calls {
namespace {

using registry::StateRef;

Status check_fit(const engine::StateLayout& needed, const engine::StateLayout& given,
                 const std::string& what) {
    const Status fits = engine::check_layout(needed, given);
    return fits.ok() ? fits : Status(fits.error().in("'init', " + what));
}

/// A state of the owner: one that it uploaded, or that an earlier job of it began from.
Result<std::optional<FoundWeights>> own_state(db::Transaction& tx, const Address& owner,
                                              const Digest& root,
                                              const engine::StateLayout& needed) {
    const std::string what = "state " + root.hex();
    GYM_TRY(const auto upload,
            tx.exec_optional("SELECT root, state_layout FROM api.upload WHERE owner = $1 AND "
                             "state_root = $2 ORDER BY root LIMIT 1",
                             {owner, root}));
    if (upload) {
        GYM_TRY(const auto given, engine::decode_layout(upload->get<Bytes>("state_layout")));
        GYM_CHECK(check_fit(needed, given, what));
        return std::optional(
            FoundWeights{StateRef{root, upload->get<Digest>("root")}, std::nullopt, true, true});
    }
    // An upload expires; what a job of the owner began from stays.
    GYM_TRY(const auto before,
            tx.exec_optional("SELECT id FROM registry.job WHERE owner = $1 AND init_root = $2 "
                             "ORDER BY submitted_at_ms DESC, id LIMIT 1",
                             {owner, root}));
    if (!before) return std::optional<FoundWeights>();
    GYM_TRY(const registry::Job job, registry::get_job(tx, before->get<Digest>("id")));
    GYM_TRY(const auto given, parameters_of(job));
    GYM_CHECK(check_fit(needed, given, what));
    return std::optional(FoundWeights{*job.init, std::nullopt, false, job.init_own});
}

/// Others than its owner may train on from a model as far as its licence permits the job's use.
Status check_licence(const registry::ModelVersion& model, const Address& owner, licence::Use use) {
    if (model.owner == owner) return {};
    const std::string why = licence::forbidden(model.licence, use);
    if (why.empty()) return {};
    return fail(ErrorCode::kPermissionDenied,
                "'init': model " + model.name + "@" + std::to_string(model.version) + " is under " +
                    model.licence + ", and " + why + ": only its owner, " + model.owner.hex() +
                    ", can submit this job");
}

/// check_licence() of a model that the owner may not see: then nothing of it is told.
Status check_unseen(db::Transaction& tx, const registry::ModelVersion& model, const Address& owner,
                    licence::Use use) {
    const Status allowed = check_licence(model, owner, use);
    if (allowed.ok()) return {};
    GYM_TRY(const auto seen,
            registry::find_model_of_state(tx, model.state.root, registry::Viewer::account(owner)));
    if (seen) return allowed;
    return fail(ErrorCode::kPermissionDenied,
                "'init': the weights that these were trained from are under a licence that does "
                "not allow " +
                    std::string(to_string(use)) + " use");
}

/// Jobs that began from one another, the last one included; more are as good as none.
constexpr std::size_t kAncestorsMax = 256;

/// Others' data that went into a job's weights. What the job's owner trained on text of its own is
/// the owner's to give away.
Status check_data_of(db::Transaction& tx, const registry::Job& job, const Address& owner,
                     licence::Use use) {
    GYM_TRY(const auto data, registry::get_dataset(tx, job.dataset_root));
    if (data.owner == job.owner && data.parts.empty()) return {};
    const Status allowed = check_data_licence(data, owner, use);
    if (allowed.ok()) return {};
    const auto seen = registry::get_dataset(tx, job.dataset_root, registry::Viewer::account(owner));
    if (seen.ok()) return allowed;
    return fail(ErrorCode::kPermissionDenied,
                "the data that it was trained on is under a licence that does not allow " +
                    std::string(to_string(use)) + " use");
}

/// Jobs whose weights `job` began from: none, the one that it names, or all that ended in the state
/// that it names. The licence of a model of that state holds, too.
Result<std::vector<Digest>> jobs_before(db::Transaction& tx, const registry::Job& job,
                                        const Address& owner, licence::Use use) {
    GYM_TRY(const auto spec, registry::parse_submitted_spec(job.spec_yaml, "job"));
    if (!spec.init) return std::vector<Digest>();
    if (spec.init->job) return std::vector{*spec.init->job};
    GYM_TRY(auto out, registry::jobs_of_state(tx, spec.init->root));
    // A stranger's name for weights that the job's owner brought itself binds nobody, unless the
    // network made them.
    if (job.init_own && out.empty()) return out;
    GYM_TRY(const auto model,
            registry::find_model_of_state(tx, spec.init->root, registry::Viewer::service()));
    if (model) GYM_CHECK(check_unseen(tx, *model, owner, use));
    if (model && model->job) out.push_back(*model->job);
    return out;
}

/// Licences stay with weights on their way through jobs: those of every model and dataset that
/// `first` and the jobs before it began from or were trained on. A round without deltas ends in the
/// state that it began from, so jobs may come before themselves.
Status check_origin(db::Transaction& tx, const Digest& first, const Address& owner,
                    licence::Use use) {
    std::vector<Digest> open{first};
    std::set<Digest> seen{first};
    while (!open.empty()) {
        if (seen.size() > kAncestorsMax)
            return fail(ErrorCode::kOutOfRange, "'init': more than " +
                                                    std::to_string(kAncestorsMax) +
                                                    " jobs began from one another");
        GYM_TRY(const registry::Job job, registry::get_job(tx, open.back()));
        open.pop_back();
        const Status data = check_data_of(tx, job, owner, use);
        if (!data.ok()) return data.error().in("'init', job " + job.id.hex());
        GYM_TRY(const auto before, jobs_before(tx, job, owner, use));
        for (const Digest& id : before)
            if (seen.insert(id).second) open.push_back(id);
    }
    return {};
}

/// Weights that the network has trained are known by their root, whatever way they come back.
/// @return whether it has trained them.
Result<bool> check_trained(db::Transaction& tx, const Digest& root, const Address& owner,
                           licence::Use use) {
    GYM_TRY(const auto jobs, registry::jobs_of_state(tx, root));
    for (const Digest& id : jobs)
        GYM_CHECK(check_origin(tx, id, owner, use));
    return !jobs.empty();
}

/// A state by its root.
Result<FoundWeights> state_of_root(db::Transaction& tx, const Address& owner, const Digest& root,
                                   const engine::StateLayout& needed, licence::Use use) {
    GYM_TRY(const auto model,
            registry::find_model_of_state(tx, root, registry::Viewer::account(owner)));
    GYM_TRY(auto own, own_state(tx, owner, root, needed));
    GYM_TRY(const bool trained, check_trained(tx, root, owner, use));
    // What came from elsewhere, and the owner uploaded itself, it has under whichever terms, and
    // nobody else says which tokenizer is its.
    const bool brought = own && own->brought && !trained;
    if (model && !brought) GYM_CHECK(check_licence(*model, owner, use));
    if (!model && own && !brought) {
        // A job of the owner began from it when its owner still showed it.
        GYM_TRY(const auto closed,
                registry::find_model_of_state(tx, root, registry::Viewer::service()));
        if (closed) GYM_CHECK(check_unseen(tx, *closed, owner, use));
    }
    if (own) {
        if (model && (!brought || model->owner == owner)) own->tokenizer = model->tokenizer;
        return *own;
    }
    if (!model)
        return fail(ErrorCode::kNotFound,
                    "'init': you have uploaded no state with the root " + root.hex() +
                        ", and no model has it; `gym job submit` uploads the weights that a job "
                        "file names, PUT /v1/blobs/{root} any state");
    GYM_TRY(const auto given, engine::decode_layout(model->state_layout));
    GYM_CHECK(
        check_fit(needed, given, "model " + model->name + "@" + std::to_string(model->version)));
    return FoundWeights{{root, model->state.blob}, model->tokenizer, false};
}

std::string name_of(const Digest& job, std::uint64_t round) {
    return "job " + job.hex() +
           (round == 0 ? " before its first round" : " after round " + std::to_string(round));
}

}  // namespace

Result<engine::StateLayout> parameters_of(const registry::Job& job) {
    GYM_TRY(auto submitted, registry::parse_submitted_spec(job.spec_yaml, "job"));
    GYM_TRY(const auto config, program::read_train_config(*submitted.spec.model));
    GYM_TRY(const auto built, program::train_program(config));
    return engine::parameter_layout(built);
}

Status check_model_licence(db::Transaction& tx, const registry::ModelVersion& model) {
    GYM_TRY(auto jobs, registry::jobs_of_state(tx, model.state.root));
    // Before its first round a job's weights are those that it began from.
    if (model.job) jobs.push_back(*model.job);
    for (const licence::Use use : {licence::Use::kCommercial, licence::Use::kNonCommercial}) {
        if (!licence::forbidden(model.licence, use).empty()) continue;
        for (const Digest& id : jobs) {
            const Status origin = check_origin(tx, id, Address{}, use);
            if (!origin.ok())
                return fail(ErrorCode::kPermissionDenied,
                            "licence: " + model.licence + " gives others " +
                                std::string(to_string(use)) +
                                " use, which the data or weights that job " + id.hex() +
                                " trained on do not: " + origin.error().message);
        }
    }
    return {};
}

Result<TrainedState> trained_state(db::Transaction& tx, const registry::Job& job,
                                   const std::optional<std::uint64_t>& round) {
    GYM_TRY(const auto rounds, registry::list_rounds(tx, job.id));
    const registry::Round* last = nullptr;
    for (const registry::Round& one : rounds) {
        if (!one.next_base) continue;
        if (round && one.round == *round) return TrainedState{*one.next_base, one.round};
        last = &one;
    }
    if (round && *round == 0 && job.artifacts)
        return TrainedState{{job.artifacts->base_state_root, job.artifacts->base_state_blob}, 0};
    if (!round && last != nullptr) return TrainedState{*last->next_base, last->round};
    const std::string has = last == nullptr
                                ? "it has finished no round"
                                : "its last finished round is " + std::to_string(last->round);
    return fail(ErrorCode::kNotFound,
                "there are no weights of " +
                    (round ? name_of(job.id, *round) : "job " + job.id.hex()) + ": " + has);
}

Result<FoundWeights> find_weights(db::Transaction& tx, const Address& owner,
                                  const registry::InitialWeights& init,
                                  const engine::StateLayout& needed, licence::Use use) {
    if (!init.job) return state_of_root(tx, owner, init.root, needed, use);
    const auto job = registry::get_job_of_model(tx, *init.job, registry::Viewer::account(owner));
    if (!job.ok()) return job.error().in("'init'");
    GYM_TRY(const auto given, parameters_of(*job));
    GYM_CHECK(check_fit(needed, given, "job " + job->id.hex()));
    const auto trained = trained_state(tx, *job, init.round);
    if (!trained.ok()) return trained.error().in("'init'");
    GYM_CHECK(check_origin(tx, job->id, owner, use));
    GYM_TRY(const auto data, registry::get_dataset(tx, job->dataset_root));
    return FoundWeights{trained->state, data.tokenizer, false};
}

}  // namespace gym::api::calls
