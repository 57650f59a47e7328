#pragma once

#include "gym/db/database.hpp"
#include "gym/registry/jobs.hpp"
#include "gym/registry/rounds.hpp"
#include "owner_orders.hpp"

namespace gym::api::testing {

/// A submitted job's first round as the coordinator stores it, by a single worker; an order that
/// gym-rewards has not decided counts as locked.
/// @param base before it. @param next after it. @param commitments to units of it.
inline Status store_round(db::Database& owner, const Digest& job, const registry::StateRef& base,
                          const registry::StateRef& next, const Address& worker,
                          std::uint32_t commitments = 0) {
    const registry::StateRef momentum{Digest{{0x11}}, Digest{{0x12}}};
    return owner.transact([&](db::Transaction& tx) -> Status {
        registry::JobArtifacts made;
        made.base_state_root = base.root;
        made.base_state_blob = base.blob;
        GYM_CHECK(gym::testing::lock_orders(tx, job, 1));
        GYM_CHECK(registry::start_job(tx, job, made, 1));
        protocol::RoundRecord record;
        record.job_id = job;
        record.round = 1;
        record.base_state_root = base.root;
        record.checkpoint_every = 4;
        record.slots = {{0, worker, kPpm, 4}};
        GYM_CHECK(registry::record_round(tx, record, base, momentum, 1));
        GYM_CHECK(registry::open_round(tx, job, 1, 2, 1));
        GYM_CHECK(registry::seal_round(tx, job, 1, Digest{}, commitments, 1));
        GYM_CHECK(registry::mark_posted(tx, job, 1, 1, {2, {}}));
        GYM_CHECK(registry::set_beacon(tx, job, 1, Digest{}));
        return registry::set_aggregated(tx, job, 1, {next, momentum, {}, {}, 2.5}, 1);
    });
}

}  // namespace gym::api::testing
