#pragma once

#include "gym/api/api.hpp"
#include "metrics.hpp"

namespace gym::api {

/// State that the handlers of one Api share.
struct RouteContext {
    ApiDependencies with;
    ApiOptions options;
    Metrics& metrics;
};

// One function per group of routes; `context` must outlive the router.
void add_read_routes(Router& router, RouteContext& context);
void add_statement_routes(Router& router, RouteContext& context);
void add_evidence_routes(Router& router, RouteContext& context);
void add_model_routes(Router& router, RouteContext& context);
void add_dataset_name_routes(Router& router, RouteContext& context);
void add_dataset_tokens_route(Router& router, RouteContext& context);
void add_dataset_tokenizer_routes(Router& router, RouteContext& context);
void add_mix_route(Router& router, RouteContext& context);
void add_write_routes(Router& router, RouteContext& context);
void add_upload_routes(Router& router, RouteContext& context);
void add_service_routes(Router& router, RouteContext& context);

/// A JSON answer.
[[nodiscard]] Response json_response(unsigned status, const std::string& serialized);

/// Header that names a request once and for all: a retry with the same value does nothing twice.
inline constexpr const char* kIdempotencyKey = "idempotency-key";
inline constexpr const char* kOrder = "gym-order";
inline constexpr std::size_t kIdempotencyKeyBytesMax = 128;

}  // namespace gym::api
