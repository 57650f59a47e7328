#pragma once

#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/engine/state.hpp"
#include "gym/program/program.hpp"

namespace gym::torch_import {

/// Shape and dtype of an argument of forward().
struct SampleInput {
    bool is_float = true;  ///< f32; else i64
    std::vector<std::int64_t> sizes;
};

/// "f32[8,20]" or "i64[2,16]". @errors kInvalidArgument.
[[nodiscard]] Result<SampleInput> parse_sample_input(const std::string& text);

struct Imported {
    program::Program program;  ///< inputs "input0", ..., output "output"
    engine::State weights;     ///< its parameters: a base state
};

/// The forward pass of a TorchScript file (torch.jit.script or trace) for inputs of these shapes,
/// in evaluation mode. Parameters keep their names, in lower case.
/// @errors kNotFound, kMalformed for a file that libtorch does not load; kInvalidArgument naming
/// the first op that programs do not have, and its place in the source where the file knows it.
[[nodiscard]] Result<Imported> import_torchscript(const std::string& path,
                                                  const std::vector<SampleInput>& inputs);

}  // namespace gym::torch_import
