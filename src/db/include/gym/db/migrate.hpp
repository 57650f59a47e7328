#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/db/database.hpp"

namespace gym::db {

struct MigrationReport {
    std::vector<std::string> applied;  ///< file names applied now, in order
    std::size_t already_applied = 0;
};

/// Applies the files NNNN_name.sql of `folder` that the database does not have yet, in the order of
/// their numbers, in one transaction under an advisory lock (concurrent callers wait, then find
/// nothing to do). Forward only: numbers may have gaps, and a number lower than the newest applied
/// one may still arrive, but each file is applied once and its SHA-256 recorded.
/// @errors kMismatch if an applied file was altered, kNotFound if one is gone, kInvalidArgument for
/// a file name of another form or a number used twice, kIo, and what the SQL raises (naming the
/// file).
Result<MigrationReport> migrate(Database& database, const std::filesystem::path& folder);

/// Creates the login role `user` (or sets its password) and grants it the group role `group`, e.g.
/// gym_rewards. Runs as the owner of the database.
Status ensure_login_role(Database& database, const std::string& user, const std::string& password,
                         const std::string& group);

}  // namespace gym::db
