#include "gym/client/api_client.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>

#include <thread>

#include "access.hpp"
#include "exchange.hpp"
#include "gym/blob/directory_store.hpp"
#include "gym/blob/read_once.hpp"
#include "gym/blob/verified_blob.hpp"
#include "gym/common/ppm.hpp"
#include "read_records.hpp"

namespace gym::client {
namespace {

namespace json = boost::json;
constexpr std::uint64_t kReadDatasetBytesPerMs = 5'000;  // 5 MB/s at least
constexpr std::uint64_t kDayMs = 86'400'000;
/// A mix as large as gym-api makes one, behind others that wait.
constexpr std::chrono::minutes kMixWaitMax{30};
constexpr std::chrono::milliseconds kMixPauseMin{50}, kMixPauseMax{1'000};

std::string path_of_round(const Digest& job, std::uint64_t round) {
    return "/v1/jobs/" + job.hex() + "/rounds/" + std::to_string(round);
}

/// The header that takes an order's signature along.
json::object object_of(const records::OrderSeal& seal) {
    return {{"chain_id", seal.network.chain_id},
            {"escrow", seal.network.escrow.hex()},
            {"expiry", seal.expiry_s},
            {"signature", seal.signature.hex()}};
}
/// The same of a job, with what gym-api needs to check it before it reads the job's text.
json::object object_of(const records::SealedTerms& order) {
    json::array datasets;
    for (const Digest& root : order.terms.datasets)
        datasets.emplace_back(root.hex());
    json::object out = object_of(order.seal);
    out["datasets"] = std::move(datasets);
    out["budget_wei"] = order.terms.budget_wei.to_string();
    out["price_wei_per_pflop"] = order.terms.price_wei_per_pflop.to_string();
    out["max_data_price_wei"] = order.terms.max_data_price_wei.to_string();
    return out;
}

/// Adds a page of at most `wanted` lines. Pages get older, so that there is an end.
Status add_page(Statement page, std::uint64_t wanted, Statement& out) {
    const bool is_older =
        !page.next_before || !out.next_before || *page.next_before < *out.next_before;
    if (page.transfers.size() > wanted || (page.transfers.empty() && page.next_before) || !is_older)
        return fail(ErrorCode::kMalformed,
                    "gym-api's statement has no end, or more lines than requested");
    out.transfers.insert(out.transfers.end(), std::make_move_iterator(page.transfers.begin()),
                         std::make_move_iterator(page.transfers.end()));
    out.next_before = page.next_before;
    return {};
}

}  // namespace

ApiClient::ApiClient(ApiOptions options) : options_(std::move(options)) {}

Result<std::vector<registry::ServiceHealth>> ApiClient::health() const {
    return get("/healthz", list_in("services", read_service_health));
}

Result<Network> ApiClient::network() const {
    return get("/v1/network", read_network);
}

Result<Market> ApiClient::market() const {
    return get("/v1/market", read_market);
}

Result<NetworkFee> ApiClient::fee() const {
    return get("/v1/fee", read_fee);
}

Result<std::vector<Node>> ApiClient::nodes(records::NodeRole role) const {
    std::vector<Node> out;
    std::string after;
    for (std::size_t page = 0; page < kPagesMax; ++page) {
        GYM_TRY(auto nodes, get("/v1/nodes?role=" + std::string(records::to_string(role)) +
                                    "&limit=" + std::to_string(kPageItemsMax) + after,
                                list_in("nodes", read_node)));
        out.insert(out.end(), nodes.begin(), nodes.end());
        if (nodes.size() < kPageItemsMax) return out;
        after = "&after=" + nodes.back().address.hex();
    }
    return fail(ErrorCode::kOutOfRange, "gym-api lists more nodes than a network can have");
}

Result<Answer<Account>> ApiClient::account(const Address& address) const {
    return get("/v1/accounts/" + address.hex(), with_json(read_account));
}

Result<Statement> ApiClient::statement(const Address& address, std::uint64_t limit,
                                       std::optional<std::uint64_t> before) const {
    Statement out;
    out.next_before = before;
    do {
        const std::uint64_t wanted =
            std::min<std::uint64_t>(kPageItemsMax, limit - out.transfers.size());
        std::string path =
            "/v1/accounts/" + address.hex() + "/transfers?limit=" + std::to_string(wanted);
        if (out.next_before) path += "&before=" + std::to_string(*out.next_before);
        auto page = get(path, [](const json::object& object) {
            return Statement{
                json_fields::list_of(object, "transfers", with_json(read_transfer)),
                json_fields::null_or(object, "next_before", json_fields::number_of<std::uint64_t>)};
        });
        if (!page.ok()) return page.error();
        GYM_CHECK(add_page(*std::move(page), wanted, out));
    } while (out.next_before && out.transfers.size() < limit);
    return out;
}

Result<Answer<rewards::Receipt>> ApiClient::receipt(const std::string& id) const {
    return get("/v1/receipts/" + id, with_json(read_receipt));
}

Result<AnswerList<rewards::Receipt>> ApiClient::unit_credits(const std::string& unit) const {
    return get("/v1/units/" + unit + "/credits", list_in("credits", with_json(read_receipt)));
}

Result<ClaimProof> ApiClient::claim_proof(const Address& earner) const {
    return get("/v1/rewards/" + earner.hex() + "/proof", read_claim_proof);
}

Result<std::string> ApiClient::epoch_file(std::uint64_t epoch) const {
    return get_text("/v1/epochs/" + std::to_string(epoch) + "/file", kFileBytesMax);
}

Result<std::string> ApiClient::transfer_proof(const std::string& uuid) const {
    return get_text("/v1/transfers/" + uuid + "/proof", kJsonBytesMax);
}

Result<Answer<JobDetail>> ApiClient::job(const Digest& id) const {
    return get("/v1/jobs/" + id.hex(), with_json(read_job_detail));
}

Result<AnswerList<Job>> ApiClient::jobs(const ListPage& page) const {
    return get("/v1/jobs" + query_of(page), list_in("jobs", with_json(read_job)));
}

Result<Answer<JobBill>> ApiClient::bill(const Digest& job) const {
    return get("/v1/jobs/" + job.hex() + "/bill", with_json(read_bill));
}

Result<Answer<Job>> ApiClient::submit_job(const std::string& yaml,
                                          const std::string& idempotency_key,
                                          const records::SealedTerms& order, bool again) const {
    return post({.path = again ? "/v1/jobs?again=1" : "/v1/jobs",
                 .content_type = "application/yaml",
                 .body = yaml,
                 .idempotency_key = idempotency_key,
                 .order = json::serialize(object_of(order))},
                with_json(read_job));
}

Result<Answer<Job>> ApiClient::fund_job(const Digest& job, const Amount& amount,
                                        const std::string& idempotency_key,
                                        const records::OrderSeal& seal) const {
    return post({.path = "/v1/jobs/" + job.hex() + "/budget",
                 .body = json::serialize(json::object{{"amount_wei", amount.to_string()}}),
                 .idempotency_key = idempotency_key,
                 .order = json::serialize(object_of(seal))},
                with_json(read_job));
}

Result<Answer<Job>> ApiClient::ask_job(const Digest& job, const std::string& verb) const {
    return post({.path = "/v1/jobs/" + job.hex() + "/" + verb, .repeatable = false},
                with_json(read_job));
}

Result<std::optional<Answer<registry::Dataset>>> ApiClient::dataset(const Digest& root) const {
    auto answer = get("/v1/datasets/" + root.hex(), with_json(read_dataset));
    if (answer.ok()) return std::optional(*std::move(answer));
    if (answer.error().code == ErrorCode::kNotFound)
        return std::optional<Answer<registry::Dataset>>();
    return answer.error();
}

Result<AnswerList<registry::Dataset>> ApiClient::datasets(const ListPage& page) const {
    return get("/v1/datasets" + query_of(page), list_in("datasets", with_json(read_dataset)));
}

Result<Answer<registry::Dataset>> ApiClient::register_dataset(
    const blob::Dataset& dataset, const DatasetTerms& terms, const UploadProgress& progress) const {
    const Bytes file = dataset.encode();
    if (file.size() > options_.dataset_body_bytes)
        return register_upload(blob::blob_root(file), source_of(file), dataset.root(), terms,
                               progress);
    return register_body(file, dataset.root(), terms);
}

Result<Answer<registry::Dataset>> ApiClient::register_dataset(
    const std::filesystem::path& token_file, const Digest& root, const DatasetTerms& terms,
    const UploadProgress& progress) const {
    GYM_TRY(const auto file, blob::open_file(token_file));
    if (file->size() <= options_.dataset_body_bytes) {
        Bytes content(file->size());
        GYM_CHECK(file->read(0, content));
        return register_body(content, root, terms);
    }
    GYM_TRY(const Digest blob, blob::blob_root(*file));
    GYM_TRY(const BlobSource source, source_of(token_file));
    return register_upload(blob, source, root, terms, progress);
}

Result<Answer<registry::Dataset>> ApiClient::register_body(ByteView file, const Digest& root,
                                                           const DatasetTerms& terms) const {
    Post post{.path = {}, .timeout_ms = kUploadTimeoutMs};
    post.body.assign(file.begin(), file.end());
    return post_dataset(std::move(post), root, terms);
}

Result<Answer<registry::Dataset>> ApiClient::register_upload(const Digest& blob,
                                                             const BlobSource& source,
                                                             const Digest& root,
                                                             const DatasetTerms& terms,
                                                             const UploadProgress& progress) const {
    GYM_TRY([[maybe_unused]] const auto sent, upload_blob(blob, source, progress));
    // gym-api reads the whole file before it answers.
    const std::uint64_t timeout_ms = kUploadTimeoutMs + source.size_bytes / kReadDatasetBytesPerMs;
    Post post{.path = "&upload=" + blob.hex(),
              .timeout_ms = static_cast<std::uint32_t>(std::min(timeout_ms, kDayMs))};
    auto registered = post_dataset(std::move(post), root, terms);
    if (registered.ok()) forget_upload(blob);
    return registered;
}

/// The network has it; the upload would count against the owner's quota for days.
void ApiClient::forget_upload(const Digest& blob) const {
    [[maybe_unused]] const auto forgotten =
        post({.method = "DELETE", .path = "/v1/blobs/" + blob.hex()}, with_json(read_upload));
}

Status ApiClient::give_manifest(const Digest& dataset, const std::filesystem::path& file,
                                const UploadProgress& progress) const {
    GYM_TRY(const auto reader, blob::open_file(file));
    GYM_TRY(const Digest blob, blob::blob_root(*reader));
    GYM_TRY(const BlobSource source, source_of(file));
    GYM_TRY([[maybe_unused]] const auto sent, upload_blob(blob, source, progress));
    const std::uint64_t timeout_ms = kUploadTimeoutMs + source.size_bytes / kReadDatasetBytesPerMs;
    const auto given =
        post({.method = "PUT",
              .path = "/v1/datasets/" + dataset.hex() + "/manifest?upload=" + blob.hex(),
              .timeout_ms = static_cast<std::uint32_t>(std::min(timeout_ms, kDayMs))},
             with_json([](const json::object& object) { return object.contains("root"); }));
    if (!given.ok()) return given.error();
    forget_upload(blob);
    return {};
}

/// @param post holds the file, or names it in the end of its path.
Result<Answer<registry::Dataset>> ApiClient::post_dataset(Post post, const Digest& root,
                                                          const DatasetTerms& terms) const {
    const registry::Visibility visibility =
        terms.access ? terms.access->visibility : registry::default_visibility(terms.licence);
    GYM_CHECK(check_confidential(visibility));
    post.path =
        "/v1/datasets?name=" + encode_query(terms.name) +
        "&licence=" + encode_query(terms.licence) +
        "&price_wei_per_mtoken=" + terms.price_wei_per_mtoken.to_string() + "&root=" + root.hex() +
        (terms.access ? "&visibility=" + std::string(to_string(visibility)) : "") + post.path;
    post.content_type = "application/octet-stream";
    auto registered = this->post(post, with_json(read_dataset));
    // A list does not fit into a URL; until it is there, the dataset is its owner's alone.
    if (!registered.ok() || !terms.access || terms.access->allowed.empty()) return registered;
    return set_dataset_access(root, *terms.access);
}

Result<Answer<registry::Dataset>> ApiClient::set_dataset_access(
    const Digest& root, const registry::Access& access) const {
    return post({.method = "PUT",
                 .path = "/v1/datasets/" + root.hex() + "/visibility",
                 .body = access_body(access)},
                with_json(read_dataset));
}

Result<Answer<Job>> ApiClient::set_job_access(const Digest& job,
                                              const registry::Access& access) const {
    return post({.method = "PUT",
                 .path = "/v1/jobs/" + job.hex() + "/visibility",
                 .body = access_body(access)},
                with_json(read_job));
}

Result<Answer<Mix>> ApiClient::mix(const MixRequest& request) const {
    json::array parts;
    for (const MixRequest::Part& part : request.parts)
        parts.push_back(json::object{{"dataset", part.root.hex()},
                                     {"weight", static_cast<double>(part.weight_ppm) / kPpm}});
    return post({.path = "/v1/mixes",
                 .body = json::serialize(json::object{{"parts", std::move(parts)},
                                                      {"tokens", request.tokens},
                                                      {"best_effort", request.best_effort}})},
                with_json(read_mix));
}

Result<registry::Dataset> ApiClient::make_mix(const MixRequest& request,
                                              const std::function<void(const Mix&)>& waits) const {
    const auto deadline = std::chrono::steady_clock::now() + kMixWaitMax;
    std::chrono::milliseconds pause = kMixPauseMin;
    for (;;) {
        GYM_TRY(const auto mix, this->mix(request));
        if (mix->dataset) return *mix->dataset;
        if (std::chrono::steady_clock::now() > deadline)
            return fail(ErrorCode::kTimeout,
                        "gym-api has not made the mix yet; ask for it again later");
        if (waits) waits(*mix);
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kMixPauseMax);
    }
}

Status ApiClient::give_tokenizer(const Digest& dataset, ByteView files) const {
    http::Request request{.method = "PUT",
                          .target = "/v1/datasets/" + dataset.hex() + "/tokenizer",
                          .body = std::string(files.begin(), files.end())};
    request.headers = {{"Content-Type", "application/octet-stream"},
                       {"Authorization", "Bearer " + options_.key}};
    const auto body = db::with_retry(
        [&] { return exchange(options_.url, request, kUploadTimeoutMs); }, options_.retry_for);
    return body.ok() ? Status() : Status(body.error());
}

Result<std::optional<Bytes>> ApiClient::tokenizer_files(const Digest& dataset) const {
    const http::Request request{.target = "/v1/datasets/" + dataset.hex() + "/tokenizer",
                                .headers = {{"Authorization", "Bearer " + options_.key}}};
    const auto body = db::with_retry(
        [&] { return exchange(options_.url, request, kUploadTimeoutMs, kFileBytesMax); },
        options_.retry_for);
    if (body.ok()) return std::optional(Bytes(body->begin(), body->end()));
    if (body.error().code == ErrorCode::kNotFound) return std::optional<Bytes>();
    return body.error();
}

Result<Answer<registry::DatasetVersion>> ApiClient::name_dataset(
    const registry::DatasetReference& reference, const Digest& root) const {
    const std::string version =
        reference.version ? "&version=" + std::to_string(*reference.version) : "";
    return post({.path = "/v1/dataset-names/" + encode_query(reference.name) +
                         "/versions?root=" + root.hex() + version},
                with_json(read_dataset_version));
}

Status ApiClient::check_dataset_name(const registry::DatasetReference& reference,
                                     const Digest& root) const {
    GYM_TRY(const auto known, dataset(root));
    if (known) return {};
    const auto named = name_dataset(reference, root);
    if (named.ok() || named.error().code == ErrorCode::kNotFound) return {};
    return named.error();
}

Result<Answer<registry::DatasetVersion>> ApiClient::dataset_version(
    const registry::DatasetReference& reference) const {
    const std::string version = reference.version ? std::to_string(*reference.version) : "latest";
    return get("/v1/dataset-names/" + encode_query(reference.name) + "/versions/" + version,
               with_json(read_dataset_version));
}

Result<AnswerList<registry::DatasetVersion>> ApiClient::dataset_versions(
    const std::string& name) const {
    return get("/v1/dataset-names/" + encode_query(name),
               list_in("versions", with_json(read_dataset_version)));
}

Result<AnswerList<registry::Evaluation>> ApiClient::evaluations() const {
    return get("/v1/evaluations?limit=1000", list_in("evaluations", with_json(read_evaluation)));
}

Result<PublishedRound> ApiClient::round(const Digest& job, std::uint64_t round) const {
    return get(path_of_round(job, round), read_round, kFileBytesMax);
}

Result<std::vector<registry::Unit>> ApiClient::units(const Digest& job, std::uint64_t round) const {
    return get("/v1/units?job=" + job.hex() + "&round=" + std::to_string(round) +
                   "&limit=" + std::to_string(kPageItemsMax),
               list_in("units", read_unit));
}

Result<std::vector<UnitReport>> ApiClient::unit_reports(const Digest& unit) const {
    return get("/v1/units/" + unit.hex(), list_in("reports", read_unit_report));
}

Result<std::vector<Bytes>> ApiClient::commitments(const Digest& job, std::uint64_t round) const {
    return get_pages(path_of_round(job, round) + "/commitments", "commitments",
                     [](const json::object& object) { return read_bytes(object, "commitment"); });
}

Result<std::vector<registry::PublishedReport>> ApiClient::reports(const Digest& job,
                                                                  std::uint64_t round) const {
    return get_pages(path_of_round(job, round) + "/reports", "reports", read_published_report);
}

Result<std::vector<registry::Prefix>> ApiClient::prefixes(const Digest& job,
                                                          std::uint64_t round) const {
    return get_pages(path_of_round(job, round) + "/prefixes", "prefixes", read_prefix);
}

Result<std::vector<protocol::PublishedChallenge>> ApiClient::challenges(const Address& node,
                                                                        UnixMs from_ms,
                                                                        UnixMs to_ms) const {
    return get_pages("/v1/nodes/" + node.hex() + "/challenges?from_ms=" + std::to_string(from_ms) +
                         "&to_ms=" + std::to_string(to_ms),
                     "challenges", read_challenge);
}

}  // namespace gym::client
