#include "gym/api/api.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <exception>
#include <utility>

#include "routes.hpp"

namespace gym::api {
namespace {

constexpr std::string_view kBearer = "Bearer ";

/// The bearer token of a request. @errors kUnauthenticated.
Result<std::string_view> bearer_token(const Request& request) {
    const std::string_view header = request.header("authorization");
    if (!header.starts_with(kBearer))
        return fail(ErrorCode::kUnauthenticated,
                    "this needs an API key: Authorization: Bearer gym_...");
    return header.substr(kBearer.size());
}

Call call_of(const Request& request, const Router::Match& match,
             const std::optional<KeyHolder>& holder) {
    if (!holder) return {request, match.path, match.query, std::nullopt};
    return {request, match.path, match.query, holder->owner, holder->key_id};
}

bool same_media_type(std::string_view header, std::string_view wanted) {
    const std::string_view type = header.substr(0, header.find(';'));
    return type == wanted || (type.starts_with(wanted) && type[wanted.size()] == ' ');
}

}  // namespace

Response json_response(unsigned status, const std::string& serialized) {
    Response response;
    response.status = status;
    response.body = serialized + "\n";
    return response;
}

struct Api::Impl {
    Impl(ApiDependencies dependencies, ApiOptions options)
        : context{dependencies, std::move(options), metrics} {
        add_read_routes(router, context);
        add_evidence_routes(router, context);
        add_statement_routes(router, context);
        add_model_routes(router, context);
        add_dataset_name_routes(router, context);
        add_dataset_tokens_route(router, context);
        add_dataset_manifest_routes(router, context);
        add_dataset_tokenizer_routes(router, context);
        add_mix_route(router, context);
        add_model_name_routes(router, context);
        add_visibility_routes(router, context);
        add_write_routes(router, context);
        add_upload_routes(router, context);
        add_service_routes(router, context);
    }

    Response no_route(const Error& error, const Request& request) {
        metrics.request("none", error.code == ErrorCode::kConflict ? 405 : http_status(error.code),
                        0);
        if (error.code != ErrorCode::kConflict) return problem(error, request.request_id);
        Response response = problem(405, "method_not_allowed", "allowed here: " + error.message,
                                    request.request_id);
        response.headers.emplace_back("Allow", error.message);
        return response;
    }

    /// Whose API key the request has, where the route needs one, or takes one and it is there.
    Result<std::optional<KeyHolder>> holder_of(const Route& route, const Request& request) {
        const bool offered = route.takes_key && !request.header("authorization").empty();
        if (!route.needs_key && !offered) return std::optional<KeyHolder>{};
        GYM_TRY(const std::string_view token, bearer_token(request));
        GYM_TRY(KeyHolder holder, context.with.keys.authenticate(token));
        GYM_CHECK(check_scope(holder, scope_of(route)));
        return std::optional(std::move(holder));
    }

    Result<Response> run(const Router::Match& match, const Request& request) {
        GYM_TRY(const std::optional<KeyHolder> holder, holder_of(*match.route, request));
        try {
            return match.route->run(call_of(request, match, holder));
        } catch (const std::exception& error) {
            return fail(ErrorCode::kInternal, error.what());
        }
    }

    Metrics metrics;
    RouteContext context;
    Router router;
};

Api::Api(ApiDependencies dependencies, ApiOptions options)
    : impl_(std::make_unique<Impl>(dependencies, std::move(options))) {}
Api::~Api() = default;

const Router& Api::router() const noexcept {
    return impl_->router;
}

Handler::Admission Api::admit(const Request& head) {
    const auto match = impl_->router.match(head.method, head.target);
    if (!match.ok()) return {impl_->no_route(match.error(), head), 0, {}};
    const Route& route = *match->route;
    // The key is checked before the body, so that strangers cannot make the server hold megabytes.
    const auto holder = impl_->holder_of(route, head);
    if (!holder.ok()) {
        impl_->metrics.request(route.id, http_status(holder.error().code), 0);
        return {problem(holder.error(), head.request_id), 0, {}};
    }
    if (!route.body_type.empty() &&
        !same_media_type(head.header("content-type"), route.body_type)) {
        impl_->metrics.request(route.id, 415, 0);
        return {problem(415, "unsupported_media_type",
                        "the body must be of type " + route.body_type, head.request_id),
                0,
                {}};
    }
    const std::string account = *holder ? (*holder)->owner.hex() : "";
    if (!route.begin) return {std::nullopt, route.body_bytes_max, {}, account};
    auto sink = route.begin(call_of(head, *match, *holder));
    if (sink.ok()) return {std::nullopt, route.body_bytes_max, *std::move(sink), account};
    impl_->metrics.request(route.id, http_status(sink.error().code), 0);
    return {problem(sink.error(), head.request_id), 0, {}};
}

Response Api::handle(const Request& request) {
    const auto start = std::chrono::steady_clock::now();
    const auto match = impl_->router.match(request.method, request.target);
    if (!match.ok()) return impl_->no_route(match.error(), request);
    auto result = impl_->run(*match, request);
    Response response;
    if (result.ok()) {
        response = std::move(result).value();
    } else {
        response = problem(result.error(), request.request_id);
        if (response.status >= 500)
            spdlog::warn("request {} {} {}: {}", request.request_id, request.method,
                         match->route->pattern, result.error().message);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    impl_->metrics.request(match->route->id, response.status, took.count());
    return response;
}

Response Api::refuse(unsigned status, std::string_view detail, std::string_view request_id) {
    impl_->metrics.request("none", status, 0);
    std::string code(phrase(status));
    for (char& c : code)
        c = c == ' ' ? '_' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return problem(status, code, detail, request_id);
}

Response Api::refuse_body(const Error& error, std::string_view request_id) {
    impl_->metrics.request("none", http_status(error.code), 0);
    return problem(error, request_id);
}

void Api::connections(std::int64_t open) {
    impl_->metrics.connections(open);
}

}  // namespace gym::api
