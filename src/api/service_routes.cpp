#include <boost/json/serialize.hpp>

#include "gym/registry/service_health.hpp"
#include "routes.hpp"
#include "views.hpp"

// The service itself, and those that a network needs beside it.
namespace gym::api {
namespace {

namespace json = boost::json;

/// Services tell of themselves every five seconds.
constexpr std::int64_t kSilentMs = 60'000;

Response plain(const char* type, std::string body) {
    Response response;
    response.content_type = type;
    response.body = std::move(body);
    return response;
}

/// What is wrong with a service; empty: nothing.
std::string problem_of(const registry::ServiceHealth& service, UnixMs now) {
    const std::int64_t silent_ms = now - service.seen_at_ms;
    std::string out;
    if (!service.problem.empty()) out = service.service + " has a problem: " + service.problem;
    if (silent_ms > kSilentMs)
        out += (out.empty() ? service.service + " has" : std::string(", and has")) +
               " said nothing for " + std::to_string(silent_ms / 1'000) + " s";
    return out.empty() ? out : out + " (its log says why)";
}

/// 503 naming the services that do not work.
Result<Response> health(RouteContext& context, const Call& call) {
    GYM_TRY(const auto services, context.with.queries.services());
    const UnixMs now = context.with.clock.now_ms();
    std::string problems;
    json::array out;
    for (const registry::ServiceHealth& service : services) {
        const std::string problem = problem_of(service, now);
        if (!problem.empty()) problems += (problems.empty() ? "" : "; ") + problem;
        out.push_back(
            json::object{{"service", service.service}, {"seen_at_ms", service.seen_at_ms}});
    }
    // Not as an error: those of other services are told to nobody.
    if (!problems.empty())
        return problem(503, to_string(ErrorCode::kUnavailable), problems, call.request.request_id);
    return json_response(
        200, json::serialize(json::object{{"status", "ok"}, {"services", std::move(out)}}));
}

}  // namespace

void add_service_routes(Router& router, RouteContext& context) {
    router.add({.method = "GET",
                .pattern = "/v1/network",
                .id = "getNetwork",
                .summary = "The chain and the addresses of the contracts.",
                .schema = "Network",
                .run = [&context](const Call&) -> Result<Response> {
                    return json_response(200, json::serialize(to_json(context.options.network)));
                }});
    router.add({.method = "GET",
                .pattern = "/v1/network/profile",
                .id = "getNetworkProfile",
                .summary = "What a user needs to join the network, signed by its operator: for "
                           "`gym network add`.",
                .schema = "NetworkProfile",
                .run = [&context](const Call&) -> Result<Response> {
                    if (context.options.network_profile.empty())
                        return fail(ErrorCode::kNotFound,
                                    "this network publishes no profile: ask its operator for the "
                                    "coordinator and deployment.json");
                    return json_response(200, context.options.network_profile);
                }});
    router.add({.method = "GET",
                .pattern = "/healthz",
                .id = "health",
                .summary = "200 if gym-api, its database and the services that the network needs "
                           "work, else 503 with the name of the one that does not.",
                .schema = "Health",
                .run = [&context](const Call& call) { return health(context, call); }});
    router.add({.method = "GET",
                .pattern = "/livez",
                .id = "liveness",
                .summary = "200 if gym-api and its database answer, else 503: for load balancers, "
                           "whatever other services do.",
                .schema = "Liveness",
                .run = [&context](const Call&) -> Result<Response> {
                    GYM_CHECK(context.with.queries.ping());
                    return json_response(200, json::serialize(json::object{{"status", "ok"}}));
                }});
    router.add({.method = "GET",
                .pattern = "/metrics",
                .id = "metrics",
                .summary = "Prometheus text.",
                .answer_type = "text/plain; version=0.0.4",
                .run = [&context](const Call&) -> Result<Response> {
                    const auto gauges = context.with.queries.gauges();
                    return plain("text/plain; version=0.0.4",
                                 context.metrics.text(gauges.ok() ? &gauges.value() : nullptr));
                }});
    router.add({.method = "GET",
                .pattern = "/openapi.json",
                .id = "openapi",
                .summary = "This description.",
                .answer_type = "application/json",
                // The router is complete by the time it is asked, and lives as long as its routes.
                .run = [&router](const Call&) -> Result<Response> {
                    return plain("application/json", openapi_json(router));
                }});
}

}  // namespace gym::api
