#pragma once

#include "gym/blob/dataset.hpp"
#include "gym/common/result.hpp"
#include "gym/program/program.hpp"

namespace gym::engine {

/// Whether a train program can be trained and evaluated on every window of a dataset, whichever are
/// drawn: no token that the model does not know, room for a window in both splits, and for a
/// classifier a class that it has in every row, which takes a look at each of them.
/// @errors kInvalidArgument saying what is wrong.
Status check_dataset(const program::Program& train, const blob::Dataset& dataset);

}  // namespace gym::engine
