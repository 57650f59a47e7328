#include "gym/engine/op_runner.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "execute.hpp"
#include "gym/kernels/float_environment.hpp"
#include "gym/program/validate.hpp"
#include "make_context.hpp"

namespace gym::engine {
namespace {

using program::Op;
using program::Opcode;
using program::Program;
using program::ProgramParts;
using program::SlotId;
using program::SlotKind;

/// Kinds of calls that are remembered; a training loop has a few dozen.
constexpr std::size_t kProgramsMax = 1024;

using Key = std::vector<std::uint64_t>;

template <class Operand>
void append_shape(Key& key, const Operand& operand) {
    key.push_back(static_cast<std::uint64_t>(operand.dtype));
    key.push_back(operand.dims.size());
    key.insert(key.end(), operand.dims.begin(), operand.dims.end());
}

/// A program of this one op: inputs first, then outputs.
Result<Program> single_op(Opcode code, std::span<const std::uint64_t> attributes,
                          std::span<const OpInput> inputs, std::span<const OpOutput> outputs) {
    ProgramParts parts;
    Op op;
    op.code = code;
    if (attributes.size() > op.attributes.size())
        return fail(ErrorCode::kInvalidArgument, "more attributes than an op can have");
    std::ranges::copy(attributes, op.attributes.begin());
    for (const OpInput& input : inputs) {
        op.inputs.push_back(static_cast<SlotId>(parts.slots.size()));
        const std::string name = "input" + std::to_string(parts.slots.size());
        parts.slots.push_back({name, SlotKind::kInput, input.dtype, input.dims, {}});
    }
    for (const OpOutput& output : outputs) {
        op.outputs.push_back(static_cast<SlotId>(parts.slots.size()));
        parts.slots.push_back({{}, SlotKind::kTemp, output.dtype, output.dims, {}});
    }
    parts.ops.push_back(std::move(op));
    auto program = Program::create(std::move(parts));
    if (program.ok()) return program;
    // The caller knows which op this is.
    Error error = program.error();
    const std::string title = "op 0 (" + std::string(program::to_string(code)) + "): ";
    if (error.message.starts_with(title)) error.message.erase(0, title.size());
    return error;
}

}  // namespace

struct OpRunner::Impl {
    explicit Impl(kernels::Context c) : context(std::move(c)) {}

    kernels::Context context;
    kernels::MacroWorkspace scratch;
    std::map<Key, Program> programs;

    Result<const Program*> program_for(Opcode code, std::span<const std::uint64_t> attributes,
                                       std::span<const OpInput> inputs,
                                       std::span<const OpOutput> outputs) {
        Key key{static_cast<std::uint64_t>(code), attributes.size(), inputs.size()};
        key.insert(key.end(), attributes.begin(), attributes.end());
        for (const OpInput& input : inputs)
            append_shape(key, input);
        for (const OpOutput& output : outputs)
            append_shape(key, output);
        if (const auto known = programs.find(key); known != programs.end()) return &known->second;
        GYM_TRY(Program program, single_op(code, attributes, inputs, outputs));
        if (programs.size() >= kProgramsMax) programs.clear();
        return &programs.emplace(std::move(key), std::move(program)).first->second;
    }
};

Result<OpRunner> OpRunner::create(const EngineOptions& options) {
    GYM_TRY(kernels::Context context, make_context(options));
    return OpRunner(std::make_unique<Impl>(std::move(context)));
}

OpRunner::OpRunner(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OpRunner::OpRunner(OpRunner&&) noexcept = default;
OpRunner& OpRunner::operator=(OpRunner&&) noexcept = default;
OpRunner::~OpRunner() = default;

Status OpRunner::run(Opcode code, std::span<const std::uint64_t> attributes,
                     std::span<const OpInput> inputs, std::span<const OpOutput> outputs) {
    GYM_TRY(const Program* program, impl_->program_for(code, attributes, inputs, outputs));
    SlotPointers memory;
    memory.reserve(inputs.size() + outputs.size());
    for (const OpInput& input : inputs)  // never written: only outputs are
        memory.push_back(const_cast<std::uint8_t*>(static_cast<const std::uint8_t*>(input.data)));
    for (const OpOutput& output : outputs)
        memory.push_back(static_cast<std::uint8_t*>(output.data));
    const kernels::ExactFloatEnvironment environment;
    execute({*program, program->ops().front(), memory, impl_->context, impl_->scratch});
    return {};
}

}  // namespace gym::engine
