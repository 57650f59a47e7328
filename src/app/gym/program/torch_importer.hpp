#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/program/program.hpp"

namespace gym::app {

/// Imports a TorchScript file in a process of its own, gym-torch-import.
/// @param samples an argument of forward() each, like "i64[8,128]".
/// Writes the program to `program` and its parameters to `state`.
/// @errors kInvalidArgument naming the first op that programs do not have, and its place in the
/// source; kMalformed for a file that is not TorchScript; kNotFound if gym was built without
/// libtorch.
Status import_torchscript(const std::string& model, const std::vector<std::string>& samples,
                          const std::string& program, const std::string& state);

/// Success if a train program can be made of `forward`, with the windows that it was imported for.
Status check_trainable(const program::Program& forward);

}  // namespace gym::app
