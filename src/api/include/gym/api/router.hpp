#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/api/http.hpp"
#include "gym/api/key_terms.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

namespace gym::api {

/// A request that matched a route.
struct Call {
    const Request& request;
    std::map<std::string, std::string, std::less<>> path;   ///< decoded values of {name}
    std::map<std::string, std::string, std::less<>> query;  ///< decoded; only declared names
    /// Whose API key it is; set when the route needs one, or takes one and the request has it.
    std::optional<Address> owner;
    std::string key_id = {};  ///< of that key

    /// A path or query value as 20 or 32 bytes of hexadecimal, or a number.
    /// @errors kMalformed naming the parameter.
    [[nodiscard]] Result<Address> address(std::string_view name) const;
    [[nodiscard]] Result<Digest> digest(std::string_view name) const;
    [[nodiscard]] Result<std::uint64_t> number(std::string_view name, std::uint64_t max,
                                               std::uint64_t fallback) const;
    [[nodiscard]] bool has(std::string_view query_name) const { return query.contains(query_name); }

  private:
    [[nodiscard]] Result<std::string> text(std::string_view name) const;
};

struct Parameter {
    std::string name;
    std::string description;
};

/// One operation, with what openapi.json says about it: documented where it is defined.
struct Route {
    std::string method;
    std::string pattern;  ///< "/v1/jobs/{id}"
    std::string id;       ///< operationId, also the name in the metrics
    std::string summary;
    std::vector<Parameter> path = {};
    std::vector<Parameter> query = {};
    std::vector<Parameter> headers = {};  ///< required ones
    bool needs_key = false;               ///< an API key as bearer token
    bool takes_key = false;               ///< may have one: its owner sees more than others
    /// That its key needs; absent: kRead to read, kData for all else.
    std::optional<KeyScope> scope = {};
    std::string body_type = {};    ///< content type; empty: no body
    std::string body_schema = {};  ///< empty: a text or bytes
    std::uint64_t body_bytes_max = 0;
    unsigned success = 200;
    std::vector<unsigned> also_success = {};  ///< with the same schema
    std::string schema = {};                  ///< of the answer; empty: JSON of its own, or no JSON
    std::string answer_type = "application/json";
    std::function<Result<Response>(const Call&)> run = {};
    /// Of a route that streams its body: who takes it, decided before a byte of it is read.
    std::function<Result<std::shared_ptr<BodySink>>(const Call&)> begin = {};
};

[[nodiscard]] KeyScope scope_of(const Route& route);

/// Finds the route of a request. Immutable after set-up, so thread-safe.
class Router {
  public:
    /// Routes are tried in this order; literal segments before {parameters} is up to the caller.
    void add(Route route) { routes_.push_back(std::move(route)); }

    struct Match {
        const Route* route = nullptr;
        std::map<std::string, std::string, std::less<>> path;
        std::map<std::string, std::string, std::less<>> query;
    };
    /// HEAD matches GET. @errors kNotFound; kConflict for a known path with another method (the
    /// message lists the allowed ones); kMalformed for a query that does not decode or has an
    /// unknown or repeated name.
    [[nodiscard]] Result<Match> match(std::string_view method, std::string_view target) const;
    [[nodiscard]] const std::vector<Route>& routes() const noexcept { return routes_; }

  private:
    std::vector<Route> routes_;
};

/// The OpenAPI 3.1 description of `router`'s routes, as JSON text.
[[nodiscard]] std::string openapi_json(const Router& router);

}  // namespace gym::api
