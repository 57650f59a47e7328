#pragma once

#include <functional>
#include <memory>

#include "gym/coordinator/compute.hpp"

namespace gym::app {

/// Wraps the coordinator's access to the engine; tests use it to make a coordinator that computes
/// wrongly.
using WrapCompute = std::function<std::unique_ptr<coordinator::Compute>(
    std::unique_ptr<coordinator::Compute> engine)>;

/// gym-coordinator from its command line on. @return the exit code.
int run_coordinator(int argc, char** argv, const WrapCompute& wrap_compute = {});

}  // namespace gym::app
