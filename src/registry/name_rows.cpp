#include "name_rows.hpp"

#include <string>

namespace gym::registry {
namespace {

std::string table_of(NameKind kind) {
    return kind == NameKind::kDataset ? "registry.dataset_name" : "registry.model_name";
}

}  // namespace

Status take_name(db::Transaction& tx, NameKind kind, const std::string& name, const Address& owner,
                 UnixMs now_ms) {
    const std::string table = table_of(kind);
    GYM_CHECK(tx.exec("INSERT INTO " + table +
                          " (name, owner, registered_at_ms) VALUES ($1, $2, $3) ON CONFLICT (name) "
                          "DO NOTHING",
                      {name, owner, now_ms}));
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT owner FROM " + table + " WHERE name = $1", {name}));
    if (row && row->get<Address>("owner") == owner) return {};
    return fail(ErrorCode::kPermissionDenied,
                "the name " + name + " belongs to another owner: choose another one");
}

Result<std::uint32_t> next_version(const NameReference& reference,
                                   std::optional<std::uint32_t> last) {
    const std::uint32_t next = last.value_or(0) + 1;
    if (reference.version.value_or(next) == next) return next;
    return fail(ErrorCode::kConflict, "the next version of " + reference.name + " is " +
                                          std::to_string(next) +
                                          ": versions never change and follow each other");
}

}  // namespace gym::registry
