#include "gym/registry/service_health.hpp"

namespace gym::registry {

Status note_health(db::Transaction& tx, std::string_view service, std::string_view problem,
                   UnixMs now_ms) {
    GYM_CHECK(
        tx.exec("INSERT INTO registry.service_health (service, problem, seen_at_ms) VALUES "
                "($1, $2, $3) ON CONFLICT (service) DO UPDATE SET problem = excluded.problem, "
                "seen_at_ms = excluded.seen_at_ms",
                {std::string(service), std::string(problem), now_ms}));
    return {};
}

Result<std::vector<ServiceHealth>> service_health(db::Transaction& tx) {
    GYM_TRY(const auto rows, tx.exec("SELECT service, problem, seen_at_ms FROM "
                                     "registry.service_health ORDER BY service"));
    std::vector<ServiceHealth> out;
    for (const db::Row row : rows)
        out.push_back({row.get<std::string>("service"), row.get<std::string>("problem"),
                       row.get<UnixMs>("seen_at_ms")});
    return out;
}

}  // namespace gym::registry
