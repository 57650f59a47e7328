#include "gym/registry/dataset_names.hpp"

#include <algorithm>
#include <charconv>

namespace gym::registry {
namespace {

constexpr std::string_view kVersionColumns =
    "SELECT v.name, v.version, v.root, n.owner, v.registered_at_ms "
    "FROM registry.dataset_version v JOIN registry.dataset_name n ON n.name = v.name "
    "WHERE v.name = $1 ";

DatasetVersion to_version(const db::Row& row) {
    return {row.get<std::string>("name"), row.get<std::uint32_t>("version"),
            row.get<Digest>("root"), row.get<Address>("owner"),
            row.get<UnixMs>("registered_at_ms")};
}

bool is_lower_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_hexadecimal(std::string_view text) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    return std::ranges::all_of(
        text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<std::optional<DatasetVersion>> newest(db::Transaction& tx, const std::string& name) {
    GYM_TRY(
        const auto row,
        tx.exec_optional(std::string(kVersionColumns) + "ORDER BY v.version DESC LIMIT 1", {name}));
    if (!row) return std::optional<DatasetVersion>();
    return std::optional(to_version(*row));
}

/// The name is the owner's when this returns.
Status take_name(db::Transaction& tx, const std::string& name, const Address& owner,
                 UnixMs now_ms) {
    GYM_CHECK(
        tx.exec("INSERT INTO registry.dataset_name (name, owner, registered_at_ms) "
                "VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
                {name, owner, now_ms}));
    GYM_TRY(const auto row,
            tx.exec_optional("SELECT owner FROM registry.dataset_name WHERE name = $1", {name}));
    if (row && row->get<Address>("owner") == owner) return {};
    return fail(ErrorCode::kPermissionDenied,
                "the name " + name + " belongs to " +
                    (row ? row->get<Address>("owner").hex() : "another owner") +
                    ": choose another one");
}

}  // namespace

Result<DatasetReference> parse_dataset_reference(std::string_view text) {
    const std::size_t at = text.find('@');
    DatasetReference out{.name = std::string(text.substr(0, at))};
    const bool plain = std::ranges::all_of(
        out.name, [](char c) { return is_lower_or_digit(c) || c == '.' || c == '_' || c == '-'; });
    if (out.name.empty() || out.name.size() > kDatasetNameBytesMax || !plain ||
        !is_lower_or_digit(out.name[0]) || is_hexadecimal(out.name))
        return fail(ErrorCode::kInvalidArgument,
                    "a dataset's name has 1 to 64 lower-case letters, digits, '.', '_' and '-', "
                    "begins with a letter or digit and is not hexadecimal");
    if (at == std::string_view::npos) return out;
    const std::string_view digits = text.substr(at + 1);
    std::uint32_t version = 0;
    const auto [after, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), version);
    if (error != std::errc{} || after != digits.data() + digits.size() || version == 0 ||
        version > kDatasetVersionMax)
        return fail(ErrorCode::kInvalidArgument, "the version of a dataset is a number from 1 to " +
                                                     std::to_string(kDatasetVersionMax) +
                                                     ", as in " + out.name + "@2");
    out.version = version;
    return out;
}

Result<NamedDataset> name_dataset(db::Transaction& tx, const DatasetReference& reference,
                                  const Digest& root, const Address& owner, UnixMs now_ms) {
    GYM_CHECK(lock_registrations(tx));
    // The name first: what it refuses shows before the dataset is registered.
    GYM_CHECK(take_name(tx, reference.name, owner, now_ms));
    GYM_TRY(const auto last, newest(tx, reference.name));
    const std::uint32_t next = last ? last->version + 1 : 1;
    if (last && last->root == root && reference.version.value_or(last->version) == last->version)
        return NamedDataset{*last, false};
    if (reference.version.value_or(next) != next)
        return fail(ErrorCode::kConflict, "the next version of " + reference.name + " is " +
                                              std::to_string(next) +
                                              ": versions never change and follow each other");
    GYM_TRY(const Dataset dataset, get_dataset(tx, root));
    if (dataset.owner != owner)
        return fail(ErrorCode::kPermissionDenied,
                    "dataset " + root.hex() + " belongs to " + dataset.owner.hex());
    GYM_CHECK(
        tx.exec("INSERT INTO registry.dataset_version (name, version, root, "
                "registered_at_ms) VALUES ($1, $2, $3, $4)",
                {reference.name, next, root, now_ms}));
    return NamedDataset{{reference.name, next, root, owner, now_ms}, true};
}

Result<DatasetVersion> get_dataset_version(db::Transaction& tx, const DatasetReference& reference) {
    if (!reference.version) {
        GYM_TRY(const auto found, newest(tx, reference.name));
        if (found) return *found;
        return fail(ErrorCode::kNotFound, "no dataset has the name " + reference.name);
    }
    GYM_TRY(const auto row, tx.exec_optional(std::string(kVersionColumns) + "AND v.version = $2",
                                             {reference.name, *reference.version}));
    if (row) return to_version(*row);
    return fail(ErrorCode::kNotFound,
                "there is no dataset " + reference.name + "@" + std::to_string(*reference.version));
}

Status add_names(db::Transaction& tx, std::span<Dataset> datasets) {
    std::vector<std::int64_t> numbers;
    numbers.reserve(datasets.size());
    for (Dataset& dataset : datasets) {
        dataset.names.clear();
        numbers.push_back(static_cast<std::int64_t>(dataset.number));
    }
    GYM_TRY(const db::Rows rows,
            tx.exec("SELECT d.number, v.name, v.version FROM registry.dataset d "
                    "CROSS JOIN LATERAL (SELECT name, version, registered_at_ms "
                    "FROM registry.dataset_version WHERE root = d.root "
                    "ORDER BY registered_at_ms DESC, name, version DESC LIMIT $2) v "
                    "WHERE d.number = ANY($1::bigint[]) "
                    "ORDER BY v.registered_at_ms DESC, v.name, v.version DESC",
                    {db::Param::array(numbers), kDatasetNamesMax}));
    for (const db::Row row : rows) {
        const auto found =
            std::ranges::find(datasets, row.get<std::uint64_t>("number"), &Dataset::number);
        if (found == datasets.end()) continue;
        found->names.push_back(row.get<std::string>("name") + "@" +
                               std::to_string(row.get<std::uint32_t>("version")));
    }
    return {};
}

Result<std::vector<DatasetVersion>> dataset_versions(db::Transaction& tx, const std::string& name) {
    GYM_TRY(const db::Rows rows,
            tx.exec(std::string(kVersionColumns) + "ORDER BY v.version DESC LIMIT 1000", {name}));
    if (rows.size() == 0) return fail(ErrorCode::kNotFound, "no dataset has the name " + name);
    std::vector<DatasetVersion> out;
    out.reserve(rows.size());
    for (const db::Row row : rows)
        out.push_back(to_version(row));
    return out;
}

}  // namespace gym::registry
