#include "gym/interchange/safetensors.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <optional>

namespace gym::interchange {
namespace {

namespace json = boost::json;

constexpr std::size_t kSizeBytes = 8;
constexpr std::size_t kDepthMax = 4;
constexpr std::string_view kMetadata = "__metadata__";

Error malformed(const std::string& what) {
    return fail(ErrorCode::kMalformed, what);
}

std::uint64_t little_endian_u64(ByteView bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = kSizeBytes; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

/// Members of all objects in a JSON text that parses: a parser keeps the last of two equal names,
/// and then holds fewer than the text has.
std::size_t members_in_text(std::string_view text) {
    std::size_t members = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (in_string && text[i] == '\\') {
            ++i;
            continue;
        }
        if (text[i] == '"') in_string = !in_string;
        if (text[i] == ':' && !in_string) ++members;
    }
    return members;
}

std::size_t members_of(const json::object& header) {
    std::size_t members = header.size();
    for (const auto& entry : header) {
        if (const auto* object = entry.value().if_object()) members += object->size();
    }
    return members;
}

Result<json::object> parse_header(std::string_view text) {
    json::parse_options options;
    options.max_depth = kDepthMax;
    boost::system::error_code error;
    json::value value = json::parse(text, error, {}, options);
    if (error) return malformed("the header is not JSON: " + error.message());
    if (!value.is_object() || text.front() != '{')
        return malformed("the header is not a JSON object");
    if (members_of(value.as_object()) != members_in_text(text))
        return malformed("the header has a name twice, or objects inside a tensor's entry");
    return std::move(value.as_object());
}

std::optional<std::uint64_t> natural(const json::value& value) {
    if (value.is_uint64()) return value.as_uint64();
    if (value.is_int64() && value.as_int64() >= 0)
        return static_cast<std::uint64_t>(value.as_int64());
    return std::nullopt;
}

std::optional<std::vector<std::uint64_t>> naturals(const json::value* value,
                                                   std::size_t count_max) {
    if (value == nullptr || !value->is_array() || value->as_array().size() > count_max)
        return std::nullopt;
    std::vector<std::uint64_t> found;
    for (const json::value& element : value->as_array()) {
        const auto number = natural(element);
        if (!number) return std::nullopt;
        found.push_back(*number);
    }
    return found;
}

/// The product of `dims` and `element_bytes`; nullopt beyond `limit`.
std::optional<std::uint64_t> tensor_bytes(const std::vector<std::uint64_t>& dims,
                                          std::uint64_t element_bytes, std::uint64_t limit) {
    if (std::ranges::find(dims, 0U) != dims.end()) return 0;
    std::uint64_t size = element_bytes;
    for (const std::uint64_t dim : dims) {
        if (dim > limit / size) return std::nullopt;
        size *= dim;
    }
    return size;
}

struct Placed {
    SafetensorsEntry tensor;
    std::uint64_t begin;
    std::uint64_t end;
};

Result<Placed> parse_tensor(const std::string& name, const json::value& value, ByteView data) {
    const std::string title = "tensor '" + name + "'";
    const auto* object = value.if_object();
    if (object == nullptr || object->size() != 3)
        return malformed(title + " needs dtype, shape and data_offsets, and nothing else");
    const auto* dtype = object->if_contains("dtype");
    if (dtype == nullptr || !dtype->is_string()) return malformed(title + " has no dtype");
    const std::string dtype_name(dtype->as_string());
    const std::uint64_t element_bytes = safetensors_element_bytes(dtype_name);
    if (element_bytes == 0) return malformed(title + " has the unknown dtype '" + dtype_name + "'");
    const auto dims = naturals(object->if_contains("shape"), kSafetensorsRankMax);
    if (!dims)
        return malformed(title + ": shape must be at most " + std::to_string(kSafetensorsRankMax) +
                         " natural numbers");
    const auto offsets = naturals(object->if_contains("data_offsets"), 2);
    if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1])
        return malformed(title + ": data_offsets must be a beginning and an end");
    const auto [begin, end] = std::pair((*offsets)[0], (*offsets)[1]);
    if (end > data.size())
        return malformed(title + " ends at byte " + std::to_string(end) + ", the file's data at " +
                         std::to_string(data.size()) + ": the file is truncated");
    if (tensor_bytes(*dims, element_bytes, data.size()) != end - begin)
        return malformed(title + ": its shape and dtype do not need the " +
                         std::to_string(end - begin) + " bytes of its offsets");
    return Placed{{name, dtype_name, *dims, data.subspan(begin, end - begin)}, begin, end};
}

Status parse_metadata(const json::value& value, SafetensorsFile& file) {
    if (!value.is_object()) return malformed("__metadata__ is not an object");
    for (const auto& entry : value.as_object()) {
        if (!entry.value().is_string())
            return malformed("__metadata__ '" + std::string(entry.key()) + "' is not a string");
        file.metadata[std::string(entry.key())] = std::string(entry.value().as_string());
    }
    return {};
}

/// Every byte belongs to exactly one tensor.
Status check_cover(const std::vector<Placed>& tensors, std::uint64_t size) {
    std::uint64_t at = 0;
    for (const Placed& placed : tensors) {
        if (placed.begin != at)
            return malformed("tensor '" + placed.tensor.name + "' begins at byte " +
                             std::to_string(placed.begin) + ", the one before it ends at " +
                             std::to_string(at) +
                             (placed.begin < at ? ": tensors overlap" : ": a hole in the file"));
        at = placed.end;
    }
    if (at == size) return {};
    return malformed(std::to_string(size - at) + " bytes after the last tensor");
}

}  // namespace

std::uint64_t safetensors_element_bytes(std::string_view dtype) {
    struct Known {
        std::string_view name;
        std::uint64_t bytes;
    };
    static constexpr Known kDtypes[] = {
        {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"I32", 4},  {"I16", 2},
        {"I8", 1},  {"U64", 8}, {"U32", 4}, {"U16", 2},  {"U8", 1},  {"BOOL", 1},
    };
    const auto* const found = std::ranges::find(kDtypes, dtype, &Known::name);
    return found == std::end(kDtypes) ? 0 : found->bytes;
}

Result<SafetensorsFile> parse_safetensors(ByteView bytes) {
    if (bytes.size() < kSizeBytes)
        return malformed("a safetensors file has at least 8 bytes, not " +
                         std::to_string(bytes.size()));
    const std::uint64_t header_bytes = little_endian_u64(bytes);
    if (header_bytes > kSafetensorsHeaderBytesMax)
        return fail(ErrorCode::kOutOfRange, "a header of " + std::to_string(header_bytes) +
                                                " bytes; 100000000 are allowed: not safetensors?");
    if (header_bytes == 0 || header_bytes > bytes.size() - kSizeBytes)
        return malformed("a header of " + std::to_string(header_bytes) + " bytes in a file of " +
                         std::to_string(bytes.size()) + ": the file is truncated");
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kSizeBytes,
                                header_bytes);
    const ByteView data = bytes.subspan(kSizeBytes + header_bytes);
    GYM_TRY(const json::object header, parse_header(text));
    if (header.size() > kSafetensorsTensorsMax)
        return fail(ErrorCode::kOutOfRange, "more than 65536 tensors");
    SafetensorsFile file;
    std::vector<Placed> placed;
    for (const auto& entry : header) {
        if (entry.key() == kMetadata) {
            GYM_CHECK(parse_metadata(entry.value(), file));
            continue;
        }
        GYM_TRY(auto tensor, parse_tensor(std::string(entry.key()), entry.value(), data));
        placed.push_back(std::move(tensor));
    }
    // Empty tensors lie where another one begins.
    std::ranges::sort(placed, {}, [](const Placed& p) { return std::pair(p.begin, p.end); });
    GYM_CHECK(check_cover(placed, data.size()));
    for (Placed& p : placed)
        file.tensors.push_back(std::move(p.tensor));
    return file;
}

Bytes safetensors_header(std::span<const SafetensorsEntry> tensors,
                         const std::map<std::string, std::string>& metadata) {
    json::object header;
    if (!metadata.empty()) {
        json::object& object = header[kMetadata].emplace_object();
        for (const auto& [key, value] : metadata)
            object[key] = value;
    }
    std::uint64_t at = 0;
    for (const SafetensorsEntry& tensor : tensors) {
        std::uint64_t end = at + safetensors_element_bytes(tensor.dtype);
        for (const std::uint64_t dim : tensor.dims)
            end = at + (end - at) * dim;
        header[tensor.name] = {{"dtype", tensor.dtype},
                               {"shape", json::array(tensor.dims.begin(), tensor.dims.end())},
                               {"data_offsets", json::array{at, end}}};
        at = end;
    }
    std::string text = json::serialize(header);
    text.append((kSizeBytes - text.size() % kSizeBytes) % kSizeBytes, ' ');
    Bytes bytes(kSizeBytes);
    for (std::size_t i = 0; i < kSizeBytes; ++i)
        bytes[i] = static_cast<std::uint8_t>(text.size() >> (8 * i));
    bytes.insert(bytes.end(), text.begin(), text.end());
    return bytes;
}

}  // namespace gym::interchange
