#include "gym/dispute/macro_trace.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "gym/commit/tensor_root.hpp"
#include "gym/program/program.hpp"

namespace gym::dispute {
namespace {

using Key = std::pair<Source::Kind, std::uint32_t>;

Key key_of(const Source& source) {
    return {source.kind, source.index};
}

/// By primitive, whether `wanted` follows from it; itself included.
std::vector<bool> needed_for(const std::vector<PrimitiveRecord>& records, std::uint32_t wanted) {
    std::vector<bool> needed(records.size());
    needed[wanted] = true;
    for (std::uint32_t i = wanted + 1; i-- > 0;) {
        if (!needed[i]) continue;
        for (const Operand& operand : records[i].inputs)
            if (operand.source.kind == Source::Kind::kPrimitive)
                needed[operand.source.index] = true;
    }
    return needed;
}

/// The last of the `needed` primitives that reads each one's output; itself if none does.
std::vector<std::uint32_t> last_readers(const std::vector<PrimitiveRecord>& records,
                                        const std::vector<bool>& needed) {
    std::vector<std::uint32_t> last(records.size());
    for (std::uint32_t i = 0; i < records.size(); ++i) {
        last[i] = i;
        if (!needed[i]) continue;
        for (const Operand& operand : records[i].inputs)
            if (operand.source.kind == Source::Kind::kPrimitive) last[operand.source.index] = i;
    }
    return last;
}

Digest root_of(const Shape& shape, ByteView bytes, unsigned threads) {
    return tensor_digest(shape, commit::chunk_tree_root(bytes, threads));
}

TracedTensor traced(const Shape& shape, std::shared_ptr<const TensorMemory> memory,
                    unsigned threads) {
    std::vector<Digest> leaves = commit::chunk_leaves(std::as_const(*memory).bytes(), threads);
    return {shape, std::move(memory), std::move(leaves)};
}

/// The bytes of the operands that exist before the step; those of computed leaves come later.
MacroTrace::Operands known_operands(const engine::Unit& unit, const StepTrace& step) {
    MacroTrace::Operands known;
    const auto views = step.inputs.views(unit.train);
    std::uint32_t leaf = 0;
    for (const program::SlotId id : unit.train.slots_of(program::SlotKind::kInput)) {
        const auto view =
            std::ranges::find(views, unit.train.slot(id).name, &engine::NamedTensorView::name);
        if (view != views.end()) known[{Source::Kind::kLeaf, leaf}] = view->bytes;
        ++leaf;
    }
    for (std::uint32_t i = 0; i < step.before.tensors.size(); ++i)
        known[{Source::Kind::kState, i}] = step.before.tensors[i].bytes;
    return known;
}

std::map<Digest, ByteView> constants_of(const program::Program& program) {
    std::map<Digest, ByteView> constants;
    for (const program::Slot& slot : program.slots())
        if (slot.kind == program::SlotKind::kConstant)
            constants[root_of(shape_of(slot), slot.value, 1)] = slot.value;
    return constants;
}

using Shared = std::shared_ptr<const TensorMemory>;

Result<Shared> shared_copy(ByteView bytes, const SpillOptions& options) {
    GYM_TRY(TensorMemory memory, TensorMemory::copy(bytes, options));
    return std::make_shared<const TensorMemory>(std::move(memory));
}

/// The computed leaves that a macro op reads, and its outputs if they are claimed.
std::set<std::uint32_t> leaves_of(const MacroRange& range,
                                  const std::vector<PrimitiveRecord>& records, bool outputs) {
    std::set<std::uint32_t> wanted;
    for (const PrimitiveRecord& record : records)
        for (const Operand& input : record.inputs)
            if (input.source.kind == Source::Kind::kLeaf) wanted.insert(input.source.index);
    for (std::uint32_t i = 0; outputs && i < range.leaves; ++i)
        wanted.insert(range.first_leaf + i);
    return wanted;
}

/// The bytes of some computed leaves, from running the step with fused kernels.
Result<std::map<std::uint32_t, Shared>> take_leaves(const engine::Unit& unit,
                                                    const TraceProgram& trace,
                                                    const StepTrace& step,
                                                    const std::set<std::uint32_t>& wanted,
                                                    const MacroOptions& options) {
    std::map<std::uint32_t, Shared> taken;
    Status status;
    const LeafSink take = [&](std::uint32_t leaf, ByteView bytes) {
        if (!status.ok() || !wanted.contains(leaf)) return;
        auto memory = shared_copy(bytes, options.spill);
        if (memory.ok())
            taken.emplace(leaf, std::move(memory).value());
        else
            status = memory.error();
    };
    GYM_TRY(const std::vector<Digest> roots,
            leaf_roots(unit, trace, step.step, step.before, options.engine, take));
    GYM_CHECK(status);
    if (roots == step.leaf_roots) return taken;
    return fail(ErrorCode::kInternal, "the step gave other bits when it was run again");
}

}  // namespace

Result<TracedTensor> TracedTensor::copy(const Shape& shape, ByteView bytes,
                                        const SpillOptions& spill, unsigned threads) {
    GYM_TRY(TensorMemory memory, TensorMemory::copy(bytes, spill));
    auto shared = std::make_shared<const TensorMemory>(std::move(memory));
    std::vector<Digest> leaves = commit::chunk_leaves(shared->bytes(), threads);
    return TracedTensor{shape, std::move(shared), std::move(leaves)};
}

ByteView TracedTensor::chunk(std::uint64_t index) const {
    const std::uint64_t begin = index * commit::kChunkBytes;
    GYM_ASSERT(begin < bytes().size(), "a tensor's chunk");
    return bytes().subspan(begin,
                           std::min<std::uint64_t>(commit::kChunkBytes, bytes().size() - begin));
}

Digest TracedTensor::root() const {
    return tensor_digest(shape, commit::merkle_root(chunk_leaves));
}

Result<MacroTrace::Shared> MacroTrace::operand(const Source& source,
                                               std::span<const Shared> outputs) const {
    if (source.kind == Source::Kind::kPrimitive) {
        if (source.index < outputs.size() && outputs[source.index] != nullptr)
            return outputs[source.index];
    } else if (source.kind == Source::Kind::kConstant) {
        if (const auto found = constants_.find(source.root); found != constants_.end())
            return found->second;
    } else if (const auto found = operands_.find(key_of(source)); found != operands_.end()) {
        return found->second;
    }
    return fail(ErrorCode::kNotFound, "a macro op's operand was not given");
}

/// Runs a primitive whose operands are there.
Result<MacroTrace::Shared> MacroTrace::run_one(engine::OpRunner& runner,
                                               const PrimitiveRecord& record,
                                               std::span<const Shared> outputs) {
    std::vector<Shared> memory;  // keeps them alive during the call
    std::vector<engine::OpInput> inputs;
    for (const Operand& input : record.inputs) {
        GYM_TRY(Shared from, operand(input.source, outputs));
        inputs.push_back({input.shape.dtype, program_dims(input.shape), from->bytes().data()});
        memory.push_back(std::move(from));
    }
    GYM_TRY(TensorMemory output, TensorMemory::create(size_bytes(record.output), options_.spill));
    spilled_ = spilled_ || output.in_file();
    const engine::OpOutput to{record.output.dtype, program_dims(record.output),
                              output.bytes().data()};
    GYM_CHECK(runner.run(record.code, record.attributes, inputs, {&to, 1}));
    return std::make_shared<const TensorMemory>(std::move(output));
}

/// Runs every primitive once for its root.
Status MacroTrace::hash_all() {
    GYM_TRY(engine::OpRunner runner, engine::OpRunner::create(options_.engine));
    const std::vector<std::uint32_t> last =
        last_readers(records_, std::vector<bool>(records_.size(), true));
    std::vector<Shared> outputs(records_.size());
    std::uint64_t held = 0;
    for (std::uint32_t i = 0; i < records_.size(); ++i) {
        held += size_bytes(records_[i].output);
        peak_bytes_ = std::max(peak_bytes_, held);
        GYM_TRY(outputs[i], run_one(runner, records_[i], outputs));
        roots_.push_back(root_of(records_[i].output, outputs[i]->bytes(), options_.engine.threads));
        for (std::uint32_t j = 0; j <= i; ++j) {
            if (last[j] != i || outputs[j] == nullptr) continue;
            held -= size_bytes(records_[j].output);
            outputs[j].reset();
        }
    }
    return {};
}

/// @return by primitive what is left: what `primitive` reads and writes.
Result<std::vector<MacroTrace::Shared>> MacroTrace::run_for(std::uint32_t primitive) {
    GYM_TRY(engine::OpRunner runner, engine::OpRunner::create(options_.engine));
    const std::vector<bool> needed = needed_for(records_, primitive);
    const std::vector<std::uint32_t> last = last_readers(records_, needed);
    std::vector<Shared> outputs(records_.size());
    for (std::uint32_t i = 0; i <= primitive; ++i) {
        if (!needed[i]) continue;
        GYM_TRY(outputs[i], run_one(runner, records_[i], outputs));
        for (std::uint32_t j = 0; i < primitive && j < i; ++j)
            if (last[j] == i) outputs[j].reset();
    }
    return outputs;
}

/// Takes operands that are not outputs of primitives from `provide`, then runs the primitives.
Result<MacroTrace> MacroTrace::run_over(std::vector<PrimitiveRecord> records,
                                        const Provide& provide, const MacroOptions& options) {
    MacroTrace out;
    out.options_ = options;
    out.records_ = std::move(records);
    out.range_.primitives = static_cast<std::uint32_t>(out.records_.size());
    for (const PrimitiveRecord& record : out.records_) {
        for (const Operand& input : record.inputs) {
            const Source& source = input.source;
            if (source.kind == Source::Kind::kPrimitive || out.operand(source, {}).ok()) continue;
            GYM_TRY(Shared memory, provide(source));
            if (memory->bytes().size() != size_bytes(input.shape))
                return fail(ErrorCode::kShapeMismatch, "a macro op's operand has another size");
            out.spilled_ = out.spilled_ || memory->in_file();
            if (source.kind == Source::Kind::kConstant)
                out.constants_[source.root] = std::move(memory);
            else
                out.operands_[key_of(source)] = std::move(memory);
        }
    }
    GYM_CHECK(out.hash_all());
    return out;
}

Result<MacroTrace> MacroTrace::run(std::vector<PrimitiveRecord> records, const Operands& operands,
                                   const std::map<Digest, ByteView>& constants,
                                   const MacroOptions& options) {
    const auto provide = [&](const Source& source) -> Result<Shared> {
        const bool constant = source.kind == Source::Kind::kConstant;
        const auto named = constants.find(source.root);
        const auto given = operands.find(key_of(source));
        if (constant ? named == constants.end() : given == operands.end())
            return fail(ErrorCode::kNotFound, "a macro op's operand was not given");
        return shared_copy(constant ? named->second : given->second, options.spill);
    };
    return run_over(std::move(records), provide, options);
}

Result<MacroTrace> MacroTrace::create(const engine::Unit& unit, const TraceProgram& trace,
                                      const StepTrace& step, std::uint32_t op,
                                      const MacroOptions& options) {
    if (op >= trace.macros.size())
        return fail(ErrorCode::kOutOfRange, "the program has " +
                                                std::to_string(trace.macros.size()) +
                                                " ops, no op " + std::to_string(op));
    const MacroRange& range = trace.macros[op];
    const auto first = trace.primitives.begin() + range.first_primitive;
    std::vector<PrimitiveRecord> records(first, first + range.primitives);
    const std::set<std::uint32_t> wanted = leaves_of(range, records, options.claim_fused);
    GYM_TRY(const auto taken, take_leaves(unit, trace, step, wanted, options));
    const Operands known = known_operands(unit, step);
    const std::map<Digest, ByteView> constants = constants_of(unit.train);
    const auto provide = [&](const Source& source) -> Result<Shared> {
        if (source.kind == Source::Kind::kConstant)
            return shared_copy(constants.at(source.root), options.spill);
        if (const auto found = known.find(key_of(source)); found != known.end())
            return shared_copy(found->second, options.spill);
        return taken.at(source.index);
    };
    GYM_TRY(MacroTrace out, run_over(std::move(records), provide, options));
    out.range_ = range;
    GYM_CHECK(out.claim(trace, step, taken));
    return out;
}

/// The fused kernel's values stand where the primitives write others.
Status MacroTrace::claim(const TraceProgram& trace, const StepTrace& step,
                         const std::map<std::uint32_t, Shared>& fused) {
    for (std::uint32_t i = 0; i < range_.leaves; ++i) {
        const std::uint32_t leaf = range_.first_leaf + i;
        const std::uint32_t writer = trace.leaves[leaf].writer;
        if (roots_[writer] == step.leaf_roots[leaf]) continue;
        if (!options_.claim_fused)
            return fail(ErrorCode::kInternal,
                        "trace leaf " + std::to_string(leaf) +
                            ": its primitives gave other bits than its fused kernel");
        roots_[writer] = step.leaf_roots[leaf];
        claims_[writer] = fused.at(leaf);
    }
    return {};
}

Result<TensorTrace> MacroTrace::tensor(std::uint32_t primitive) {
    if (primitive >= range_.primitives)
        return fail(ErrorCode::kOutOfRange,
                    "the macro op has " + std::to_string(range_.primitives) +
                        " primitives, no number " + std::to_string(primitive));
    GYM_TRY(const std::vector<Shared> outputs, run_for(primitive));
    const PrimitiveRecord& record = records_[primitive];
    const auto claimed = claims_.find(primitive);
    const unsigned threads = options_.engine.threads;
    TensorTrace trace;
    trace.primitive = primitive;
    trace.output = traced(record.output,
                          claimed == claims_.end() ? outputs[primitive] : claimed->second, threads);
    for (const Operand& input : record.inputs) {
        GYM_TRY(Shared memory, operand(input.source, outputs));
        trace.operands.push_back(traced(input.shape, std::move(memory), threads));
    }
    return trace;
}

}  // namespace gym::dispute
