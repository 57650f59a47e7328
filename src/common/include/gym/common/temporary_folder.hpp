#pragma once

#include <filesystem>
#include <string_view>

#include "gym/common/result.hpp"

namespace gym {

/// A new folder below the system's temporary one, for its owner alone; goes away with the object
/// and everything in it.
class TemporaryFolder {
  public:
    /// @param prefix how its name begins. @errors kIo.
    [[nodiscard]] static Result<TemporaryFolder> create(std::string_view prefix);
    TemporaryFolder(TemporaryFolder&& other) noexcept;
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder();

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::filesystem::path operator/(std::string_view name) const {
        return path_ / name;
    }

  private:
    explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;  // empty: moved from
};

}  // namespace gym
