#include "gym/http_server/download.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "gym/http_server/problem.hpp"

namespace gym::http_server {
namespace {

std::optional<std::uint64_t> digits(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

struct Range {
    std::uint64_t first = 0;
    std::uint64_t size = 0;  ///< 0: behind the end
};

/// "bytes=5-9", "bytes=5-", "bytes=-5". Absent: no range that is understood.
std::optional<Range> parse_range(std::string_view header, std::uint64_t size) {
    constexpr std::string_view kUnit = "bytes=";
    if (!header.starts_with(kUnit)) return std::nullopt;
    header.remove_prefix(kUnit.size());
    const std::size_t dash = header.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto first = digits(header.substr(0, dash)), last = digits(header.substr(dash + 1));
    if (dash == 0) {
        if (!last) return std::nullopt;
        return Range{size - std::min(*last, size), std::min(*last, size)};
    }
    const bool open = dash + 1 == header.size();
    if (!first || (!last && !open) || (last && *last < *first)) return std::nullopt;
    if (*first >= size) return Range{};
    const std::uint64_t end = open ? size : std::min(*last, size - 1) + 1;
    return Range{*first, end - *first};
}

bool is_same_entity(const Request& request, const std::string& etag) {
    const std::string_view condition = request.header("if-range");
    return condition.empty() || condition == etag;
}

}  // namespace

Response answer_download(const Request& request, Download download) {
    const std::uint64_t size = download.source->size();
    const std::string etag = "\"" + download.etag + "\"";
    std::optional<Range> range;
    if (request.method == "GET" && is_same_entity(request, etag))
        range = parse_range(request.header("range"), size);
    if (range && range->size == 0) {
        Response refused =
            problem(416, "range_not_satisfiable",
                    "the range is behind the end of " + std::to_string(size) + " bytes",
                    request.request_id);
        refused.headers.emplace_back("Content-Range", "bytes */" + std::to_string(size));
        return refused;
    }
    Response response;
    response.content_type = "application/octet-stream";
    response.headers = {
        {"Accept-Ranges", "bytes"},
        {"ETag", etag},
        {"Content-Disposition", "attachment; filename=\"" + download.file_name + "\""},
        {"Cache-Control", download.cache_control}};
    response.stream = BodyStream{std::move(download.source), 0, size};
    if (!range) return response;
    response.status = 206;
    response.stream->offset = range->first;
    response.stream->size = range->size;
    response.headers.emplace_back("Content-Range",
                                  "bytes " + std::to_string(range->first) + "-" +
                                      std::to_string(range->first + range->size - 1) + "/" +
                                      std::to_string(size));
    return response;
}

}  // namespace gym::http_server
