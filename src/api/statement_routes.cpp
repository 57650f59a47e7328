#include <boost/json/serialize.hpp>

#include "gym/api/statement.hpp"
#include "routes.hpp"
#include "views.hpp"

// What an owner's money did.
namespace gym::api {
namespace {

namespace json = boost::json;
constexpr std::uint64_t kLinesMax = 1000;
constexpr std::uint64_t kLinesDefault = 100;

json::object to_json(const StatementAccount& side) {
    return {{"owner", side.owner},
            {"kind", to_string(side.kind)},
            {"own", side.own},
            {"balance_after_wei",
             side.balance_after ? json::value(*side.balance_after) : json::value(nullptr)}};
}

Result<Response> list_transfers(RouteContext& context, const Call& call) {
    StatementFilter filter;
    GYM_TRY(filter.owner, call.address("address"));
    if (filter.owner != *call.owner)
        return fail(ErrorCode::kPermissionDenied, "the API key is of " + call.owner->hex() +
                                                      ": it reads the transfers of no other owner");
    GYM_TRY(filter.before, call.number("before", StatementFilter::kNewest, filter.before));
    GYM_TRY(const std::uint64_t limit, call.number("limit", kLinesMax, kLinesDefault));
    if (limit == 0) return fail(ErrorCode::kMalformed, "'limit' must be 1 to 1000");
    filter.limit = static_cast<std::uint32_t>(limit);
    GYM_TRY(const auto lines, context.with.queries.statement(filter));
    const bool more = lines.size() == filter.limit;
    return json_response(
        200, json::serialize(json::object{
                 {"transfers", to_json_list(lines)},
                 {"next_before", more ? json::value(lines.back().seq) : json::value(nullptr)}}));
}

}  // namespace

std::string_view to_string(LineState state) noexcept {
    switch (state) {
        case LineState::kPosted:
            return "posted";
        case LineState::kPending:
            return "pending";
        case LineState::kEnded:
            return "ended";
        case LineState::kReleased:
            break;
    }
    return "released";
}

std::string_view to_string(Direction direction) noexcept {
    switch (direction) {
        case Direction::kIn:
            return "in";
        case Direction::kOut:
            return "out";
        case Direction::kWithin:
            break;
    }
    return "within";
}

json::object to_json(const StatementLine& line) {
    return {{"id", to_uuid(line.id)},
            {"seq", line.seq},
            {"at_ms", line.at},
            {"kind", to_string(line.kind)},
            {"reason", line.reason},
            {"state", to_string(line.state)},
            {"sealed", line.sealed},
            {"direction", to_string(line.direction())},
            {"amount_wei", line.amount.to_string()},
            {"from", to_json(line.from)},
            {"to", to_json(line.to)},
            {"job_id", line.job_id ? json::value(line.job_id->hex()) : json::value(nullptr)},
            {"round", line.round ? json::value(*line.round) : json::value(nullptr)}};
}

void add_statement_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/accounts/{address}/transfers",
                .id = "listTransfers",
                .summary = "What an owner's money did, newest first: the transfers of the "
                           "address's accounts and of the escrows of its jobs. For the API key of "
                           "that address; 403 for others.",
                .path = {{"address", "An Ethereum address."}},
                .query = {{"before",
                           "Only transfers with a smaller `seq`: the `next_before` of "
                           "the page before. What was there when the first page was "
                           "read stands on one page, whatever is booked meanwhile."},
                          {"limit", "Most items of the answer, 1 to 1000 (default 100)."}},
                .needs_key = true,
                .schema = "TransferList",
                .run = [&context](const Call& call) { return list_transfers(context, call); }});
}

}  // namespace gym::api
