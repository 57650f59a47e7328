#pragma once

#include "gym/registry/units.hpp"

namespace gym::registry {

/// A row of registry.unit with its report_digest.
Result<Unit> to_unit(const db::Row& row);

}  // namespace gym::registry
