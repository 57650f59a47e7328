#include <boost/json/serialize.hpp>
#include <charconv>

#include "routes.hpp"
#include "views.hpp"

namespace gym::api {
namespace {

namespace json = boost::json;

constexpr std::string_view kBytesUnit = "bytes ";

Result<Uploads*> uploads_of(const RouteContext& context) {
    if (context.with.uploads != nullptr) return context.with.uploads;
    return fail(ErrorCode::kUnavailable, "this gym-api takes no uploads");
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
    std::uint64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return out;
}

Error bad_range() {
    return fail(ErrorCode::kMalformed,
                "the header Content-Range must be 'bytes FIRST-LAST/SIZE' for a part of as many "
                "bytes as the body has, or 'bytes */SIZE' for none");
}

/// "bytes 0-99/1000" or "bytes */1000" (RFC 9110, 14.4). @errors kMalformed.
Status read_range(std::string_view text, UploadPart& part) {
    if (!text.starts_with(kBytesUnit)) return bad_range();
    text.remove_prefix(kBytesUnit.size());
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) return bad_range();
    const auto size = whole_number(text.substr(slash + 1));
    if (!size) return bad_range();
    part.size_bytes = *size;
    const std::string_view range = text.substr(0, slash);
    if (range == "*") return part.length_bytes == 0 ? Status() : Status(bad_range());
    const std::size_t dash = range.find('-');
    if (dash == std::string_view::npos) return bad_range();
    const auto first = whole_number(range.substr(0, dash)),
               last = whole_number(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= *size ||
        *last - *first + 1 != part.length_bytes)
        return bad_range();
    part.offset = *first;
    return {};
}

/// @errors kMalformed.
Result<UploadPart> part_of(const Call& call) {
    UploadPart part;
    part.owner = *call.owner;
    GYM_TRY(part.root, call.digest("root"));
    const std::string_view length = call.request.header("content-length");
    if (const auto bytes = whole_number(length)) part.length_bytes = *bytes;
    const std::string_view range = call.request.header("content-range");
    if (!range.empty()) {
        GYM_CHECK(read_range(range, part));
        return part;
    }
    part.size_bytes = part.length_bytes;
    part.offset = 0;
    return part;
}

Result<std::shared_ptr<BodySink>> begin_part(RouteContext& context, const Call& call) {
    GYM_TRY(Uploads* const uploads, uploads_of(context));
    // Nobody has said yet whose weights they may be.
    GYM_CHECK(check_confidential(context, registry::Visibility::kPrivate));
    GYM_TRY(const UploadPart part, part_of(call));
    GYM_TRY(auto sink, uploads->begin(part));
    return std::shared_ptr<BodySink>(std::move(sink));
}

Result<Response> end_part(const Call& call) {
    auto* const sink = dynamic_cast<UploadSink*>(call.request.sink.get());
    if (sink == nullptr) return fail(ErrorCode::kInternal, "a part without its sink");
    GYM_TRY(const Upload upload, sink->finish());
    return json_response(upload.complete ? 201 : 200, json::serialize(to_json(upload)));
}

const char* const kAboutPut =
    "Sends a blob, or the part of it that the header Content-Range names: 'bytes FIRST-LAST/SIZE', "
    "where FIRST is what was received so far; 'bytes */SIZE' without a body asks to check a blob "
    "of "
    "which all bytes are there. Bytes that arrive are kept, also of a request that is cut. 201: "
    "the blob is complete and has its root; 200: more is to come; 409: the part does not begin "
    "where the upload ends (`received_bytes`), or the upload is complete; 422: the blob is too "
    "large or has another root. Then a job can name it.";

}  // namespace

void add_upload_routes(Router& router, RouteContext& context) {
    const auto one = [&context](auto method) {
        return [&context, method](const Call& call) -> Result<Response> {
            GYM_TRY(Uploads* const uploads, uploads_of(context));
            GYM_TRY(const Digest root, call.digest("root"));
            GYM_TRY(const Upload upload, (uploads->*method)(*call.owner, root));
            return json_response(200, json::serialize(to_json(upload)));
        };
    };
    router.add({.method = "PUT",
                .pattern = "/v1/blobs/{root}",
                .id = "putBlob",
                .summary = kAboutPut,
                .path = {{"root", "The blob's root: its bytes as a u8 tensor."}},
                .needs_key = true,
                .body_type = "application/octet-stream",
                .body_bytes_max = context.options.upload_bytes_max,
                .success = 201,
                .also_success = {200},
                .schema = "Upload",
                .run = end_part,
                .begin = [&context](const Call& call) { return begin_part(context, call); }});
    router.add({.method = "GET",
                .pattern = "/v1/blobs/{root}",
                .id = "getUpload",
                .summary = "How much of a blob the owner of the key has sent.",
                .path = {{"root", "The blob's root."}},
                .needs_key = true,
                .schema = "Upload",
                .run = one(&Uploads::upload)});
    router.add({.method = "DELETE",
                .pattern = "/v1/blobs/{root}",
                .id = "forgetUpload",
                .summary =
                    "Forgets an upload and what was received of it. Jobs that were submitted "
                    "with it keep it.",
                .path = {{"root", "The blob's root."}},
                .needs_key = true,
                .schema = "Upload",
                .run = one(&Uploads::forget)});
}

}  // namespace gym::api
