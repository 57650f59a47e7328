#pragma once

// Runs a TorchScript graph with tensors of known shape and unknown values: control flow, lists and
// numbers are carried out, what depends on such a tensor is written into a program.

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "symbols.hpp"

namespace gym::torch_import {

class Interpreter {
  public:
    explicit Interpreter(Symbols& symbols) : symbols_(symbols) {}

    /// The result of forward() of `module` for these inputs. @throws c10::Error naming an op that
    /// programs do not have, with its place in the source where the file knows it.
    c10::IValue run(const torch::jit::Module& module, const std::vector<Tensor>& inputs);

  private:
    using Node = torch::jit::Node;
    using Block = torch::jit::Block;
    using Value = torch::jit::Value;

    void run_block(const Block& block);
    void run_node(const Node& node);
    void run_if(const Node& node);
    void run_loop(const Node& node);
    void run_op(const Node& node);
    void get_attribute(const Node& node);
    /// Lists, tuples: ops that libtorch's own interpreter builds in. False for others.
    bool run_built_in(const Node& node);
    std::vector<c10::IValue> run_natively(const Node& node, std::vector<c10::IValue> arguments);
    c10::IValue run_in_place(const Node& node, const std::vector<c10::IValue>& arguments);
    std::vector<c10::IValue> move(const Node& node, std::vector<c10::IValue> arguments);
    c10::IValue convert(const Node& node, const std::vector<c10::IValue>& arguments);
    void bind(const Node& node, std::vector<c10::IValue> outputs);
    [[nodiscard]] const c10::IValue& at(const Value* value) const { return values_.at(value); }
    [[nodiscard]] std::vector<c10::IValue> inputs_of(const Node& node) const;

    Symbols& symbols_;
    std::unordered_map<const Value*, c10::IValue> values_;
    std::unordered_map<const void*, std::string> paths_;  ///< of module objects
    std::vector<c10::IValue> native_;                     ///< keeps results of native runs alive
    std::size_t nodes_run_ = 0;
};

}  // namespace gym::torch_import
