#include "dispute_step_work.hpp"

#include <algorithm>
#include <cstring>

#include "gym/commit/tensor_root.hpp"
#include "must.hpp"

namespace gym::bench {
namespace {

using dispute::Source;

using testing::must;

class Digests {
  public:
    explicit Digests(std::uint64_t seed) : rng_(seed) {}
    Digest next() {
        Digest digest;
        for (std::uint8_t& byte : digest.data)
            byte = static_cast<std::uint8_t>(rng_());
        return digest;
    }

  private:
    std::mt19937_64 rng_;
};

std::uint32_t op_of(const dispute::TraceProgram& trace, std::uint32_t leaf) {
    const auto after =
        std::ranges::upper_bound(trace.macros, leaf, {}, &dispute::MacroRange::first_leaf);
    return static_cast<std::uint32_t>(after - trace.macros.begin()) - 1;
}

Error not_there() {
    return fail(ErrorCode::kNotFound, "the benchmark's step does not have it");
}

}  // namespace

std::unique_ptr<StepWork> StepWork::run(const engine::Unit& unit, dispute::TraceProgram trace,
                                        std::uint32_t step, const std::set<std::uint32_t>& wanted,
                                        dispute::MacroOptions options) {
    std::unique_ptr<StepWork> work(new StepWork(unit, std::move(trace), std::move(options)));
    std::set<std::uint32_t> read;
    for (const std::uint32_t leaf : wanted) {
        const dispute::MacroRange& range = work->trace_.macros[op_of(work->trace_, leaf)];
        for (std::uint32_t i = 0; i < range.primitives; ++i)
            for (const dispute::Operand& input :
                 work->trace_.primitives[range.first_primitive + i].inputs)
                if (input.source.kind == Source::Kind::kLeaf) read.insert(input.source.index);
    }
    const auto keep = [&](std::uint32_t leaf, ByteView bytes) {
        if (read.contains(leaf))
            work->leaves_.emplace(
                leaf, must(dispute::TensorMemory::copy(bytes, work->options_.spill), "a leaf"));
    };
    engine::State before = must(engine::with_fresh_optimizer(unit.train, unit.base), "state");
    work->step_.emplace(must(dispute::trace_step(unit, work->trace_, step, std::move(before),
                                                 work->options_.engine, keep),
                             "step"));
    work->make_up_unit(step);
    return work;
}

void StepWork::make_up_unit(std::uint32_t step) {
    Digests digests(step);
    states_.initial_root = digests.next();
    for (std::uint32_t i = 0; i < unit_.spec.steps; ++i) {
        engine::StepRecord record;
        record.step = i;
        record.batch_root = digests.next();
        states_.records.push_back(i == step ? step_->record : record);
        states_.state_roots.push_back(i == step ? step_->state_root : digests.next());
    }
    const Digest before = commit::merkle_root(step_->before_roots);
    if (step > 0) states_.state_roots[step - 1] = before;
}

Result<const dispute::StepTrace*> StepWork::step(std::uint32_t step) {
    if (step != step_->step) return not_there();
    return &*step_;
}

Result<dispute::MacroTrace*> StepWork::macro(std::uint32_t leaf) {
    const std::uint32_t op = op_of(trace_, leaf);
    if (macro_ && macro_op_ == op) return &*macro_;
    macro_.reset();
    tensor_.reset();
    dispute::MacroTrace::Operands operands;
    for (const auto& [index, memory] : leaves_)
        operands[{Source::Kind::kLeaf, index}] = std::as_const(memory).bytes();
    const auto views = step_->inputs.views(unit_.train);
    std::uint32_t input = 0;
    for (const program::SlotId id : unit_.train.slots_of(program::SlotKind::kInput)) {
        const auto view =
            std::ranges::find(views, unit_.train.slot(id).name, &engine::NamedTensorView::name);
        if (view != views.end()) operands[{Source::Kind::kLeaf, input}] = view->bytes;
        ++input;
    }
    for (std::uint32_t i = 0; i < step_->before.tensors.size(); ++i)
        operands[{Source::Kind::kState, i}] = step_->before.tensors[i].bytes;
    std::map<Digest, ByteView> constants;
    for (const program::Slot& slot : unit_.train.slots())
        if (slot.kind == program::SlotKind::kConstant)
            constants[tensor_digest(dispute::shape_of(slot), commit::chunk_tree_root(slot.value))] =
                slot.value;
    const dispute::MacroRange& range = trace_.macros[op];
    const auto first = trace_.primitives.begin() + range.first_primitive;
    GYM_TRY(macro_, dispute::MacroTrace::run({first, first + range.primitives}, operands, constants,
                                             options_));
    macro_op_ = op;
    return &*macro_;
}

Result<const std::vector<Digest>*> StepWork::primitives(std::uint32_t, std::uint32_t leaf) {
    GYM_TRY(const dispute::MacroTrace* found, macro(leaf));
    return &found->roots();
}

Result<const dispute::TensorTrace*> StepWork::tensor(std::uint32_t, std::uint32_t leaf,
                                                     std::uint32_t primitive) {
    GYM_TRY(dispute::MacroTrace * found, macro(leaf));
    if (!tensor_ || tensor_->primitive != primitive) {
        GYM_TRY(tensor_, found->tensor(primitive));
    }
    return &*tensor_;
}

Result<const dispute::TracedTensor*> StepWork::windows(std::uint32_t) {
    return not_there();
}
Result<const dispute::TracedTensor*> StepWork::delta() {
    return not_there();
}
Result<game::UnitWork::SlotElement> StepWork::slot_element(std::uint32_t, std::uint64_t) {
    return not_there();
}
Result<dispute::ChunksOpening> StepWork::dataset_chunk(std::uint64_t) {
    return not_there();
}

PlacedFaultWork::PlacedFaultWork(game::UnitWork& honest, const PlacedFault& fault,
                                 std::uint64_t seed, dispute::SpillOptions spill)
    : WorkOf(honest), fault_(fault), states_(*must(honest.states(), "states")) {
    Digests garbage(seed);
    const dispute::LeafRecord& record = honest.trace().leaves[fault.leaf];
    const dispute::StepTrace& step = *must(honest.step(fault.step), "step");
    const dispute::TensorTrace& tensor =
        *must(honest.tensor(fault.step, fault.leaf, fault.primitive), "tensor");
    const ByteView right = tensor.output.bytes();
    auto memory = must(dispute::TensorMemory::copy(right, spill), "tensor");
    const std::uint64_t bit = fault.bit % (right.size() * 8);
    memory.bytes()[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    tensor_ = {
        fault.primitive,
        {tensor.output.shape, std::make_shared<const dispute::TensorMemory>(std::move(memory)),
         tensor.output.chunk_leaves},
        {}};
    const std::uint64_t chunk = bit / 8 / commit::kChunkBytes;
    tensor_.output.chunk_leaves[chunk] = commit::chunk_leaf(tensor_.output.chunk(chunk));
    primitives_ = *must(honest.primitives(fault.step, fault.leaf), "primitives");
    for (std::size_t i = fault.primitive; i < primitives_.size(); ++i)
        primitives_[i] = garbage.next();
    primitives_[fault.primitive] = tensor_.output.root();
    // Without the state itself, which a worker is not asked for here.
    step_.step = step.step;
    step_.record = step.record;
    step_.leaf_roots = step.leaf_roots;
    step_.before_roots = step.before_roots;
    for (std::size_t i = fault.leaf; i < step_.leaf_roots.size(); ++i)
        step_.leaf_roots[i] = garbage.next();
    step_.leaf_roots[fault.leaf] = primitives_[record.writer];
    for (std::size_t i = fault.step; i < states_.state_roots.size(); ++i)
        states_.state_roots[i] = garbage.next();
    step_.record.loss_bits ^= 1;
    if (step_.record.state_root) step_.record.state_root = states_.state_roots[fault.step];
    states_.records[fault.step] = step_.record;
}

Result<const dispute::StepTrace*> PlacedFaultWork::step(std::uint32_t step) {
    if (step != fault_.step) return work_.step(step);
    return &step_;
}
Result<const std::vector<Digest>*> PlacedFaultWork::primitives(std::uint32_t, std::uint32_t) {
    return &primitives_;
}
Result<const dispute::TensorTrace*> PlacedFaultWork::tensor(std::uint32_t, std::uint32_t,
                                                            std::uint32_t) {
    return &tensor_;
}

}  // namespace gym::bench
