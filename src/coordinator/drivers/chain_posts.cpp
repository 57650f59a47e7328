// What a round's base state is from, on chain: nobody can begin a round with a state that no
// aggregate stands for (docs/adr/0047-aggregates-on-chain.md).
#include "drivers/chain_posts.hpp"

#include "drivers/claims.hpp"
#include "gym/coordinator/decisions.hpp"
#include "gym/game/evidence.hpp"
#include "gym/registry/games.hpp"

namespace gym::coordinator {
namespace {

Bytes head_bytes(const registry::Round& round) {
    return protocol::encode(protocol::head_of(round.record));
}

Result<Bytes> origin_of(db::Transaction& tx, const registry::Round& round) {
    if (round.round == 1) return Bytes();
    GYM_TRY(const registry::Round before, registry::get_round(tx, round.job_id, round.round - 1));
    if (round.record.included.empty()) return head_bytes(before);
    GYM_TRY(const auto stored,
            registry::find_commitment(tx, protocol::unit_id(aggregate_key(before))));
    if (!stored) return fail(ErrorCode::kInternal, "an aggregate has no commitment");
    return protocol::encode(stored->commitment);
}

/// That of the round, if it is signed and not known to be on chain.
Result<std::optional<AggregatePost>> unposted(const Context& context, db::Transaction& tx,
                                              const registry::Round& round) {
    using Out = std::optional<AggregatePost>;
    GYM_TRY(const auto unit, registry::unposted_aggregate(tx, round.job_id, round.round));
    if (!unit) return Out();
    GYM_TRY(const auto stored, registry::find_commitment(tx, *unit));
    if (!stored) return fail(ErrorCode::kInternal, "an aggregate has no commitment");
    GYM_TRY(const Digest name, game::unit_of(context.options.domain, stored->commitment));
    return Out({round.job_id, round.round, name, protocol::encode(stored->commitment)});
}

/// Whether the record of another round brings the aggregate on chain, or may do so soon.
Result<bool> is_followed(db::Transaction& tx, const registry::Job& job,
                         const registry::Round& round) {
    GYM_TRY(const auto last, registry::last_round(tx, round.job_id));
    if (last && last->round > round.round) return true;
    return job.status == registry::JobStatus::kRunning && next_round(job, round).has_value();
}

}  // namespace

Result<RoundPost> round_post(const Context& context, const registry::Round& round) {
    GYM_TRY(Bytes origin,
            context.transact([&](db::Transaction& tx) { return origin_of(tx, round); }));
    return RoundPost{round.job_id, round.round, round.record_hash, head_bytes(round),
                     std::move(origin)};
}

Result<bool> tend_aggregate(const Context& context, const registry::Job& job,
                            const registry::Round& round, TickSummary& summary) {
    bool followed = false;
    GYM_TRY(const auto post,
            context.transact([&](db::Transaction& tx) -> Result<std::optional<AggregatePost>> {
                GYM_TRY(followed, is_followed(tx, job, round));
                return unposted(context, tx, round);
            }));
    if (!post) return true;
    GYM_TRY(const auto block, context.deps.chain.aggregate_block(*post));
    if (!block) {
        if (!followed) GYM_CHECK(context.deps.chain.post_aggregate(*post));
        return false;
    }
    GYM_CHECK(context.transact([&](db::Transaction& tx) {
        return registry::set_aggregate_block(tx, round.job_id, round.round, *block);
    }));
    note(summary, name_round(round) + ": aggregate on chain in block " + std::to_string(*block));
    return true;
}

}  // namespace gym::coordinator
