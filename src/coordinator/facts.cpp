#include "facts.hpp"

#include "gym/coordinator/decisions.hpp"
#include "gym/registry/datasets.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/units.hpp"

namespace gym::coordinator {

Result<std::shared_ptr<const RoundInputs>> Facts::round_inputs(db::Transaction& tx,
                                                               const Digest& job_id,
                                                               std::uint64_t round) {
    const std::pair key(job_id, round);
    if (auto known = rounds_.find(key)) return known;
    GYM_TRY(const registry::Job job, registry::get_job(tx, job_id));
    GYM_TRY(registry::Round stored, registry::get_round(tx, job_id, round));
    GYM_TRY(const registry::Dataset dataset, registry::get_dataset(tx, job.dataset_root));
    auto out = std::make_shared<RoundInputs>(stored.record);
    out->train.program_blob = job.artifacts->program_blob;
    out->train.dataset_blob = dataset.blob;
    out->train.base_state_blob = stored.base.blob;
    out->momentum_blob = stored.momentum.blob;
    out->overlap = job.terms.elastic.overlap != 0;
    out->delta_norm_factor = job.terms.delta_norm_factor;
    out->late_ms = lifecycle_of(job, round).late_ms;
    GYM_TRY(out->train.base_steps, registry::steps_to_base(tx, job_id, round));
    rounds_.keep(key, out);
    return std::shared_ptr<const RoundInputs>(std::move(out));
}

Result<std::shared_ptr<const RoundInputs>> Facts::round_by_record(db::Transaction& tx,
                                                                  const Digest& record_hash) {
    if (auto known = by_record_.find(record_hash)) return known;
    GYM_TRY(const auto round, registry::find_round_by_record(tx, record_hash));
    if (!round) return std::shared_ptr<const RoundInputs>();
    GYM_TRY(auto inputs, round_inputs(tx, round->job_id, round->round));
    by_record_.keep(record_hash, inputs);
    return inputs;
}

Result<std::shared_ptr<const SealedEpoch>> Facts::sealed_epoch(db::Transaction& tx,
                                                               std::uint64_t epoch) {
    if (auto known = epochs_.find(epoch)) return known;
    GYM_TRY(const registry::Round round, registry::get_round_of_epoch(tx, epoch));
    if (!round.commitments_root)
        return fail(ErrorCode::kInternal, "epoch " + std::to_string(epoch) + " is not sealed");
    GYM_TRY(const auto leaves, registry::epoch_leaves(tx, epoch));
    std::vector<Digest> digests;
    digests.reserve(leaves.size());
    for (const registry::EpochLeaf& leaf : leaves)
        digests.push_back(leaf.leaf);
    auto out = std::make_shared<const SealedEpoch>(
        SealedEpoch{*round.commitments_root, commit::MerkleTree(std::move(digests))});
    epochs_.keep(epoch, out);
    return out;
}

}  // namespace gym::coordinator
