#include <algorithm>
#include <boost/json/serialize.hpp>

#include "routes.hpp"
#include "views.hpp"

// What nodes signed, for auditors (docs/REWARDS.md, "Auditing an epoch").
namespace gym::api {
namespace {

namespace json = boost::json;
constexpr std::uint64_t kPageMax = 1000;
constexpr std::uint64_t kOffsetMax = 10'000'000;
constexpr std::uint64_t kRoundMax = 1'000'000;
constexpr std::uint64_t kTimeMax = std::uint64_t{1} << 53;

const std::vector<Parameter> kPaging{{"offset", "How many to skip."},
                                     {"limit", "Most items of the answer, at most 1000."}};
const std::vector<Parameter> kRoundPath{{"id", "The job's id."}, {"round", "From 1."}};

Response ok(const json::object& object) {
    return json_response(200, json::serialize(object));
}

Result<registry::Page> page_of(const Call& call) {
    GYM_TRY(const std::uint64_t offset, call.number("offset", kOffsetMax, 0));
    GYM_TRY(const std::uint64_t limit, call.number("limit", kPageMax, kPageMax));
    return registry::Page{static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(limit)};
}

/// One page of something that a round has.
template <class Read>
Result<Response> list_of_round(const Call& call, const char* name, Read&& read) {
    GYM_TRY(const Digest job, call.digest("id"));
    GYM_TRY(const std::uint64_t round, call.number("round", kRoundMax, 0));
    GYM_TRY(const registry::Page page, page_of(call));
    GYM_TRY(const auto items, read(job, round, page));
    return ok({{name, to_json_list(items)}});
}

Result<Response> list_challenges(RouteContext& context, const Call& call) {
    GYM_TRY(const Address node, call.address("address"));
    GYM_TRY(const std::uint64_t from, call.number("from_ms", kTimeMax, 0));
    GYM_TRY(const std::uint64_t to, call.number("to_ms", kTimeMax, kTimeMax));
    GYM_TRY(const registry::Page page, page_of(call));
    // An open challenge is told to its node alone, or who wants to look as if it were there would
    // wake up when it is read here.
    const UnixMs until = std::min(static_cast<UnixMs>(to), context.with.clock.now_ms());
    GYM_TRY(const auto challenges,
            context.with.queries.challenges(node, static_cast<UnixMs>(from), until, page));
    return ok({{"challenges", to_json_list(challenges)}});
}

}  // namespace

void add_evidence_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/jobs/{id}/rounds/{round}",
                .id = "getRound",
                .summary = "A round: its record, byte for byte as its hash is on chain, and what "
                           "the coordinator signed as its aggregate.",
                .path = kRoundPath,
                .schema = "RoundDetail",
                .run = [&context](const Call& call) -> Result<Response> {
                    GYM_TRY(const Digest job, call.digest("id"));
                    GYM_TRY(const std::uint64_t round, call.number("round", kRoundMax, 0));
                    GYM_TRY(const RoundView view, context.with.queries.round(job, round));
                    return ok(to_json(view));
                }});
    router.add({.method = "GET",
                .pattern = "/v1/jobs/{id}/rounds/{round}/commitments",
                .id = "listCommitments",
                .summary = "Signed commitments of a sealed round, in the order of the leaves under "
                           "its root on chain.",
                .path = kRoundPath,
                .query = kPaging,
                .schema = "CommitmentList",
                .run = [&context](const Call& call) {
                    return list_of_round(call, "commitments", [&](const auto&... at) {
                        return context.with.queries.commitments(at...);
                    });
                }});
    router.add({.method = "GET",
                .pattern = "/v1/jobs/{id}/rounds/{round}/reports",
                .id = "listReports",
                .summary = "Reports that verifiers revealed on units of a round that have ended.",
                .path = kRoundPath,
                .query = kPaging,
                .schema = "SignedReportList",
                .run = [&context](const Call& call) {
                    return list_of_round(call, "reports", [&](const auto&... at) {
                        return context.with.queries.reports(at...);
                    });
                }});
    router.add({.method = "GET",
                .pattern = "/v1/nodes/{address}/challenges",
                .id = "listChallenges",
                .summary = "Uptime challenges to a node whose deadlines are over, with its signed "
                           "answers, oldest first.",
                .path = {{"address", "The node's address."}},
                .query = {{"from_ms", "Issued from this moment on (default 0)."},
                          {"to_ms", "With a deadline before this moment (default now)."},
                          kPaging[0],
                          kPaging[1]},
                .schema = "ChallengeList",
                .run = [&context](const Call& call) { return list_challenges(context, call); }});
    router.add({.method = "GET",
                .pattern = "/v1/fee",
                .id = "getFee",
                .summary =
                    "What jobs pay on top of their credits as of now, and what they may cost "
                    "at the most.",
                .schema = "Fee",
                .run = [&context](const Call&) -> Result<Response> {
                    GYM_TRY(const NetworkTerms terms, context.with.queries.terms());
                    return ok(to_json(terms));
                }});
}

}  // namespace gym::api
