#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "gym/common/assert.hpp"

namespace gym::blob::test {

/// A fresh directory that goes away with the object.
class TempDir {
  public:
    TempDir() {
        std::string name = (std::filesystem::temp_directory_path() / "gym-blob-XXXXXX").string();
        GYM_ASSERT(mkdtemp(name.data()) != nullptr, "no temporary directory");
        path_ = name;
    }
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;
    ~TempDir() { std::filesystem::remove_all(path_); }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace gym::blob::test
