#include "gym/data/document.hpp"

#include <boost/json.hpp>
#include <optional>
#include <string_view>

namespace gym::data {
namespace {

namespace json = boost::json;

/// The member that a dotted name leads to; null if there is none.
const json::value* find(const json::object& object, std::string_view name) {
    if (const json::value* whole = object.if_contains(name)) return whole;
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) return nullptr;
    const json::value* part = object.if_contains(name.substr(0, dot));
    if (part == nullptr || !part->is_object()) return nullptr;
    return find(part->get_object(), name.substr(dot + 1));
}

const json::value* find(const json::object& object, const std::vector<std::string>& names) {
    for (const std::string& name : names)
        if (const json::value* value = find(object, name); value != nullptr && !value->is_null())
            return value;
    return nullptr;
}

std::string joined(const json::array& values) {
    std::string out;
    for (const json::value& value : values) {
        if (!value.is_string()) continue;
        if (!out.empty()) out += " AND ";
        out += value.get_string();
    }
    return out;
}

std::string text_in(const json::object& object, const std::vector<std::string>& names) {
    const json::value* value = find(object, names);
    if (value == nullptr) return {};
    std::string out = value->is_string()  ? std::string(value->get_string())
                      : value->is_array() ? joined(value->get_array())
                                          : json::serialize(*value);
    if (out.size() > kProvenanceBytesMax) out.clear();
    return out;
}

/// Whether a flag, given as true, 1 or "true", is set.
std::optional<bool> flag_in(const json::object& object, const std::vector<std::string>& names) {
    const json::value* value = find(object, names);
    if (value == nullptr) return std::nullopt;
    if (value->is_bool()) return value->get_bool();
    if (value->is_number()) return value->to_number<double>() != 0;
    if (value->is_string()) {
        const std::string_view text = value->get_string();
        return text == "true" || text == "yes" || text == "1";
    }
    return std::nullopt;
}

std::string listed(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names)
        out += (out.empty() ? "'" : ", '") + name + "'";
    return out;
}

}  // namespace

Result<Document> document_of_json(const Record& record, const RecordKeys& keys) {
    json::error_code error;
    const json::value value = json::parse(record.bytes, error);
    if (error) return fail(ErrorCode::kMalformed, "not JSON: " + error.message());
    if (!value.is_object()) return fail(ErrorCode::kMalformed, "expected a JSON object");
    const json::object& object = value.get_object();
    const json::value* text = find(object, keys.text);
    if (text == nullptr || !text->is_string())
        return fail(ErrorCode::kMalformed,
                    "no text under " + listed(keys.text) + "; name its member with --text-key");
    Document out;
    out.text = std::string(text->get_string());
    out.provenance.id = text_in(object, keys.id);
    out.provenance.url = text_in(object, keys.url);
    out.provenance.licence = text_in(object, keys.licence);
    const std::optional<bool> consent = flag_in(object, keys.consent);
    out.provenance.consented = consent.value_or(false);
    out.provenance.opted_out =
        flag_in(object, keys.opt_out).value_or(false) || !consent.value_or(true);
    return out;
}

}  // namespace gym::data
