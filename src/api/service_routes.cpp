#include <boost/json/serialize.hpp>

#include "routes.hpp"
#include "views.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;

Response plain(const char* type, std::string body) {
    Response response;
    response.content_type = type;
    response.body = std::move(body);
    return response;
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
                .pattern = "/healthz",
                .id = "health",
                .summary = "200 while the service and its database answer, else 503.",
                .schema = "Health",
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
