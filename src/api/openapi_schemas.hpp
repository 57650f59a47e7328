#pragma once

#include <boost/json/object.hpp>

namespace gym::api {

/// components.schemas of openapi.json.
[[nodiscard]] boost::json::object openapi_schemas();

}  // namespace gym::api
