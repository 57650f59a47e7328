#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "gym/client/api_client.hpp"
#include "gym/common/json_fields.hpp"
#include "gym/db/database.hpp"
#include "gym/http/connection.hpp"

/// How ApiClient's calls talk to gym-api: one exchange, and what is read of its answer.
namespace gym::client {

inline constexpr std::uint32_t kTimeoutMs = 10'000;
/// Of one upload: the server compares a hundred million tokens with all others in this time.
inline constexpr std::uint32_t kUploadTimeoutMs = 180'000;
/// Of an answer that is JSON: parsed, it takes about twenty times as much memory.
inline constexpr std::uint64_t kJsonBytesMax = std::uint64_t{32} << 20;
/// Of an epoch file of a large network, the evidence of a large round, a tokenizer's files.
inline constexpr std::uint64_t kFileBytesMax = std::uint64_t{256} << 20;
/// More than a round of the most slots has of anything, and a node is asked in two months.
inline constexpr std::size_t kPagesMax = 1000;

/// The reply of a success. @errors those of every call (ApiClient).
[[nodiscard]] Result<http::Reply> exchange_reply(const std::string& url, http::Request request,
                                                 std::uint32_t timeout_ms,
                                                 std::uint64_t bytes_max = kJsonBytesMax);
/// The body of a success.
[[nodiscard]] Result<std::string> exchange(const std::string& url, http::Request request,
                                           std::uint32_t timeout_ms,
                                           std::uint64_t bytes_max = kJsonBytesMax);

/// The author of a text that gym-api shows must not control the reader's terminal.
void drop_controls(boost::json::value& value);
/// Percent-encodes all but letters, digits and "-._".
[[nodiscard]] std::string encode_query(const std::string& text);
[[nodiscard]] std::string query_of(const ListPage& page);

/// What `read` makes of an answer that is a JSON object.
template <class Read>
auto read_body(const std::string& where, const std::string& body, Read&& read)
    -> Result<std::decay_t<decltype(read(std::declval<const boost::json::object&>()))>> {
    const std::string source = "gym-api's answer to " + where;
    boost::json::error_code code;
    boost::json::value value = boost::json::parse(body, code);
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
    return [name, read](const boost::json::object& object) {
        return json_fields::list_of(object, name, read);
    };
}

struct ApiClient::Post {
    std::string method = "POST";
    std::string path;
    std::string content_type = "application/json";
    std::string body = {};
    std::string idempotency_key = {};
    std::string order = {};
    std::uint32_t timeout_ms = kTimeoutMs;
    bool repeatable = true;
};

template <class Read>
auto ApiClient::get(const std::string& path, Read&& read, std::uint64_t bytes_max) const {
    using Value = std::decay_t<decltype(read(std::declval<const boost::json::object&>()))>;
    const auto body = get_text(path, bytes_max);
    if (!body.ok()) return Result<Value>(body.error());
    return read_body("GET " + options_.url + path, *body, read);
}

template <class Read>
auto ApiClient::get(const std::string& path, Read&& read) const {
    return get(path, std::forward<Read>(read), kJsonBytesMax);
}

/// All pages of a list.
template <class Read>
auto ApiClient::get_pages(const std::string& path, const char* name, Read&& read) const {
    using Item = std::decay_t<decltype(read(std::declval<const boost::json::object&>()))>;
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
    using Value = std::decay_t<decltype(read(std::declval<const boost::json::object&>()))>;
    http::Request request{.method = post.method, .target = post.path, .body = post.body};
    request.headers = {{"Content-Type", post.content_type},
                       {"Authorization", "Bearer " + options_.key}};
    if (!post.idempotency_key.empty())
        request.headers.emplace_back("Idempotency-Key", post.idempotency_key);
    if (!post.order.empty()) request.headers.emplace_back("Gym-Order", post.order);
    const auto body =
        db::with_retry([&] { return exchange(options_.url, request, post.timeout_ms); },
                       post.repeatable ? options_.retry_for : std::chrono::milliseconds(0));
    if (!body.ok()) return Result<Value>(body.error());
    return read_body(post.method + " " + options_.url + post.path, *body, read);
}

}  // namespace gym::client
