#include "gym/rewards/queries.hpp"
#include "postgres_calls.hpp"

// What nodes signed.
namespace gym::api {

Result<RoundView> PostgresBackend::round(const Digest& job_id, std::uint64_t round) {
    return calls::read(database_, options_, [&](db::Transaction& tx) -> Result<RoundView> {
        RoundView view;
        GYM_TRY(view.round, registry::get_round(tx, job_id, round));
        GYM_TRY(view.aggregate, registry::aggregate_commitment(tx, job_id, round));
        return view;
    });
}

Result<std::vector<registry::PublishedCommitment>> PostgresBackend::commitments(
    const Digest& job_id, std::uint64_t round, const registry::Page& page) {
    return calls::read(database_, options_, [&](db::Transaction& tx) {
        return registry::published_commitments(tx, job_id, round, page);
    });
}

Result<std::vector<registry::PublishedReport>> PostgresBackend::reports(
    const Digest& job_id, std::uint64_t round, const registry::Page& page) {
    return calls::read(database_, options_, [&](db::Transaction& tx) {
        return registry::published_reports(tx, job_id, round, page);
    });
}

Result<std::vector<protocol::PublishedChallenge>> PostgresBackend::challenges(
    const Address& node, UnixMs from_ms, UnixMs to_ms, const registry::Page& page) {
    return calls::read(database_, options_, [&](db::Transaction& tx) {
        return registry::published_challenges(tx, node, from_ms, to_ms, page);
    });
}

}  // namespace gym::api
