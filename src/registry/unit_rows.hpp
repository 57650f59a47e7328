#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "columns.hpp"
#include "gym/registry/units.hpp"

namespace gym::registry {

/// Rows for to_unit(); a condition on `u` follows.
inline constexpr std::string_view kUnitSelect =
    "SELECT u.*, (SELECT digest FROM registry.report p WHERE p.unit_id = u.id "
    "AND p.draw = u.draws - 1) AS report_digest FROM registry.unit u ";

/// A row of registry.unit with its report_digest.
Result<Unit> to_unit(const db::Row& row);
/// Units by their ids, in any order; those that do not exist are left out.
Result<std::vector<Unit>> units_of(db::Transaction& tx, std::span<const Digest> ids);

}  // namespace gym::registry
