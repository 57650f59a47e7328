#include "data/dataset_client.hpp"

#include <cctype>
#include <chrono>

#include "cli/api_request.hpp"
#include "gym/common/ppm.hpp"
#include "gym/db/database.hpp"

namespace gym::app {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kRetryFor{20};
/// Of one upload: the server compares a hundred million tokens with all others in this time.
constexpr std::uint32_t kUploadTimeoutMs = 180'000;

Result<json::object> object_of(json::value answer) {
    if (answer.is_object()) return std::move(answer).as_object();
    return fail(ErrorCode::kMalformed, "gym-api answered something that is no object");
}

}  // namespace

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

Result<json::object> register_dataset(const std::string& url, const std::string& api_key,
                                      const blob::Dataset& dataset, const DatasetTerms& terms) {
    const Bytes file = dataset.encode();
    ApiPost post;
    post.path = "/v1/datasets?name=" + encode_query(terms.name) +
                "&licence=" + encode_query(terms.licence) +
                "&price_wei_per_mtoken=" + terms.price_wei_per_mtoken.to_string() +
                "&root=" + dataset.root().hex();
    post.content_type = "application/octet-stream";
    post.api_key = api_key;
    post.body.assign(file.begin(), file.end());
    post.timeout_ms = kUploadTimeoutMs;
    GYM_TRY(json::value answer, db::with_retry([&] { return api_post(url, post); }, kRetryFor));
    return object_of(std::move(answer));
}

Result<std::optional<json::object>> fetch_dataset(const std::string& url, const Digest& root) {
    auto answer = api_get(url, "/v1/datasets/" + root.hex());
    if (!answer.ok() && answer.error().code == ErrorCode::kNotFound)
        return std::optional<json::object>();
    if (!answer.ok()) return answer.error();
    GYM_TRY(json::object object, object_of(*std::move(answer)));
    return std::optional(std::move(object));
}

Result<DataTerms> data_terms_of(const json::object& dataset) {
    const json::value* price = dataset.if_contains("price_wei_per_mtoken");
    const json::value* quality = dataset.if_contains("quality_ppm");
    const bool is_record = price != nullptr && price->is_string() && quality != nullptr &&
                           quality->is_int64() && quality->get_int64() >= 0 &&
                           quality->get_int64() <= std::int64_t{kPpm};
    if (!is_record)
        return fail(ErrorCode::kMalformed, "gym-api answered something that is no dataset");
    DataTerms out;
    GYM_TRY(out.price_wei_per_mtoken, Amount::parse(std::string(price->get_string())));
    out.quality_ppm = static_cast<std::uint32_t>(quality->get_int64());
    return out;
}

}  // namespace gym::app
