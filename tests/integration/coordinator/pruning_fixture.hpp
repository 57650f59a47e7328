#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>

#include "fake_world.hpp"
#include "gym/coordinator/pruner.hpp"
#include "gym/registry/retention.hpp"

namespace gym::testing {

/// All blobs of a store, with their bytes.
inline std::map<Digest, std::uint64_t> stored(blob::BlobStore& store) {
    std::map<Digest, std::uint64_t> out;
    for (int first = 0; first < 256; ++first) {
        const auto listed =
            store.list_idle(static_cast<std::uint8_t>(first), std::chrono::milliseconds(0));
        for (const blob::StoredBlob& blob : listed.value())
            out[blob.root] = blob.bytes;
    }
    return out;
}

inline std::uint64_t stored_bytes(blob::BlobStore& store) {
    std::uint64_t out = 0;
    for (const auto& [root, bytes] : stored(store))
        out += bytes;
    return out;
}

/// Erases at once what no row promises.
inline coordinator::PruneOptions at_once(std::uint64_t base_every = 0,
                                         std::uint64_t keep_rounds = 2) {
    coordinator::PruneOptions out;
    out.retention = {base_every, keep_rounds};
    out.grace_ms = 0;
    return out;
}

/// A pass of a coordinator that was just started. @return what it did.
inline coordinator::PrunePass prune(World& world, coordinator::PruneOptions options = at_once()) {
    options.dispute_game = world.chain.dispute_game();
    coordinator::Pruner pruner(world.database(), world.blobs, world.claims.get(), world.clock,
                               std::move(options));
    auto done = pruner.pass();
    GYM_ASSERT(done.ok(), done.ok() ? "" : done.error().message);
    return *done;
}

inline bool has(World& world, const Digest& blob) {
    return world.blobs.has(blob).value();
}

inline std::vector<std::uint64_t> kept_rounds(World& world, const Digest& job) {
    return world.database()
        .transact([&](db::Transaction& tx) { return registry::kept_rounds(tx, job); })
        .value();
}

/// Whether nothing was decided about a round yet.
inline bool is_whole(World& world, const Digest& job, std::uint64_t round) {
    return world.database()
        .transact([&](db::Transaction& tx) {
            return tx.exec_one(
                "SELECT pruned_at_ms IS NULL FROM registry.round WHERE job_id = $1 "
                "AND round = $2",
                {job, round});
        })
        .value()
        .get<bool>(0);
}

inline std::vector<Digest> deltas_of(World& world, const Digest& job, std::uint64_t round) {
    const auto rows = world.database().transact([&](db::Transaction& tx) {
        return tx.exec(
            "SELECT delta_root FROM registry.unit WHERE job_id = $1 AND round = $2 AND "
            "kind = 'train' AND delta_root IS NOT NULL",
            {job, round});
    });
    std::vector<Digest> out;
    for (const db::Row row : rows.value())
        out.push_back(row.get<Digest>(0));
    return out;
}

}  // namespace gym::testing
