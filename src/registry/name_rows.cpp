#include "name_rows.hpp"

#include <string>

namespace gym::registry {
namespace {

std::string table_of(NameKind kind) {
    return kind == NameKind::kDataset ? "registry.dataset_name" : "registry.model_name";
}

std::string plural_of(NameKind kind) {
    return kind == NameKind::kDataset ? "datasets" : "models";
}

}  // namespace

std::string whom_to_ask(NameKind kind) {
    return "; the operator of the network can allow more (`" + plural_of(kind) +
           "` in gym-api's configuration)";
}

Status take_name(db::Transaction& tx, NameKind kind, const std::string& name,
                 const NewName& taken) {
    const std::string table = table_of(kind);
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT owner FROM " + table + " WHERE name = $1", {name}));
    if (row && row->get<Address>("owner") == taken.owner) return {};
    if (row)
        return fail(ErrorCode::kPermissionDenied,
                    "the name " + name + " belongs to another owner: choose another one");
    GYM_TRY(
        const db::Row used,
        tx.exec_one("SELECT count(*) AS names FROM " + table + " WHERE owner = $1", {taken.owner}));
    const auto names = used.get<std::uint64_t>("names");
    if (names >= taken.names_max)
        return fail(ErrorCode::kOutOfRange,
                    "you have " + std::to_string(names) + " names of " + plural_of(kind) +
                        ", and may have " + std::to_string(taken.names_max) +
                        ": use a new version of one of them" + whom_to_ask(kind));
    GYM_CHECK(
        tx.exec("INSERT INTO " + table + " (name, owner, registered_at_ms) VALUES ($1, $2, $3)",
                {name, taken.owner, taken.now_ms}));
    return {};
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
