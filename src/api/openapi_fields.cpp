#include "openapi_fields.hpp"

#include <boost/json/array.hpp>
#include <string>
#include <string_view>

namespace gym::api {

namespace json = boost::json;

namespace {

json::object reference(std::string_view schema) {
    return {{"$ref", "#/components/schemas/" + std::string(schema)}};
}

json::object type_json(std::string_view type) {
    if (type == "text") return {{"type", "string"}};
    if (type == "flag") return {{"type", "boolean"}};
    if (type == "real") return {{"type", "number"}};
    if (type == "count") return {{"type", "integer"}, {"minimum", 0}};
    if (type == "time") return {{"type", "integer"}, {"description", "Unix milliseconds"}};
    if (type == "wei")
        return {{"type", "string"}, {"pattern", "^[0-9]+$"}, {"description", "base units"}};
    if (type == "decimal") return {{"type", "string"}, {"pattern", "^[0-9]+$"}};
    if (type == "hash") return {{"type", "string"}, {"pattern", "^0x[0-9a-f]{64}$"}};
    if (type == "bits")
        return {{"type", "string"},
                {"pattern", "^0x[0-9a-f]{8}$"},
                {"description", "bits of a binary32"}};
    if (type == "address") return {{"type", "string"}, {"pattern", "^0x[0-9a-f]{40}$"}};
    if (type == "bytes") return {{"type", "string"}, {"pattern", "^0x([0-9a-f]{2})*$"}};
    if (type == "object") return {{"type", "object"}};
    if (type == "counts")
        return {{"type", "object"}, {"additionalProperties", {{"type", "integer"}}}};
    return reference(type);
}

bool is_optional(const Field& field) {
    return field.type.ends_with("~");
}

json::object field_json(const Field& field) {
    std::string_view type = field.type;
    if (is_optional(field)) type.remove_suffix(1);
    const bool list = type.ends_with("[]");
    if (list) type.remove_suffix(2);
    const bool nullable = type.ends_with("?");
    if (nullable) type.remove_suffix(1);
    json::object out = type_json(type);
    if (nullable && out.contains("$ref"))
        out = {{"oneOf", json::array{out, json::object{{"type", "null"}}}}};
    else if (nullable)
        out["type"] = json::array{out["type"], "null"};
    if (list) out = {{"type", "array"}, {"items", std::move(out)}};
    if (!field.about.empty()) out["description"] = field.about;
    return out;
}

}  // namespace

json::object schema(const Fields& fields) {
    json::object properties;
    json::array required;
    for (const Field& field : fields) {
        properties[field.name] = field_json(field);
        if (!is_optional(field)) required.push_back(json::value(field.name));
    }
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}};
}

Fields operator+(Fields left, const Fields& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

}  // namespace gym::api
