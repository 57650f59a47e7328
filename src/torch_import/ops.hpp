#pragma once

#include <ATen/core/ivalue.h>

#include <functional>
#include <string>
#include <vector>

#include "symbols.hpp"

namespace gym::torch_import {

/// Writes an op of TorchScript into the program: arguments as its schema has them, all given.
/// @throws c10::Error saying what about the arguments programs cannot do.
using Translator =
    std::function<c10::IValue(Symbols& symbols, const std::vector<c10::IValue>& arguments)>;

/// nullptr for an op that programs have nothing for. `name` with its namespace ("aten::linear").
[[nodiscard]] const Translator* find_translator(const std::string& name);

/// Ops that only arrange elements: libtorch itself knows their effect on a layout.
[[nodiscard]] bool is_movement(const std::string& name);

/// Ops on lists and numbers, which the interpreter can run whatever the tensors in the lists.
[[nodiscard]] bool is_container_op(const std::string& name);

}  // namespace gym::torch_import
