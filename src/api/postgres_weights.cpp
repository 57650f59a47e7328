// Weights that a submitted job begins from: an uploaded state, or what another job has trained
// whose model its owner may see.
#include "gym/program/train_config_yaml.hpp"
#include "gym/program/train_program.hpp"
#include "gym/registry/rounds.hpp"
#include "postgres_calls.hpp"

namespace gym::api::calls {
namespace {

using registry::StateRef;

/// The parameters of a job's program, made again from its job file.
Result<engine::StateLayout> parameters_of(const registry::Job& job) {
    GYM_TRY(auto submitted, registry::parse_submitted_spec(job.spec_yaml, "job"));
    GYM_TRY(const auto config, program::read_train_config(*submitted.spec.model));
    GYM_TRY(const auto built, program::train_program(config));
    return engine::parameter_layout(built);
}

Status check_fit(const engine::StateLayout& needed, const engine::StateLayout& given,
                 const std::string& what) {
    const Status fits = engine::check_layout(needed, given);
    return fits.ok() ? fits : Status(fits.error().in("'init', " + what));
}

Result<StateRef> uploaded_state(db::Transaction& tx, const Address& owner, const Digest& root,
                                const engine::StateLayout& needed) {
    const std::string what = "state " + root.hex();
    GYM_TRY(const auto upload,
            tx.exec_optional("SELECT root, state_layout FROM api.upload WHERE owner = $1 AND "
                             "state_root = $2 ORDER BY root LIMIT 1",
                             {owner, root}));
    if (upload) {
        GYM_TRY(const auto given, engine::decode_layout(upload->get<Bytes>("state_layout")));
        GYM_CHECK(check_fit(needed, given, what));
        return StateRef{root, upload->get<Digest>("root")};
    }
    // An upload expires; what a job of the owner began from stays.
    GYM_TRY(const auto before,
            tx.exec_optional("SELECT id FROM registry.job WHERE owner = $1 AND init_root = $2 "
                             "ORDER BY submitted_at_ms DESC, id LIMIT 1",
                             {owner, root}));
    if (!before)
        return fail(ErrorCode::kNotFound,
                    "'init': you have uploaded no state with the root " + root.hex() +
                        "; `gym job submit` uploads the weights that a job file names, PUT "
                        "/v1/blobs/{root} any state");
    GYM_TRY(const registry::Job job, registry::get_job(tx, before->get<Digest>("id")));
    GYM_TRY(const auto given, parameters_of(job));
    GYM_CHECK(check_fit(needed, given, what));
    return *job.init;
}

std::string name_of(const Digest& job, std::uint64_t round) {
    return "job " + job.hex() +
           (round == 0 ? " before its first round" : " after round " + std::to_string(round));
}

/// The base state of a job after `round`; its last one without a number.
Result<StateRef> trained_state(db::Transaction& tx, const registry::Job& job,
                               const std::optional<std::uint64_t>& round) {
    GYM_TRY(const auto rounds, registry::list_rounds(tx, job.id));
    const registry::Round* last = nullptr;
    for (const registry::Round& one : rounds) {
        if (!one.next_base) continue;
        if (round && one.round == *round) return *one.next_base;
        last = &one;
    }
    if (round && *round == 0 && job.artifacts)
        return StateRef{job.artifacts->base_state_root, job.artifacts->base_state_blob};
    if (!round && last != nullptr) return *last->next_base;
    const std::string has = last == nullptr
                                ? "it has finished no round"
                                : "its last finished round is " + std::to_string(last->round);
    return fail(ErrorCode::kNotFound,
                "'init': there are no weights of " +
                    (round ? name_of(job.id, *round) : "job " + job.id.hex()) + ": " + has);
}

}  // namespace

Result<StateRef> find_weights(db::Transaction& tx, const Address& owner,
                              const registry::InitialWeights& init,
                              const engine::StateLayout& needed) {
    if (!init.job) return uploaded_state(tx, owner, init.root, needed);
    const auto job = registry::get_job_of_model(tx, *init.job, registry::Viewer::account(owner));
    if (!job.ok()) return job.error().in("'init'");
    GYM_TRY(const auto given, parameters_of(*job));
    GYM_CHECK(check_fit(needed, given, "job " + job->id.hex()));
    return trained_state(tx, *job, init.round);
}

}  // namespace gym::api::calls
