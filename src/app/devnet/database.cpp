#include "gym/db/migrate.hpp"
#include "gym/db/private_cluster.hpp"
#include "gym/devnet/infrastructure.hpp"

namespace gym::devnet {
namespace {

Result<db::PrivateCluster> open_cluster(const Layout& layout) {
    return db::PrivateCluster::prepare(
        {.folder = layout.postgres, .durability = db::Durability::kProcessCrash});
}

}  // namespace

Status start_database(const Layout& layout, const std::filesystem::path& migrations) {
    GYM_TRY(db::PrivateCluster cluster, open_cluster(layout));
    GYM_CHECK(cluster.start());
    if (Status created = cluster.create_database(kDatabase);
        !created.ok() && created.error().code != ErrorCode::kAlreadyExists)
        return created;
    GYM_TRY(auto database, db::Database::open(cluster.superuser(kDatabase)));
    GYM_TRY(const auto report, db::migrate(*database, migrations));
    (void)report;
    for (const std::string service :
         {kDbCoordinator, kDbRewards, kDbApi, kDbEvaluator, kDbAuditor}) {
        GYM_TRY(const std::string password, ensure_secret(layout.secrets() / ("db-" + service)));
        GYM_CHECK(db::ensure_login_role(*database, service, password, "gym_" + service));
    }
    return {};
}

Result<std::string> auditor_access(const Layout& layout) {
    GYM_TRY(const db::PrivateCluster cluster, open_cluster(layout));
    const db::ConnectionConfig access = cluster.superuser(kDatabase);
    const std::string user = kDbAuditor;
    return "PGHOST=" + access.host + " PGPORT=" + std::to_string(access.port) +
           " PGDATABASE=" + kDatabase + " PGUSER=" + user + " PGPASSWORD=$(cat " +
           (layout.secrets() / ("db-" + user)).string() + ")";
}

Status stop_database(const Layout& layout) {
    std::error_code error;
    if (!std::filesystem::exists(layout.postgres / "data", error)) return {};
    GYM_TRY(db::PrivateCluster cluster, open_cluster(layout));
    return cluster.stop();
}

}  // namespace gym::devnet
