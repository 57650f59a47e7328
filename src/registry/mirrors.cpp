#include "gym/registry/mirrors.hpp"

namespace gym::registry {

Status publish_mirrors(db::Transaction& tx, const std::vector<std::string>& mirrors) {
    GYM_CHECK(tx.exec("DELETE FROM registry.mirror"));
    for (std::size_t i = 0; i < mirrors.size(); ++i)
        GYM_CHECK(tx.exec("INSERT INTO registry.mirror (position, url) VALUES ($1, $2)",
                          {static_cast<std::uint32_t>(i), mirrors[i]}));
    return {};
}

Result<std::vector<std::string>> published_mirrors(db::Transaction& tx) {
    GYM_TRY(const db::Rows rows, tx.exec("SELECT url FROM registry.mirror ORDER BY position"));
    std::vector<std::string> out;
    for (const db::Row row : rows)
        out.push_back(row.get<std::string>("url"));
    return out;
}

}  // namespace gym::registry
