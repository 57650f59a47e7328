#include "interpreter.hpp"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <algorithm>

#include "ops.hpp"

namespace gym::torch_import {
namespace {

using c10::IValue;
namespace prim = c10::prim;

constexpr std::size_t kNodesMax = 1'000'000;  // loops are written out

bool is_symbolic(const IValue& value) {
    if (value.isTensor()) return Symbols::is_symbolic(value.toTensor());
    if (value.isTuple()) return std::ranges::any_of(value.toTupleRef().elements(), is_symbolic);
    if (value.isList()) {
        const auto& list = value.toListRef();
        return std::any_of(list.begin(), list.end(), is_symbolic);
    }
    return false;
}

bool holds_tensors(const c10::Type& type) {
    if (type.kind() == c10::TypeKind::TensorType) return true;
    const auto inner = type.containedTypes();
    return std::ranges::any_of(inner, [](const auto& t) { return holds_tensors(*t); });
}

std::string name_of(const torch::jit::Node& node) {
    return node.kind().toQualString();
}

std::string text_of(torch::jit::SourceRange range) {
    if (const auto original = range.findSourceRangeThatGenerated()) range = *original;
    const auto place = range.file_line_col();
    if (!place) return "";
    return std::get<0>(*place) + ":" + std::to_string(std::get<1>(*place));
}

bool in_libtorch(const std::string& place) {
    return place.find("/torch/") != std::string::npos;
}

/// " at model.py:12", as far as the file knows where its ops come from; for an op inside PyTorch's
/// own layers also where the model calls them.
std::string place_of(const torch::jit::Node& node) {
    const std::string place = text_of(node.sourceRange());
    if (place.empty()) return "";
    if (!in_libtorch(place) || !node.callstack().has_value()) return " at " + place;
    const auto calls = (*node.callstack())->vec();
    for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
        const std::string caller = text_of(std::get<1>(*call));
        if (!caller.empty() && !in_libtorch(caller)) return " at " + place + ", from " + caller;
    }
    return " at " + place;
}

/// Whether `moved` lies in the memory of `tensor`.
bool shares_memory(const Tensor& tensor, const IValue& moved) {
    const auto shares = [&](const Tensor& t) { return t.is_alias_of(tensor); };
    if (moved.isTensor()) return shares(moved.toTensor());
    const auto list = moved.toTensorVector();
    return std::ranges::all_of(list, shares);
}

}  // namespace

std::vector<IValue> Interpreter::inputs_of(const Node& node) const {
    std::vector<IValue> inputs;
    for (const Value* input : node.inputs())
        inputs.push_back(at(input));
    return inputs;
}

void Interpreter::bind(const Node& node, std::vector<IValue> outputs) {
    TORCH_CHECK(outputs.size() == node.outputs().size(), "a list of another length");
    for (std::size_t i = 0; i < outputs.size(); ++i)
        values_[node.outputs()[i]] = std::move(outputs[i]);
}

IValue Interpreter::run(const torch::jit::Module& module, const std::vector<Tensor>& inputs) {
    const auto method = module.find_method("forward");
    TORCH_CHECK(method.has_value(), "the model has no forward()");
    const auto graph = method->graph()->copy();
    torch::jit::Inline(*graph);
    const auto& arguments = method->function().getSchema().arguments();
    TORCH_CHECK(arguments.size() > inputs.size(), "forward() takes ", arguments.size() - 1,
                " arguments, ", inputs.size(), " were given with --sample-input");
    paths_[module._ivalue().get()] = "";
    values_[graph->inputs()[0]] = module._ivalue();
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        const bool given = i <= inputs.size();
        TORCH_CHECK(given || arguments[i].default_value().has_value(), "forward() needs '",
                    arguments[i].name(), "' too: give a --sample-input for it");
        values_[graph->inputs()[i]] = given ? IValue(inputs[i - 1]) : *arguments[i].default_value();
    }
    run_block(*graph->block());
    TORCH_CHECK(graph->outputs().size() == 1, "forward() returns several values");
    return at(graph->outputs()[0]);
}

void Interpreter::run_block(const Block& block) {
    for (const Node* node : block.nodes()) {
        TORCH_CHECK(++nodes_run_ <= kNodesMax, "the model runs more than ", kNodesMax, " ops");
        run_node(*node);
    }
}

void Interpreter::run_node(const Node& node) {
    try {
        switch (node.kind()) {
            case prim::Constant:
                // Functions, which have been written out where they were called, have no value.
                bind(node, {torch::jit::toIValue(node.output()).value_or(IValue())});
                return;
            case prim::GetAttr:
                get_attribute(node);
                return;
            case prim::If:
                run_if(node);
                return;
            case prim::Loop:
                run_loop(node);
                return;
            default:
                if (!run_built_in(node)) run_op(node);
        }
    } catch (const c10::Error& error) {
        // Blocks inside blocks: the innermost op is what matters.
        const std::string message = error.what_without_backtrace();
        if (message.find(" (op ") != std::string::npos) throw;
        TORCH_CHECK(false, message, " (op ", name_of(node), place_of(node), ")");
    } catch (const std::exception& error) {
        TORCH_CHECK(false, error.what(), " (op ", name_of(node), place_of(node), ")");
    }
}

void Interpreter::get_attribute(const Node& node) {
    const auto object = at(node.input()).toObject();
    const std::string& name = node.s(c10::attr::name);
    IValue value = object->getAttr(name);
    const std::string& parent = paths_[object.get()];
    const std::string path = parent.empty() ? name : parent + "." + name;
    if (value.isObject()) paths_[value.toObject().get()] = path;
    const auto& type = object->type();
    if (value.isTensor() && type->is_parameter(type->getAttributeSlot(name)))
        value = symbols_.param(path, value.toTensor());
    bind(node, {std::move(value)});
}

void Interpreter::run_if(const Node& node) {
    const Block& block = *node.blocks()[at(node.input()).toBool() ? 0 : 1];
    run_block(block);
    std::vector<IValue> outputs;
    for (const Value* output : block.outputs())
        outputs.push_back(at(output));
    bind(node, std::move(outputs));
}

void Interpreter::run_loop(const Node& node) {
    const std::vector<IValue> inputs = inputs_of(node);
    const std::int64_t trips = inputs[0].toInt();
    bool go_on = inputs[1].toBool();
    std::vector<IValue> carried(inputs.begin() + 2, inputs.end());
    const Block& body = *node.blocks()[0];
    for (std::int64_t i = 0; i < trips && go_on; ++i) {
        values_[body.inputs()[0]] = i;
        for (std::size_t k = 0; k < carried.size(); ++k)
            values_[body.inputs()[k + 1]] = carried[k];
        run_block(body);
        go_on = at(body.outputs()[0]).toBool();
        for (std::size_t k = 0; k < carried.size(); ++k)
            carried[k] = at(body.outputs()[k + 1]);
    }
    bind(node, std::move(carried));
}

bool Interpreter::run_built_in(const Node& node) {
    std::vector<IValue> inputs = inputs_of(node);
    switch (node.kind()) {
        case prim::ListConstruct: {
            const auto type = node.output()->type()->expect<c10::ListType>();
            c10::impl::GenericList list(type->getElementType());
            for (IValue& input : inputs)
                list.push_back(std::move(input));
            bind(node, {std::move(list)});
            return true;
        }
        case prim::TupleConstruct:
            bind(node, {c10::ivalue::Tuple::create(std::move(inputs))});
            return true;
        case prim::ListUnpack:
            bind(node, inputs[0].toListRef().vec());
            return true;
        case prim::TupleUnpack:
            bind(node, inputs[0].toTupleRef().elements().vec());
            return true;
        default:
            return false;
    }
}

std::vector<IValue> Interpreter::run_natively(const Node& node, std::vector<IValue> arguments) {
    const at::NoGradGuard no_grad;
    torch::jit::Stack stack = std::move(arguments);
    node.getOperation()(stack);
    native_.insert(native_.end(), stack.begin(), stack.end());
    return stack;
}

void Interpreter::run_op(const Node& node) {
    std::vector<IValue> arguments = inputs_of(node);
    const std::string name = name_of(node);
    if (node.kind() == prim::device) {  // or constants made "where the input is" had no values
        bind(node, {c10::Device(at::kCPU)});
        return;
    }
    const bool symbolic = std::ranges::any_of(arguments, is_symbolic);
    if (!symbolic || is_container_op(name)) {
        bind(node, run_natively(node, std::move(arguments)));
        return;
    }
    if (const Translator* translate = find_translator(name)) {
        bind(node, {(*translate)(symbols_, arguments)});
        return;
    }
    if (name == "aten::to" || name == "aten::type_as") {
        bind(node, {convert(node, arguments)});
        return;
    }
    if (is_movement(name)) {
        bind(node, move(node, std::move(arguments)));
        return;
    }
    if (name.ends_with('_') && find_translator(name.substr(0, name.size() - 1)) != nullptr) {
        bind(node, {run_in_place(node, arguments)});
        return;
    }
    const auto outputs = node.outputs();
    const bool gives_tensors = std::any_of(outputs.begin(), outputs.end(), [](const Value* value) {
        return holds_tensors(*value->type());
    });
    TORCH_CHECK(!gives_tensors, "programs have no op for ", name);
    bind(node, run_natively(node, std::move(arguments)));  // sizes and dtypes
}

IValue Interpreter::run_in_place(const Node& node, const std::vector<IValue>& arguments) {
    const std::string name = name_of(node);
    const Translator& translate = *find_translator(name.substr(0, name.size() - 1));
    const Tensor result = translate(symbols_, arguments).toTensor();
    const Tensor target = arguments[0].toTensor();
    TORCH_CHECK(Symbols::is_symbolic(target) && result.sizes() == target.sizes(), name,
                " changes the shape of a tensor, or a tensor that is not the result of an op");
    symbols_.rebind(target, result);
    return target;
}

std::vector<IValue> Interpreter::move(const Node& node, std::vector<IValue> arguments) {
    TORCH_CHECK(arguments[0].isTensor() && Symbols::is_symbolic(arguments[0].toTensor()),
                name_of(node), " of a constant, by a tensor");
    const Tensor tensor = arguments[0].toTensor();
    std::vector<IValue> moved = run_natively(node, arguments);
    if (shares_memory(tensor, moved.at(0))) return moved;
    // libtorch would copy, so the program does, and then it is a view.
    const Tensor copy = symbols_.make(symbols_.dense(tensor), tensor.sizes(), tensor.scalar_type());
    arguments[0] = copy;
    moved = run_natively(node, arguments);
    if (shares_memory(copy, moved.at(0))) return moved;
    return {copy};  // clone()
}

IValue Interpreter::convert(const Node& node, const std::vector<IValue>& arguments) {
    const Tensor tensor = arguments[0].toTensor();
    const auto& schema = node.schema();
    at::ScalarType wanted = tensor.scalar_type();
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        if (schema.arguments()[i].name() == "dtype" && arguments[i].isInt())
            wanted = arguments[i].toScalarType();
        if (schema.arguments()[i].name() == "other") wanted = arguments[i].toTensor().scalar_type();
    }
    const bool integers =
        at::isIntegralType(tensor.scalar_type(), false) && at::isIntegralType(wanted, false);
    TORCH_CHECK(integers || wanted == tensor.scalar_type(), "a conversion from ",
                tensor.scalar_type(), " to ", wanted);
    return tensor;
}

}  // namespace gym::torch_import
