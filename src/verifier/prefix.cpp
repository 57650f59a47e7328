// Prefixes: a verifier runs the first steps of a unit that ended without a commitment, and signs
// what they gave. It does not know what the worker signed.
#include <string>

#include "gym/execution/run.hpp"
#include "gym/node/backoff.hpp"
#include "gym/node/chain_view.hpp"
#include "verifier_impl.hpp"

namespace gym::verifier {
namespace {

Status check_prefix_task(const records::PrefixTask& task) {
    GYM_CHECK(protocol::validate(task.record));
    if (task.record.job_id != task.unit.job_id || task.record.round != task.unit.round)
        return fail(ErrorCode::kMismatch, "the round record is of another job or round");
    const protocol::SlotAssignment* const slot = task.record.find_slot(task.unit.slot);
    if (slot == nullptr || task.steps == 0 || task.steps > slot->steps)
        return fail(ErrorCode::kMismatch, "the round record has no slot " +
                                              std::to_string(task.unit.slot) + " with " +
                                              std::to_string(task.steps) + " steps");
    return {};
}

}  // namespace

Result<protocol::SignedPrefix> VerifierImpl::compute(const records::PrefixTask& task,
                                                     const std::stop_token& stop) {
    GYM_CHECK(check_prefix_task(task));
    if (options_.chain != nullptr) {
        node::SteadyTimer timer;
        GYM_CHECK(node::wait_for_round(*options_.chain, timer, task.record, {}, stop));
    }
    GYM_TRY(const records::NetworkDescription network, coordinator_.network());
    emit("started", task.unit, "its first " + std::to_string(task.steps) + " steps");
    set_activity({task.unit, 0, task.steps, "verify"});
    const protocol::SlotAssignment& slot = *task.record.find_slot(task.unit.slot);
    GYM_TRY(const execution::TrainInputs inputs,
            loader_.load_train(task.record, slot, task.inputs));
    const ReexecutionOptions run = run_options(task.unit, stop);
    engine::StepOptions options;
    options.engine = run.engine;
    options.progress = run.progress;
    options.cancel = run.stop;
    protocol::UnitPrefix found{
        protocol::hash(task.record), task.unit.slot, task.unit.attempt, task.steps, {}};
    GYM_TRY(found.link, execution::run_prefix(task.record, slot, task.steps, inputs, options));
    return protocol::sign(network.domain(), found, key_);
}

Status VerifierImpl::carry_out(const records::PrefixTask& task, const std::stop_token& stop) {
    const Digest round = protocol::hash(task.record);
    const bool known = prefix_ && prefix_->prefix.round_record == round &&
                       prefix_->prefix.slot == task.unit.slot &&
                       prefix_->prefix.steps == task.steps;
    if (!known) {
        GYM_TRY(prefix_, compute(task, stop));
    }
    Status sent = coordinator_.submit_prefix(*prefix_);
    if (!sent.ok() && node::is_transient(sent.error().code)) return sent;
    if (!sent.ok()) {
        emit("dropped", task.unit, sent.error().message);
        return sent;
    }
    emit("reported", task.unit, "its first " + std::to_string(task.steps) + " steps");
    for (const Digest& blob : loader_.take_released())
        if (!needs(blob)) GYM_CHECK(cache_.store().remove(blob));
    return {};
}

}  // namespace gym::verifier
