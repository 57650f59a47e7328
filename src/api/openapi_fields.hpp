#pragma once

#include <boost/json/object.hpp>
#include <string_view>
#include <vector>

namespace gym::api {

/// `type` is a word of type_json() or the name of a schema; "?" behind it: may be null; "[]": a
/// list of it; "~" at the end: may be absent.
struct Field {
    std::string_view name;
    std::string_view type;
    std::string_view about = {};
};
using Fields = std::vector<Field>;

/// An object with these fields and no others.
[[nodiscard]] boost::json::object schema(const Fields& fields);
[[nodiscard]] Fields operator+(Fields left, const Fields& right);

/// Of datasets and models, into components.schemas.
void dataset_schemas(boost::json::object& out);
void model_schemas(boost::json::object& out);

}  // namespace gym::api
