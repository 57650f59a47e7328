#pragma once

#include <cstdint>
#include <optional>

#include "gym/db/value.hpp"
#include "gym/protocol/delta_size.hpp"

namespace gym::registry {

/// Bytes of each delta of the job in a row with `delta_bytes` and `parameters`: jobs that began
/// before there were codecs have no `delta_bytes`.
[[nodiscard]] inline std::uint64_t delta_bytes_of(const db::Row& row) {
    return row.get<std::optional<std::uint64_t>>("delta_bytes")
        .value_or(protocol::plain_delta_bytes(row.get<std::uint64_t>("parameters")));
}

}  // namespace gym::registry
