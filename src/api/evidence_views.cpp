#include "gym/common/ppm.hpp"
#include "gym/protocol/round_record.hpp"
#include "views.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;

template <class T>
json::value or_null(const std::optional<T>& value) {
    return value ? json::value(*value) : json::value(nullptr);
}
template <std::size_t N, class Tag>
json::value or_null(const std::optional<FixedBytes<N, Tag>>& value) {
    return value ? json::value(value->hex()) : json::value(nullptr);
}

}  // namespace

json::object to_json(const RoundView& view) {
    const registry::Round& round = view.round;
    return {{"job_id", round.job_id.hex()},
            {"round", round.round},
            {"state", to_string(round.state)},
            {"epoch", round.epoch},
            {"record", to_hex0x(protocol::encode(round.record))},
            {"record_hash", round.record_hash.hex()},
            {"commitments_root", or_null(round.commitments_root)},
            {"commitment_count", or_null(round.commitment_count)},
            {"posted_block", or_null(round.posted_block)},
            {"beacon_block", or_null(round.beacon_block)},
            {"beacon", or_null(round.beacon)},
            {"aggregate",
             view.aggregate ? json::value(to_hex0x(*view.aggregate)) : json::value(nullptr)},
            {"opened_at_ms", or_null(round.opened_at_ms)},
            {"closed_at_ms", or_null(round.closed_at_ms)}};
}

json::object to_json(const registry::PublishedCommitment& published) {
    return {{"leaf_index", published.leaf_index},
            {"unit", published.unit.hex()},
            {"commitment", to_hex0x(published.commitment)}};
}

json::object to_json(const registry::PublishedReport& published) {
    const protocol::Report& report = published.report;
    return {{"unit", report.unit.hex()},
            {"draw", report.draw},
            {"verifier", report.verifier.hex()},
            {"committed", published.committed.hex()},
            {"records_root", report.records_root.hex()},
            {"final_state_root", report.final_state_root.hex()},
            {"delta_root", report.delta_root.hex()},
            {"trace", report.trace.hex()},
            {"challenge_signature", report.challenge_signature.hex()},
            {"salt", report.salt.hex()},
            {"equal", published.equal},
            {"accepted", published.accepted}};
}

json::object to_json(const protocol::PublishedChallenge& published) {
    return {{"nonce", published.challenge.nonce.hex()},
            {"issued_at_ms", published.challenge.issued_ms},
            {"deadline_ms", published.challenge.deadline_ms},
            {"answered_at_ms", or_null(published.answered_at_ms)},
            {"signature", or_null(published.signature)},
            {"withdrawn", published.withdrawn}};
}

json::object to_json(const NetworkTerms& terms) {
    json::object out{{"fee_ppm", terms.fee.fee_ppm},
                     {"burned_ppm", terms.fee.burned_ppm},
                     {"changed_at_ms", terms.fee.changed_at_ms},
                     {"cost_bound_ppm", nullptr},
                     {"data_bound_ppm", nullptr}};
    if (!terms.bound) return out;
    out["cost_bound_ppm"] = terms.bound->cost_bound_ppm;
    out["data_bound_ppm"] = std::uint64_t{kPpm} + terms.bound->fee_ppm;
    return out;
}

}  // namespace gym::api
