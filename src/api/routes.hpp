#pragma once

#include "gym/api/api.hpp"
#include "gym/api/turns.hpp"
#include "metrics.hpp"
#include "reads_in_flight.hpp"

namespace gym::api {

/// State that the handlers of one Api share.
struct RouteContext {
    ApiDependencies with;
    ApiOptions options;
    Metrics& metrics;
    Turns tokenizers = {};          ///< reading one takes hundreds of megabytes
    ReadsInFlight statements = {};  ///< and proofs
};

// One function per group of routes; `context` must outlive the router.
void add_read_routes(Router& router, RouteContext& context);
void add_statement_routes(Router& router, RouteContext& context);
void add_evidence_routes(Router& router, RouteContext& context);
void add_model_routes(Router& router, RouteContext& context);
void add_dataset_name_routes(Router& router, RouteContext& context);
void add_dataset_tokens_route(Router& router, RouteContext& context);
void add_dataset_manifest_routes(Router& router, RouteContext& context);
void add_dataset_tokenizer_routes(Router& router, RouteContext& context);
void add_mix_route(Router& router, RouteContext& context);
void add_model_name_routes(Router& router, RouteContext& context);
void add_visibility_routes(Router& router, RouteContext& context);
void add_write_routes(Router& router, RouteContext& context);
void add_upload_routes(Router& router, RouteContext& context);
void add_service_routes(Router& router, RouteContext& context);

/// The caller's turn to have tokenizer files read. @errors kUnavailable while another's lasts.
[[nodiscard]] Result<Turns::Turn> turn_for_tokenizer(RouteContext& context, const Call& call);

/// On whose behalf a call reads: the owner of its API key, or somebody without one.
[[nodiscard]] inline registry::Viewer viewer_of(const Call& call) {
    return registry::Viewer::account(call.owner);
}
/// @errors kPermissionDenied where something that is not public would travel in the clear.
[[nodiscard]] Status check_confidential(const RouteContext& context,
                                        registry::Visibility visibility);
/// Reads {"visibility": "...", "allowed": ["0x...", ...]}; the list may be left out.
/// @errors kMalformed; those of registry::make_access().
[[nodiscard]] Result<registry::Access> read_access(const std::string& body);

/// A JSON answer.
[[nodiscard]] Response json_response(unsigned status, const std::string& serialized);

/// Header that names a request once and for all: a retry with the same value does nothing twice.
inline constexpr const char* kIdempotencyKey = "idempotency-key";
inline constexpr const char* kOrder = "gym-order";
inline constexpr std::size_t kIdempotencyKeyBytesMax = 128;

}  // namespace gym::api
