#pragma once

#include "gym/common/temporary_folder.hpp"

namespace gym::testing {

/// A folder that goes away with the test.
class TemporaryFolder : public gym::TemporaryFolder {
  public:
    TemporaryFolder() : gym::TemporaryFolder(create("gym-test").value()) {}
};

}  // namespace gym::testing
