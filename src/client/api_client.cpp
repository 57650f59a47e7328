#include "gym/client/api_client.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <chrono>
#include <system_error>
#include <thread>

#include "gym/common/file.hpp"
#include "gym/common/json_fields.hpp"
#include "gym/common/printable.hpp"
#include "gym/db/database.hpp"
#include "gym/http/connection.hpp"
#include "read_records.hpp"

namespace gym::client {
namespace {

namespace json = boost::json;
using http::Reply;

constexpr std::uint32_t kTimeoutMs = 10'000;
/// Of one upload: the server compares a hundred million tokens with all others in this time.
constexpr std::uint32_t kUploadTimeoutMs = 180'000;
/// Of a piece of a model: 8 MiB at one megabit a second.
constexpr std::uint32_t kPieceTimeoutMs = 70'000;
constexpr std::size_t kUploadPartBytes = std::size_t{8} << 20;
constexpr std::uint64_t kCheckedBytesPerMs = 50'000;  // 50 MB/s at least
constexpr std::uint64_t kDayMs = 86'400'000;
constexpr std::chrono::milliseconds kUploadPause{100};
constexpr std::uint64_t kReplyBytesMax = 256U << 20;  // an epoch file of a large network
/// More than a round of the most slots has of anything, and a node is asked in two months.
constexpr std::size_t kPagesMax = 1000;

ErrorCode code_of(unsigned status) {
    switch (status) {
        case 400:
        case 422:
            return ErrorCode::kInvalidArgument;
        case 401:
            return ErrorCode::kUnauthenticated;
        case 402:
            return ErrorCode::kInsufficientFunds;
        case 403:
            return ErrorCode::kPermissionDenied;
        case 404:
            return ErrorCode::kNotFound;
        case 409:
            return ErrorCode::kConflict;
        case 502:
        case 503:
        case 504:
            return ErrorCode::kUnavailable;
        default:
            return ErrorCode::kInternal;
    }
}

/// The author of a text that gym-api shows must not control the reader's terminal.
void drop_controls(json::value& value) {
    if (auto* text = value.if_string()) {
        if (!is_printable(*text)) *text = without_controls(*text);
    } else if (auto* list = value.if_array()) {
        for (json::value& item : *list)
            drop_controls(item);
    } else if (auto* object = value.if_object()) {
        for (auto& member : *object)
            drop_controls(member.value());
    }
}

/// Title and detail of a problem (RFC 9457).
Error problem_of(const Reply& reply) {
    json::error_code code;
    const json::value body = json::parse(reply.body, code);
    std::string reason = "status " + std::to_string(reply.status);
    for (const char* field : {"title", "detail"}) {
        const auto* value = body.is_object() ? body.get_object().if_contains(field) : nullptr;
        if (value != nullptr && value->is_string())
            reason += ": " + without_controls(value->get_string());
    }
    if (reply.status == 401)
        reason +=
            "; name your API key with --api-key-file or GYM_API_KEY (`gym-api keys create` "
            "makes one)";
    return fail(code_of(reply.status), "gym-api: " + reason);
}

/// The reply of a success.
Result<Reply> exchange_reply(const std::string& url, http::Request request,
                             std::uint32_t timeout_ms) {
    const auto parsed = http::parse_url(url);
    if (!parsed.ok()) return parsed.error().in("gym-api");
    request.headers.emplace_back("Accept", "application/json");
    request.headers.emplace_back("Connection", "close");
    auto reply = http::Connection::create(*parsed, {.peer = "gym-api",
                                                    .timeout_ms = timeout_ms,
                                                    .reply_bytes_max = kReplyBytesMax})
                     ->exchange(request);
    if (!reply.ok()) {
        Error error = reply.error();
        if (error.code == ErrorCode::kUnavailable)
            error.message +=
                "; name a gym-api that runs by --api or GYM_API, or add its network: `gym network "
                "add NAME URL --operator 0xADDRESS`";
        return error;
    }
    if (reply->status < 200 || reply->status >= 300) return problem_of(*reply);
    return reply;
}

/// The body of a success.
Result<std::string> exchange(const std::string& url, http::Request request,
                             std::uint32_t timeout_ms) {
    GYM_TRY(Reply reply, exchange_reply(url, std::move(request), timeout_ms));
    return std::move(reply.body);
}

/// What `read` makes of an answer that is a JSON object.
template <class Read>
auto read_body(const std::string& where, const std::string& body, Read&& read)
    -> Result<std::decay_t<decltype(read(std::declval<const json::object&>()))>> {
    const std::string source = "gym-api's answer to " + where;
    json::error_code code;
    json::value value = json::parse(body, code);
    if (code) return fail(ErrorCode::kMalformed, source + " is not JSON");
    if (!value.is_object()) return fail(ErrorCode::kMalformed, source + " is not a JSON object");
    drop_controls(value);
    try {
        return read(value.get_object());
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed, source + ": " + error.what());
    }
}

/// A reader of the list `name` in an answer.
template <class Read>
auto list_in(const char* name, Read read) {
    return [name, read](const json::object& object) {
        return json_fields::list_of(object, name, read);
    };
}

/// Percent-encodes all but letters, digits and "-._".
std::string encode_query(const std::string& text) {
    std::string out;
    for (const char c : text) {
        const bool plain =
            std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_';
        const auto byte = static_cast<std::uint8_t>(c);
        out += plain ? std::string(1, c) : "%" + to_hex(ByteView(&byte, 1));
    }
    return out;
}

std::string query_of(const ListPage& page) {
    return "?limit=" + std::to_string(page.limit) +
           (page.offset == 0 ? "" : "&offset=" + std::to_string(page.offset)) +
           (page.owner.empty() ? "" : "&owner=" + encode_query(page.owner));
}

std::string path_of_round(const Digest& job, std::uint64_t round) {
    return "/v1/jobs/" + job.hex() + "/rounds/" + std::to_string(round);
}

/// The header that takes an order's signature along.
std::string text_of(const records::OrderSeal& seal) {
    return json::serialize(json::object{{"chain_id", seal.network.chain_id},
                                        {"escrow", seal.network.escrow.hex()},
                                        {"expiry", seal.expiry_s},
                                        {"signature", seal.signature.hex()}});
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

struct ApiClient::Post {
    std::string path;
    std::string content_type = "application/json";
    std::string body = {};
    std::string idempotency_key = {};
    std::string order = {};
    std::uint32_t timeout_ms = kTimeoutMs;
    bool repeatable = true;
};

ApiClient::ApiClient(ApiOptions options) : options_(std::move(options)) {}

Result<std::string> ApiClient::get_text(const std::string& path) const {
    http::Request request{.target = path};
    if (!options_.key.empty())
        request.headers.emplace_back("Authorization", "Bearer " + options_.key);
    return db::with_retry([&] { return exchange(options_.url, request, kTimeoutMs); },
                          options_.retry_for);
}

template <class Read>
auto ApiClient::get(const std::string& path, Read&& read) const {
    using Value = std::decay_t<decltype(read(std::declval<const json::object&>()))>;
    const auto body = get_text(path);
    if (!body.ok()) return Result<Value>(body.error());
    return read_body("GET " + options_.url + path, *body, read);
}

/// All pages of a list.
template <class Read>
auto ApiClient::get_pages(const std::string& path, const char* name, Read&& read) const {
    using Item = std::decay_t<decltype(read(std::declval<const json::object&>()))>;
    std::vector<Item> out;
    for (std::size_t page = 0; page < kPagesMax; ++page) {
        auto items = get(path + (path.find('?') == std::string::npos ? "?" : "&") +
                             "offset=" + std::to_string(page * std::size_t{kPageItemsMax}) +
                             "&limit=" + std::to_string(kPageItemsMax),
                         list_in(name, read));
        if (!items.ok()) return Result<std::vector<Item>>(items.error());
        out.insert(out.end(), items->begin(), items->end());
        if (items->size() < kPageItemsMax) return Result<std::vector<Item>>(std::move(out));
    }
    return Result<std::vector<Item>>(
        fail(ErrorCode::kOutOfRange,
             "gym-api has more " + std::string(name) + " than a round can have"));
}

template <class Read>
auto ApiClient::post(const Post& post, Read&& read) const {
    using Value = std::decay_t<decltype(read(std::declval<const json::object&>()))>;
    http::Request request{.method = "POST", .target = post.path, .body = post.body};
    request.headers = {{"Content-Type", post.content_type},
                       {"Authorization", "Bearer " + options_.key}};
    if (!post.idempotency_key.empty())
        request.headers.emplace_back("Idempotency-Key", post.idempotency_key);
    if (!post.order.empty()) request.headers.emplace_back("Gym-Order", post.order);
    const auto body =
        db::with_retry([&] { return exchange(options_.url, request, post.timeout_ms); },
                       post.repeatable ? options_.retry_for : std::chrono::milliseconds(0));
    if (!body.ok()) return Result<Value>(body.error());
    return read_body("POST " + options_.url + post.path, *body, read);
}

Status ApiClient::check_health() const {
    const auto answer = get_text("/healthz");
    return answer.ok() ? Status() : Status(answer.error());
}

Result<Network> ApiClient::network() const {
    return get("/v1/network", read_network);
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
    return get_text("/v1/epochs/" + std::to_string(epoch) + "/file");
}

Result<std::string> ApiClient::transfer_proof(const std::string& uuid) const {
    return get_text("/v1/transfers/" + uuid + "/proof");
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

Result<Answer<JobModel>> ApiClient::model(const Digest& job,
                                          std::optional<std::uint64_t> round) const {
    return get("/v1/jobs/" + job.hex() + "/model" +
                   (round ? "?round=" + std::to_string(*round) : std::string()),
               with_json(read_model));
}

Result<std::string> ApiClient::model_piece(const ModelPiece& piece) const {
    const std::string part = piece.part == ModelPart::kState ? "state" : "program";
    http::Request request{.target = "/v1/jobs/" + piece.job.hex() + "/model/" + part +
                                    "?round=" + std::to_string(piece.round)};
    request.headers = {{"Authorization", "Bearer " + options_.key},
                       {"Range", "bytes=" + std::to_string(piece.offset) + "-" +
                                     std::to_string(piece.offset + piece.size - 1)}};
    const auto ask = [&]() -> Result<Reply> {
        auto reply = exchange_reply(options_.url, request, kPieceTimeoutMs);
        // A line that stands still for a minute may get on with another connection.
        if (!reply.ok() && reply.error().code == ErrorCode::kTimeout)
            return fail(ErrorCode::kUnavailable, reply.error().message);
        return reply;
    };
    GYM_TRY(Reply reply, db::with_retry(ask, options_.retry_for));
    if (reply.body.size() == piece.size) return std::move(reply.body);
    return fail(ErrorCode::kMalformed, "gym-api sent " + std::to_string(reply.body.size()) +
                                           " bytes of the " + part + " instead of " +
                                           std::to_string(piece.size));
}

Result<Answer<Job>> ApiClient::submit_job(const std::string& yaml,
                                          const std::string& idempotency_key,
                                          const records::OrderSeal& seal, bool again) const {
    return post({.path = again ? "/v1/jobs?again=1" : "/v1/jobs",
                 .content_type = "application/yaml",
                 .body = yaml,
                 .idempotency_key = idempotency_key,
                 .order = text_of(seal)},
                with_json(read_job));
}

Result<Answer<Job>> ApiClient::fund_job(const Digest& job, const Amount& amount,
                                        const std::string& idempotency_key,
                                        const records::OrderSeal& seal) const {
    return post({.path = "/v1/jobs/" + job.hex() + "/budget",
                 .body = json::serialize(json::object{{"amount_wei", amount.to_string()}}),
                 .idempotency_key = idempotency_key,
                 .order = text_of(seal)},
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

Result<Answer<registry::Dataset>> ApiClient::register_dataset(const blob::Dataset& dataset,
                                                              const DatasetTerms& terms) const {
    const Bytes file = dataset.encode();
    Post post{.path = "/v1/datasets?name=" + encode_query(terms.name) +
                      "&licence=" + encode_query(terms.licence) + "&price_wei_per_mtoken=" +
                      terms.price_wei_per_mtoken.to_string() + "&root=" + dataset.root().hex(),
              .content_type = "application/octet-stream",
              .timeout_ms = kUploadTimeoutMs};
    post.body.assign(file.begin(), file.end());
    return this->post(post, with_json(read_dataset));
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
        [&] { return exchange(options_.url, request, kUploadTimeoutMs); }, options_.retry_for);
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

// Uploads. Each part is a request of its own, so that neither side holds more than one in memory.

BlobSource source_of(ByteView bytes) {
    return {bytes.size(), [bytes](std::uint64_t offset, std::size_t size) -> Result<Bytes> {
                const ByteView part = bytes.subspan(offset, size);
                return Bytes(part.begin(), part.end());
            }};
}

Result<BlobSource> source_of(const std::filesystem::path& file) {
    std::error_code code;
    const std::uint64_t size = std::filesystem::file_size(file, code);
    if (code) return fail(ErrorCode::kNotFound, file.string() + ": " + code.message());
    return BlobSource{size, [file](std::uint64_t offset, std::size_t part) -> Result<Bytes> {
                          GYM_TRY(Bytes bytes, read_range(file, offset, part));
                          if (bytes.size() == part) return bytes;
                          return fail(ErrorCode::kIo, file.string() + " became shorter");
                      }};
}

Result<std::optional<Answer<Upload>>> ApiClient::upload(const Digest& root) const {
    auto answer = get("/v1/blobs/" + root.hex(), with_json(read_upload));
    if (answer.ok()) return std::optional(*std::move(answer));
    if (answer.error().code == ErrorCode::kNotFound) return std::optional<Answer<Upload>>();
    return answer.error();
}

/// The part from `offset`; without bytes if gym-api has them all and is to check them.
Result<Answer<Upload>> ApiClient::put_part(const Digest& root, const BlobSource& source,
                                           std::uint64_t offset) const {
    const auto size = static_cast<std::size_t>(
        std::min<std::uint64_t>(kUploadPartBytes, source.size_bytes - offset));
    const std::string total = "/" + std::to_string(source.size_bytes);
    http::Request request{.method = "PUT", .target = "/v1/blobs/" + root.hex(), .body = {}};
    request.headers = {{"Content-Type", "application/octet-stream"},
                       {"Authorization", "Bearer " + options_.key}};
    if (size == 0) {
        request.headers.emplace_back("Content-Range", "bytes */" + total.substr(1));
    } else {
        GYM_TRY(const Bytes part, source.read(offset, size));
        request.body.assign(part.begin(), part.end());
        request.headers.emplace_back(
            "Content-Range",
            "bytes " + std::to_string(offset) + "-" + std::to_string(offset + size - 1) + total);
    }
    // With the last part gym-api reads the whole blob once.
    const bool last = offset + size == source.size_bytes;
    const std::uint64_t timeout_ms =
        kUploadTimeoutMs + (last ? source.size_bytes / kCheckedBytesPerMs : 0);
    GYM_TRY(const std::string body,
            exchange(options_.url, request,
                     static_cast<std::uint32_t>(std::min<std::uint64_t>(timeout_ms, kDayMs))));
    return read_body("PUT " + options_.url + request.target, body, with_json(read_upload));
}

/// Whether a part may be sent again. One that does not continue what gym-api has is answered with a
/// conflict, and a cut one not at all: both times gym-api says where to continue.
namespace {
bool is_passing(ErrorCode code) {
    return code == ErrorCode::kUnavailable || code == ErrorCode::kTimeout ||
           code == ErrorCode::kConflict;
}
}  // namespace

Result<Answer<Upload>> ApiClient::upload_blob(const Digest& root, const BlobSource& source,
                                              const UploadProgress& progress) const {
    using Clock = std::chrono::steady_clock;
    GYM_TRY(auto known, upload(root));
    if (known && (*known)->complete) return *std::move(known);
    std::uint64_t at = known ? (*known)->received_bytes : 0, most = at;
    auto progress_at = Clock::now();
    while (at <= source.size_bytes) {
        auto answer = put_part(root, source, at);
        if (!answer.ok() && !is_passing(answer.error().code)) return answer;
        if (answer.ok()) {
            at = (*answer)->received_bytes;
        } else {
            GYM_TRY(known, upload(root));
            if (known && (*known)->complete) return *std::move(known);
            at = known ? (*known)->received_bytes : 0;
        }
        if (progress) progress(at, source.size_bytes);
        if (answer.ok() && (*answer)->complete) return answer;
        if (at > most) {
            most = at;
            progress_at = Clock::now();
        } else if (Clock::now() - progress_at >= options_.retry_for) {
            if (!answer.ok()) return answer;
            return fail(ErrorCode::kMalformed, "gym-api takes no more of blob " + root.hex());
        } else {
            std::this_thread::sleep_for(kUploadPause);
        }
    }
    return fail(ErrorCode::kMalformed, "gym-api has " + std::to_string(at) + " bytes of blob " +
                                           root.hex() + ", which has " +
                                           std::to_string(source.size_bytes));
}

Result<PublishedRound> ApiClient::round(const Digest& job, std::uint64_t round) const {
    return get(path_of_round(job, round), read_round);
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

Result<std::vector<protocol::PublishedChallenge>> ApiClient::challenges(const Address& node,
                                                                        UnixMs from_ms,
                                                                        UnixMs to_ms) const {
    return get_pages("/v1/nodes/" + node.hex() + "/challenges?from_ms=" + std::to_string(from_ms) +
                         "&to_ms=" + std::to_string(to_ms),
                     "challenges", read_challenge);
}

}  // namespace gym::client
