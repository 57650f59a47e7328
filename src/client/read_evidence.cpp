#include "gym/common/json_fields.hpp"
#include "read_records.hpp"

/// What auditors compare with the chain: records of rounds, reports, prefixes, challenges.
namespace gym::client {

namespace json = boost::json;
using namespace json_fields;

PublishedRound read_round(const json::object& object) {
    return {read_bytes(object, "record"), null_or(object, "aggregate", read_bytes),
            null_or(object, "evaluation", read_bytes),
            null_or(object, "beacon_block", number_of<std::uint64_t>),
            null_or(object, "drand_round", number_of<std::uint64_t>)};
}

registry::PublishedReport read_published_report(const json::object& object) {
    registry::PublishedReport out;
    out.committed = fixed_of<Digest>(object, "committed");
    protocol::Report& report = out.report;
    report.unit = fixed_of<Digest>(object, "unit");
    report.draw = number_of<std::uint32_t>(object, "draw");
    report.verifier = fixed_of<Address>(object, "verifier");
    report.records_root = fixed_of<Digest>(object, "records_root");
    report.final_state_root = fixed_of<Digest>(object, "final_state_root");
    report.delta_root = fixed_of<Digest>(object, "delta_root");
    report.trace = fixed_of<Digest>(object, "trace");
    report.challenge_signature = fixed_of<crypto::Signature>(object, "challenge_signature");
    report.salt = fixed_of<Digest>(object, "salt");
    out.equal = flag_of(object, "equal");
    out.accepted = flag_of(object, "accepted");
    return out;
}

registry::Prefix read_prefix(const json::object& object) {
    registry::Prefix out;
    out.unit = fixed_of<Digest>(object, "unit");
    out.state = take("state", protocol::parse_prefix_state(view_of(object, "state")));
    out.steps = number_of<std::uint32_t>(object, "steps");
    out.link = fixed_of<Digest>(object, "link");
    out.signature = fixed_of<crypto::Signature>(object, "signature");
    out.verifier = null_or(object, "verifier", fixed_of<Address>);
    if (const auto link = null_or(object, "found_link", fixed_of<Digest>))
        out.report =
            registry::PrefixReport{*link, fixed_of<crypto::Signature>(object, "found_signature")};
    out.flops = number_of(object, "flops");
    out.verifier_paid = flag_of(object, "verifier_paid");
    out.reason = null_or(object, "reason", text_of).value_or("");
    return out;
}

protocol::PublishedChallenge read_challenge(const json::object& object) {
    protocol::PublishedChallenge out;
    out.challenge = {fixed_of<Digest>(object, "nonce"), number_of<UnixMs>(object, "issued_at_ms"),
                     number_of<UnixMs>(object, "deadline_ms")};
    out.answered_at_ms = null_or(object, "answered_at_ms", number_of<UnixMs>);
    out.signature = null_or(object, "signature", fixed_of<crypto::Signature>);
    out.withdrawn = flag_of(object, "withdrawn");
    return out;
}

Bytes read_bytes(const json::object& object, std::string_view key) {
    return take(key, from_hex(view_of(object, key)));
}

}  // namespace gym::client
