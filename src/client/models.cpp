// Models: what jobs trained, and what has a name.
#include "access.hpp"
#include "exchange.hpp"
#include "read_records.hpp"

namespace gym::client {
namespace {

namespace json = boost::json;

/// Of a piece of a model: 8 MiB at one megabit a second.
constexpr std::uint32_t kPieceTimeoutMs = 70'000;

std::string path_of(const registry::ModelReference& reference) {
    return "/v1/model-names/" + encode_query(reference.name) + "/versions/" +
           (reference.version ? std::to_string(*reference.version) : "latest");
}

std::string name_of(ModelPart part) {
    return part == ModelPart::kState ? "state" : "program";
}

std::string path_of(const ModelPiece& piece) {
    const std::string part = name_of(piece.part);
    if (piece.named) return path_of(*piece.named) + "/" + part;
    return "/v1/jobs/" + piece.job.hex() + "/model/" + part +
           "?round=" + std::to_string(piece.round);
}

std::string body_of(const registry::ModelReference& reference, const ModelTerms& terms) {
    json::object body{{"licence", terms.licence}};
    const auto put = [&](const char* name, const std::optional<Digest>& root) {
        if (root) body[name] = root->hex();
    };
    put("state", terms.state);
    put("program", terms.program);
    put("tokenizer", terms.tokenizer);
    put("job", terms.job);
    if (terms.round) body["round"] = *terms.round;
    if (reference.version) body["version"] = *reference.version;
    if (!terms.access) return json::serialize(body);
    body["visibility"] = registry::to_string(terms.access->visibility);
    json::array allowed;
    for (const Address& account : terms.access->allowed)
        allowed.emplace_back(account.hex());
    if (!allowed.empty()) body["allowed"] = std::move(allowed);
    return json::serialize(body);
}

}  // namespace

Result<Answer<JobModel>> ApiClient::model(const Digest& job,
                                          std::optional<std::uint64_t> round) const {
    return get("/v1/jobs/" + job.hex() + "/model" +
                   (round ? "?round=" + std::to_string(*round) : std::string()),
               with_json(read_model));
}

Result<std::string> ApiClient::model_piece(const ModelPiece& piece) const {
    const std::string part = name_of(piece.part);
    http::Request request{.target = path_of(piece)};
    request.headers = {{"Authorization", "Bearer " + options_.key},
                       {"Range", "bytes=" + std::to_string(piece.offset) + "-" +
                                     std::to_string(piece.offset + piece.size - 1)}};
    const auto ask = [&]() -> Result<http::Reply> {
        auto reply = exchange_reply(options_.url, request, kPieceTimeoutMs);
        // A line that stands still for a minute may get on with another connection.
        if (!reply.ok() && reply.error().code == ErrorCode::kTimeout)
            return fail(ErrorCode::kUnavailable, reply.error().message);
        return reply;
    };
    GYM_TRY(http::Reply reply, db::with_retry(ask, options_.retry_for));
    if (reply.body.size() == piece.size) return std::move(reply.body);
    return fail(ErrorCode::kMalformed, "gym-api sent " + std::to_string(reply.body.size()) +
                                           " bytes of the " + part + " instead of " +
                                           std::to_string(piece.size));
}

Result<Answer<registry::ModelVersion>> ApiClient::name_model(
    const registry::ModelReference& reference, const ModelTerms& terms) const {
    return post({.path = "/v1/model-names/" + encode_query(reference.name) + "/versions",
                 .body = body_of(reference, terms)},
                with_json(read_model_version));
}

Result<Answer<registry::ModelVersion>> ApiClient::model_version(
    const registry::ModelReference& reference) const {
    return get(path_of(reference), with_json(read_model_version));
}

Result<AnswerList<registry::ModelVersion>> ApiClient::model_versions(
    const std::string& name) const {
    return get("/v1/model-names/" + encode_query(name),
               list_in("versions", with_json(read_model_version)));
}

Result<AnswerList<registry::ModelVersion>> ApiClient::models(const ListPage& page) const {
    return get("/v1/model-names" + query_of(page),
               list_in("models", with_json(read_model_version)));
}

Result<Answer<registry::ModelVersion>> ApiClient::set_model_access(
    const registry::ModelReference& reference, const registry::Access& access) const {
    return post(
        {.method = "PUT", .path = path_of(reference) + "/visibility", .body = access_body(access)},
        with_json(read_model_version));
}

Result<std::string> ApiClient::model_tokenizer(const registry::ModelReference& reference) const {
    const http::Request request{.target = path_of(reference) + "/tokenizer",
                                .headers = {{"Authorization", "Bearer " + options_.key}}};
    return db::with_retry(
        [&] { return exchange(options_.url, request, kUploadTimeoutMs, kFileBytesMax); },
        options_.retry_for);
}

Status ApiClient::check_confidential(registry::Visibility visibility) const {
    return client::check_confidential(options_.url, visibility);
}

}  // namespace gym::client
