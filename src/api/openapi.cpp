#include <boost/json.hpp>

#include "gym/api/router.hpp"
#include "openapi_schemas.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;

json::object parameter(const Parameter& parameter, const char* where, bool required) {
    return {{"name", parameter.name},
            {"in", where},
            {"required", required},
            {"description", parameter.description},
            {"schema", {{"type", "string"}}}};
}

json::object content(const std::string& type, const std::string& schema_name) {
    json::object schema{{"type", type == "application/json" ? "object" : "string"}};
    if (!schema_name.empty()) schema = {{"$ref", "#/components/schemas/" + schema_name}};
    return {{type, json::object{{"schema", std::move(schema)}}}};
}

json::object operation(const Route& route) {
    json::array parameters;
    for (const Parameter& item : route.path)
        parameters.push_back(parameter(item, "path", true));
    for (const Parameter& item : route.query)
        parameters.push_back(parameter(item, "query", false));
    for (const Parameter& item : route.headers)
        parameters.push_back(parameter(item, "header", true));
    json::object responses;
    std::vector<unsigned> good = route.also_success;
    good.insert(good.begin(), route.success);
    for (const unsigned status : good)
        responses[std::to_string(status)] = json::object{
            {"description", phrase(status)}, {"content", content(route.answer_type, route.schema)}};
    responses["default"] =
        json::object{{"description", "The error (RFC 9457)."},
                     {"content", content("application/problem+json", "Problem")}};
    json::object out{{"operationId", route.id},
                     {"summary", route.summary},
                     {"parameters", std::move(parameters)},
                     {"responses", std::move(responses)}};
    if (!route.body_type.empty())
        out["requestBody"] = json::object{{"required", true},
                                          {"content", content(route.body_type, route.body_schema)}};
    if (route.takes_key)
        out["security"] = json::array{
            json::object{}, json::object{{"apiKey", json::array{to_string(scope_of(route))}}}};
    if (route.needs_key)
        out["security"] =
            json::array{json::object{{"apiKey", json::array{to_string(scope_of(route))}}}};
    return out;
}

}  // namespace

std::string openapi_json(const Router& router) {
    json::object paths;
    for (const Route& route : router.routes()) {
        std::string method = route.method;
        for (char& c : method)
            c = static_cast<char>(c - 'A' + 'a');
        if (!paths.contains(route.pattern)) paths[route.pattern] = json::object{};
        paths[route.pattern].as_object()[method] = operation(route);
    }
    const json::object security{{"apiKey", {{"type", "http"}, {"scheme", "bearer"}}}};
    return json::serialize(json::object{
        {"openapi", "3.1.0"},
        {"info",
         {{"title", "Gym"},
          {"version", "1"},
          {"description",
           "Jobs, nodes, units, balances and rewards. Amounts are decimal strings of "
           "the token's base units."}}},
        {"paths", std::move(paths)},
        {"components", {{"schemas", openapi_schemas()}, {"securitySchemes", security}}}});
}

}  // namespace gym::api
