#pragma once

#include <boost/json/object.hpp>

namespace gym::api {

/// components.schemas of openapi.json.
[[nodiscard]] boost::json::object openapi_schemas();

// Parts of it with files of their own.
void evidence_schemas(boost::json::object& out);
void transfer_proof_schemas(boost::json::object& out);

}  // namespace gym::api
