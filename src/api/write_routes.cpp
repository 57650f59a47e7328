#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <stdexcept>

#include "gym/common/json_fields.hpp"
#include "routes.hpp"
#include "views.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kDatasetBodyBytesMax = std::uint64_t{256} << 20;

const Parameter kOrderHeader{
    "Gym-Order",
    "JSON: chain_id, escrow, expiry (Unix seconds) and signature (EIP-712, of the order's owner)."};
const Parameter kJobOrderHeader{
    "Gym-Order",
    "JSON: chain_id, escrow, expiry (Unix seconds) and signature (EIP-712, of the order's owner), "
    "and of what is signed datasets, budget_wei, price_wei_per_pflop and max_data_price_wei."};

/// @errors kMalformed.
Result<std::string> idempotency_key(const Call& call) {
    const std::string_view key = call.request.header(kIdempotencyKey);
    bool printable = !key.empty() && key.size() <= kIdempotencyKeyBytesMax;
    for (const char c : key)
        printable = printable && c > ' ' && c < 0x7f;
    if (!printable)
        return fail(ErrorCode::kMalformed,
                    "the header Idempotency-Key must be 1 to 128 printable characters without "
                    "spaces");
    return std::string(key);
}

/// What the owner's signature goes along with. @errors kPermissionDenied without one, kMalformed.
Result<records::OrderSeal> order_seal(const Call& call) {
    const std::string_view header = call.request.header(kOrder);
    if (header.empty())
        return fail(ErrorCode::kPermissionDenied,
                    "money is spent by the owner's signature alone, an API key does not do: the "
                    "header Gym-Order is missing (`gym job submit` and `gym job fund` sign)");
    try {
        const json::object object = json::parse(header).as_object();
        records::OrderSeal seal;
        seal.network.chain_id = json_fields::number_of(object, "chain_id");
        seal.network.escrow = json_fields::fixed_of<Address>(object, "escrow");
        seal.expiry_s = json_fields::number_of(object, "expiry");
        seal.signature = json_fields::fixed_of<crypto::Signature>(object, "signature");
        return seal;
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed, std::string("the header Gym-Order: ") + error.what());
    }
}

/// What the order of a job says of the job's text. @errors kMalformed.
Result<records::OrderTerms> order_terms(const Call& call) {
    try {
        const json::object object = json::parse(call.request.header(kOrder)).as_object();
        records::OrderTerms terms;
        const json::value& datasets = json_fields::member_of(object, "datasets");
        for (const json::value& root : datasets.as_array())
            terms.datasets.push_back(
                json_fields::take("datasets", Digest::parse(std::string_view(root.as_string()))));
        terms.budget_wei = json_fields::amount_of(object, "budget_wei");
        terms.price_wei_per_pflop = json_fields::amount_of(object, "price_wei_per_pflop");
        terms.max_data_price_wei = json_fields::amount_of(object, "max_data_price_wei");
        return terms;
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed,
                    std::string("the header Gym-Order of a job repeats what is signed "
                                "(docs/PROTOCOL.md, \"Orders\"): ") +
                        error.what());
    }
}

Result<Response> submit_job(RouteContext& context, const Call& call) {
    GYM_TRY(std::string key, idempotency_key(call));
    GYM_TRY(const std::uint64_t again, call.number("again", 1, 0));
    GYM_TRY(const records::OrderSeal seal, order_seal(call));
    GYM_TRY(records::OrderTerms terms, order_terms(call));
    GYM_TRY(const Submitted submitted,
            context.with.submissions.submit_job({*call.owner, std::move(key), call.request.body,
                                                 again != 0, seal, std::move(terms), call.key_id}));
    Response response = json_response(submitted.replayed ? 200 : 201,
                                      json::serialize(to_json(submitted.job, viewer_of(call))));
    response.headers.emplace_back("Location", "/v1/jobs/" + submitted.job.id.hex());
    if (submitted.replayed) response.headers.emplace_back("Idempotency-Replayed", "true");
    return response;
}

/// @errors kMalformed for a query without it.
Result<std::string> required(const Call& call, const char* name, const char* what) {
    const auto found = call.query.find(name);
    if (found != call.query.end() && !found->second.empty()) return found->second;
    return fail(ErrorCode::kMalformed, "the query needs '" + std::string(name) + "': " + what);
}

Result<Response> add_dataset(RouteContext& context, const Call& call) {
    DatasetOffer offer;
    offer.owner = *call.owner;
    GYM_TRY(offer.name, required(call, "name", "1 to 128 bytes"));
    GYM_TRY(offer.licence,
            required(call, "licence", "an SPDX expression such as CC-BY-4.0, percent-encoded"));
    if (call.has("price_wei_per_mtoken")) {
        const auto price = Amount::parse(call.query.find("price_wei_per_mtoken")->second);
        if (!price.ok()) return price.error().in("'price_wei_per_mtoken'");
        offer.price_wei_per_mtoken = *price;
    }
    if (call.has("root")) {
        GYM_TRY(offer.root, call.digest("root"));
    }
    if (call.has("upload")) {
        GYM_TRY(offer.upload, call.digest("upload"));
        if (!call.request.body.empty())
            return fail(ErrorCode::kMalformed,
                        "'upload' names the token file: the request has no body then");
    }
    offer.file = as_bytes(call.request.body);
    if (const auto visibility = call.query.find("visibility"); visibility != call.query.end()) {
        GYM_TRY(offer.access, registry::make_access(visibility->second, {}));
    }
    GYM_CHECK(check_confidential(context, offer.access
                                              ? offer.access->visibility
                                              : registry::default_visibility(offer.licence)));
    GYM_TRY(const auto added, context.with.submissions.add_dataset(offer));
    return json_response(added.is_new ? 201 : 200,
                         json::serialize(to_json(added.dataset, viewer_of(call))));
}

/// {"amount_wei": "..."}
Result<Amount> amount_of(const std::string& body) {
    std::string text;
    try {
        const json::object object = json::parse(body).as_object();
        text = json_fields::text_of(object, "amount_wei");
        // Of a name that stands there twice the parser keeps the last: no name has a comma in it.
        if (object.size() != 1 || body.find(',') != std::string::npos)
            throw std::runtime_error("other members");
    } catch (const std::exception&) {
        return fail(ErrorCode::kMalformed, "the body must be {\"amount_wei\": \"<decimal>\"}");
    }
    auto amount = Amount::parse(text);
    if (amount.ok() && !amount->is_zero()) return amount;
    return fail(ErrorCode::kInvalidArgument, "'amount_wei' must be a decimal number above zero");
}

Result<Response> fund_job(RouteContext& context, const Call& call) {
    Funding funding;
    funding.owner = *call.owner;
    GYM_TRY(funding.job_id, call.digest("id"));
    GYM_TRY(funding.idempotency_key, idempotency_key(call));
    GYM_TRY(funding.seal, order_seal(call));
    GYM_TRY(funding.amount, amount_of(call.request.body));
    funding.key_id = call.key_id;
    GYM_TRY(const auto job, context.with.submissions.fund_job(funding));
    return json_response(200, json::serialize(to_json(job, viewer_of(call))));
}

Route request_route(RouteContext& context, const std::string& verb, registry::JobRequest what,
                    const std::string& summary) {
    return {.method = "POST",
            .pattern = "/v1/jobs/{id}/" + verb,
            .id = verb + "Job",
            .summary = summary,
            .path = {{"id", "The job's id."}},
            .needs_key = true,
            .scope = KeyScope::kJobs,
            .schema = "Job",
            .run = [&context, what](const Call& call) -> Result<Response> {
                GYM_TRY(const Digest id, call.digest("id"));
                GYM_TRY(const auto job,
                        context.with.submissions.request_job(*call.owner, id, what));
                return json_response(200, json::serialize(to_json(job, viewer_of(call))));
            }};
}

void add_dataset_route(Router& router, RouteContext& context) {
    router.add({.method = "POST",
                .pattern = "/v1/datasets",
                .id = "addDataset",
                .summary =
                    "Stores a token file (`gym data build`) and registers it for the owner, with "
                    "its novelty against all earlier datasets. A repeated upload answers 200 with "
                    "the existing record: the first name stays. 409: the file is registered by "
                    "another owner, or with another licence or price.",
                .query = {{"name",
                           "A name for people, 1 to 128 bytes; cannot be changed later. Required."},
                          {"licence", "An SPDX license expression, like CC-BY-4.0. Required."},
                          {"price_wei_per_mtoken",
                           "The price of a million tokens that final units consume, in base units, "
                           "times the quality (default 0)."},
                          {"visibility",
                           "public, allow-list or private (default: public, and private under "
                           "LicenseRef-private). An allow-list is empty until PUT "
                           "/v1/datasets/{root}/visibility."},
                          {"root", "The expected root of the tokens; 422 if they have another."},
                          {"upload",
                           "The root of a blob that the owner has uploaded (PUT /v1/blobs/{root}), "
                           "in the place of a body: for token files of any size."}},
                .needs_key = true,
                .body_type = "application/octet-stream",
                // Held in memory: larger ones are uploaded.
                .body_bytes_max = std::min(context.options.dataset_bytes_max, kDatasetBodyBytesMax),
                .success = 201,
                .also_success = {200},
                .schema = "Dataset",
                .run = [&context](const Call& call) { return add_dataset(context, call); }});
}

}  // namespace

void add_write_routes(Router& router, RouteContext& context) {
    router.add({.method = "POST",
                .pattern = "/v1/jobs",
                .id = "submitJob",
                .summary =
                    "Submits a job file with its model inlined, by the owner's signed JobOrder "
                    "(docs/PROTOCOL.md, Orders): gym-rewards checks it and locks the "
                    "budget, within a second or two. A "
                    "repeated request (same key and body) answers 200 with the same job. "
                    "409: the dataset costs more than the job's max_data_price, or the "
                    "same job is already running.",
                .query = {{"again",
                           "1: submit even if a job of the owner with the same body is running "
                           "(default 0)."}},
                .headers = {{"Idempotency-Key",
                             "Chosen by the caller, new for each job: 1 to 128 characters. Its "
                             "SHA-256 is the order's nonce."},
                            kJobOrderHeader},
                .needs_key = true,
                .scope = KeyScope::kSpend,
                .body_type = "application/yaml",
                .body_bytes_max = 1 << 20,
                .success = 201,
                .also_success = {200},
                .schema = "Job",
                .run = [&context](const Call& call) { return submit_job(context, call); }});
    router.add({.method = "POST",
                .pattern = "/v1/jobs/{id}/budget",
                .id = "fundJob",
                .summary = "Orders more of the owner's money for the job, by the owner's signed "
                           "JobFunding: gym-rewards checks it, locks the money and raises the "
                           "budget; a job that paused for want of budget resumes. A "
                           "repeated request (same key and body) adds nothing.",
                .path = {{"id", "The job's id."}},
                .headers = {{"Idempotency-Key",
                             "Chosen by the caller, new for each sum: 1 to 128 characters. Its "
                             "SHA-256 is the order's nonce."},
                            kOrderHeader},
                .needs_key = true,
                .scope = KeyScope::kSpend,
                .body_type = "application/json",
                .body_schema = "Funding",
                .body_bytes_max = 1 << 10,
                .schema = "Job",
                .run = [&context](const Call& call) { return fund_job(context, call); }});
    router.add(request_route(context, "pause", registry::JobRequest::kPause,
                             "Pauses a job: the running round ends, and no further round begins "
                             "until the job is resumed."));
    router.add(request_route(context, "resume", registry::JobRequest::kResume,
                             "Resumes a paused job, or withdraws a requested pause."));
    router.add(
        request_route(context, "cancel", registry::JobRequest::kCancel,
                      "Ends a job: assigned units are still checked and paid, the rest of its "
                      "budget returns."));
    add_dataset_route(router, context);
}

}  // namespace gym::api
