#include "gym/dispute/opening.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "element_opening.hpp"
#include "gym/commit/tensor_root.hpp"
#include "macro_cases.hpp"
#include "program_samples.hpp"
#include "sample_unit.hpp"

namespace gym::dispute {
namespace {

using engine::testing::Rng;
using testing::check_opening;
using testing::kSamples;
using testing::open_element;
using testing::Opening;
using testing::OpeningRoots;
using testing::OpeningTrees;
using testing::SampleUnit;

std::optional<std::string> why_refused(const TraceHeader& header, const OpeningRoots& roots,
                                       const Opening& opening) {
    const auto values = check_opening(header, roots, opening);
    if (!values.ok()) return values.error().message;
    if (values->computed != values->claimed) return "another element";
    return std::nullopt;
}

/// One bit of some part of `bytes`.
template <class T>
void flip(Rng& rng, T& bytes) {
    bytes[rng() % bytes.size()] ^= static_cast<std::uint8_t>(1U << rng() % 8);
}

void flip_digest(Rng& rng, Digest& digest) {
    flip(rng, digest.data);
}

/// Each change must be refused or, where it changes the claim alone, show another element.
class Corruption {
  public:
    Corruption(Rng& rng, const TraceHeader& header, const OpeningRoots& roots,
               const Opening& opening)
        : rng_(rng), header_(header), roots_(roots), opening_(opening) {}

    void run() {
        refused("leaf record", [&](Opening& o) { flip(rng_, o.leaf.record); });
        refused("primitive record", [&](Opening& o) { flip(rng_, o.primitive.record); });
        refused("leaf index", [&](Opening& o) { ++o.leaf.index; });
        refused("primitive index", [&](Opening& o) { ++o.primitive.index; });
        refused("long path", [&](Opening& o) { o.primitive.path.emplace_back(); });
        path(
            "leaf path", [](Opening & o) -> auto& { return o.leaf.path; });
        path(
            "primitive path", [](Opening & o) -> auto& { return o.primitive.path; });
        refused("far element", [&](Opening& o) { o.element += std::uint64_t{1} << 40; });
        for (std::size_t k = 0; k < opening_.operands.size(); ++k)
            chunks(
                "operand " + std::to_string(k), [k](Opening & o) -> auto& {
                    return o.operands[k];
                });
        chunks(
            "output", [](Opening & o) -> auto& { return o.output; });
        refused("no operand", [](Opening& o) { o.operands.emplace_back(); });
        roots();
    }

  private:
    template <class F>
    void refused(const std::string& what, F change) {
        Opening changed = opening_;
        change(changed);
        EXPECT_TRUE(why_refused(header_, roots_, changed).has_value()) << what;
    }
    template <class F>
    void path(const std::string& what, F part) {
        Opening copy = opening_;
        if (part(copy).empty()) return;
        refused(what, [&](Opening& o) { flip_digest(rng_, part(o)[rng_() % part(o).size()]); });
        refused(what + ", shorter", [&](Opening& o) { part(o).pop_back(); });
    }
    template <class F>
    void chunks(const std::string& what, F part) {
        Opening copy = opening_;
        refused(what + ": one chunk more", [&](Opening& o) { part(o).chunks.emplace_back(); });
        refused(what + ": tree root", [&](Opening& o) { flip_digest(rng_, part(o).tree_root); });
        path(
            what + ": path", [&](Opening & o) -> auto& { return part(o).path; });
        for (std::size_t i = 0; i < part(copy).chunks.size(); ++i) {
            const std::string chunk = what + ": chunk " + std::to_string(i);
            // Another tensor that is consistent in itself.
            if (part(copy).chunks[i].path.empty())
                refused(chunk + " and tree", [&](Opening& o) {
                    flip(rng_, part(o).chunks[i].content);
                    part(o).tree_root = commit::chunk_leaf(part(o).chunks[i].content);
                });
            refused(chunk, [&](Opening& o) { flip(rng_, part(o).chunks[i].content); });
            refused(chunk, [&](Opening& o) { part(o).chunks[i].content.push_back(0); });
            path(
                chunk + " path", [&](Opening & o) -> auto& { return part(o).chunks[i].path; });
        }
    }
    void roots() {
        OpeningRoots wrong = roots_;
        flip_digest(rng_, wrong.macro);
        EXPECT_TRUE(why_refused(header_, wrong, opening_).has_value());
        TraceHeader other = header_;
        flip_digest(rng_, other.primitives_root);
        EXPECT_TRUE(why_refused(other, roots_, opening_).has_value());
        other = header_;
        flip_digest(rng_, other.leaves_root);
        EXPECT_TRUE(why_refused(other, roots_, opening_).has_value());
    }

    Rng& rng_;
    const TraceHeader& header_;
    const OpeningRoots& roots_;
    const Opening& opening_;
};

/// A program of one op over random inputs, with every primitive's output.
class RandomOp {
  public:
    RandomOp(Rng& rng, const program::Program& program, engine::testing::Fill fill)
        : rng_(rng), trace_(trace_program(program).value()), records_(trace_) {
        std::uint32_t leaf = 0;
        MacroTrace::Operands operands;
        for (const program::SlotId id : program.slots_of(program::SlotKind::kInput)) {
            const program::Slot& slot = program.slot(id);
            storage_.push_back(storage_of(slot, fill));
            const ByteView bytes(reinterpret_cast<const std::uint8_t*>(storage_.back().data()),
                                 program::size_bytes(slot));
            operands[{Source::Kind::kLeaf, leaf++}] = bytes;
            leaf_roots_.push_back(tensor_digest(shape_of(slot), commit::chunk_tree_root(bytes)));
        }
        auto macro = MacroTrace::run(trace_.primitives, operands, {});
        EXPECT_TRUE(macro.ok()) << (macro.ok() ? "" : macro.error().message);
        macro_.emplace(std::move(macro).value());
        leaf_roots_.resize(trace_.leaves.size());  // the op's own outputs are in question
        trees_.emplace(OpeningTrees{commit::MerkleTree(macro_->roots()),
                                    commit::MerkleTree(leaf_roots_), commit::MerkleTree({})});
    }

    void check(int elements, bool corrupt) {
        const std::uint32_t leaf = trace_.header.input_leaves;
        for (std::uint32_t p = 0; p < trace_.header.primitives; ++p) {
            const TensorTrace tensor = macro_->tensor(p).value();
            const std::uint64_t count = element_count(tensor.output.shape);
            for (int i = 0; i < elements; ++i) {
                const auto opening =
                    open_element(records_, *trees_, trace_, leaf, tensor, rng_() % count);
                ASSERT_TRUE(opening.ok()) << opening.error().message;
                const OpeningRoots roots = trees_->roots();
                const auto reason = why_refused(trace_.header, roots, *opening);
                EXPECT_FALSE(reason) << *reason << " in primitive " << p << ", "
                                     << program::to_string(trace_.primitives[p].code);
                if (corrupt) Corruption(rng_, trace_.header, roots, *opening).run();
            }
        }
    }

  private:
    /// Exponents and quantised numbers as their ops make them; indices and floats as they come.
    engine::testing::Storage storage_of(const program::Slot& slot, engine::testing::Fill fill) {
        engine::testing::Storage storage((program::size_bytes(slot) + 7) / 8);
        if (slot.dtype == program::DType::kF32 || slot.dtype == program::DType::kI32)
            storage = engine::testing::random_storage(rng_, slot, fill);
        auto* i16 = reinterpret_cast<std::int16_t*>(storage.data());
        const std::uint64_t count = program::element_count(slot.dims);
        for (std::uint64_t i = 0; slot.dtype == program::DType::kI16 && i < count; ++i)
            i16[i] = static_cast<std::int16_t>(static_cast<int>(rng_() % 16385) - 8192);
        for (std::uint64_t i = 0; slot.dtype == program::DType::kI64 && i < count; ++i)
            storage[i] = rng_() % (std::uint64_t{1} << 36);
        return storage;
    }

    Rng& rng_;
    TraceProgram trace_;
    TraceTrees records_;
    std::vector<engine::testing::Storage> storage_;
    std::vector<Digest> leaf_roots_;
    std::optional<MacroTrace> macro_;
    std::optional<OpeningTrees> trees_;
};

TEST(Opening, GivesTheElementsOfEveryMacrosPrimitives) {
    Rng rng(engine::testing::test_seed());
    for (const auto& opcode : program::opcode_table()) {
        if (!opcode.macro) continue;
        for (int i = 0; i < 3 * engine::testing::test_scale(); ++i) {
            SCOPED_TRACE(opcode.name);
            const auto program = engine::testing::MacroCase(rng, opcode.code).make().value();
            const auto fill = static_cast<engine::testing::Fill>(rng() % engine::testing::kFills);
            RandomOp(rng, program, fill).check(4, false);
        }
    }
}

/// Operands of primitives whose shift or exponents could be anything are left to the macros.
bool takes_any_operands(program::Opcode code) {
    using enum program::Opcode;
    return code != kRescaleDot && code != kFinishProduct && code != kFinishSum &&
           code != kQuantiseI32 && code != kQuantiseI16;
}

TEST(Opening, GivesTheElementsOfEveryPrimitiveAlone) {
    Rng rng(engine::testing::test_seed());
    for (const auto& opcode : program::opcode_table()) {
        if (opcode.macro || !takes_any_operands(opcode.code)) continue;
        for (int i = 0; i < 5 * engine::testing::test_scale(); ++i) {
            SCOPED_TRACE(opcode.name);
            const auto program =
                program::Program::create(program::testing::sample(rng, opcode.code)).value();
            const auto fill = static_cast<engine::testing::Fill>(rng() % engine::testing::kFills);
            RandomOp(rng, program, fill).check(6, false);
        }
    }
}

TEST(Opening, IsRefusedWithAnyBitChanged) {
    Rng rng(engine::testing::test_seed());
    for (const auto& opcode : program::opcode_table()) {
        SCOPED_TRACE(opcode.name);
        if (!opcode.macro && !takes_any_operands(opcode.code)) continue;
        const auto program =
            program::Program::create(program::testing::sample(rng, opcode.code)).value();
        RandomOp(rng, program, engine::testing::Fill::kNormal).check(1, true);
    }
}

TEST(Opening, OfATrainingStepReachesStateConstantsAndLeaves) {
    const SampleUnit unit(kSamples[2]);
    const StepTrace step = unit.step(1);
    const TraceTrees records(unit.trace);
    Rng rng(engine::testing::test_seed());
    std::set<Source::Kind> seen;
    for (std::uint32_t op = 0; op < unit.trace.macros.size(); op += 3) {
        MacroTrace macro = MacroTrace::create(unit.unit(), unit.trace, step, op).value();
        const OpeningTrees trees{commit::MerkleTree(macro.roots()),
                                 commit::MerkleTree(step.leaf_roots),
                                 commit::MerkleTree(step.before_roots)};
        const MacroRange& range = macro.range();
        for (std::uint32_t p = 0; p < range.primitives; ++p) {
            const TensorTrace tensor = macro.tensor(p).value();
            const std::uint64_t element = rng() % element_count(tensor.output.shape);
            const Opening opening =
                open_element(records, trees, unit.trace, range.first_leaf, tensor, element).value();
            const auto reason = why_refused(unit.trace.header, trees.roots(), opening);
            EXPECT_FALSE(reason) << *reason << " in op " << op << ", primitive " << p;
            Opening elsewhere = opening;  // a leaf of another macro op, its record proven
            elsewhere.leaf =
                records.leaf(range.first_leaf + (op == 0 ? range.leaves : -1U)).value();
            EXPECT_TRUE(why_refused(unit.trace.header, trees.roots(), elsewhere).has_value());
            if (p % 4 == 0) Corruption(rng, unit.trace.header, trees.roots(), opening).run();
            for (const auto& input : unit.trace.primitives[range.first_primitive + p].inputs)
                seen.insert(input.source.kind);
        }
    }
    EXPECT_EQ(seen.size(), 4U);
}

TEST(Opening, ShowsTheElementOfALiar) {
    Rng rng(engine::testing::test_seed());
    const SampleUnit unit(kSamples[0]);
    const StepTrace step = unit.step(1);
    MacroTrace macro = MacroTrace::create(unit.unit(), unit.trace, step, 10).value();
    const MacroRange& range = macro.range();
    const std::uint32_t p = range.primitives - 1;
    TensorTrace tensor = macro.tensor(p).value();
    // The asserter's output differs in one element, and all its roots with it.
    TensorMemory forged = TensorMemory::copy(tensor.output.bytes(), {}).value();
    const std::uint64_t element = rng() % element_count(tensor.output.shape);
    forged.bytes()[element * commit::size_bytes(tensor.output.shape.dtype)] ^= 1;
    tensor.output.chunk_leaves = commit::chunk_leaves(forged.bytes());
    tensor.output.memory = std::make_shared<const TensorMemory>(std::move(forged));
    std::vector<Digest> roots = macro.roots();
    roots[p] = tensor.output.root();
    const OpeningTrees trees{commit::MerkleTree(roots), commit::MerkleTree(step.leaf_roots),
                             commit::MerkleTree(step.before_roots)};
    const Opening opening =
        open_element(TraceTrees(unit.trace), trees, unit.trace, range.first_leaf, tensor, element)
            .value();
    const auto values = check_opening(unit.trace.header, trees.roots(), opening);
    ASSERT_TRUE(values.ok()) << values.error().message;
    EXPECT_NE(values->computed, values->claimed);
}

/// As the contract OneStep refuses it.
TEST(ElementOps, RefuseAttributesThatTheirPrimitiveDoesNotHave) {
    const Shape shape{program::DType::kF32, {4}};
    const Operand operand{{Source::Kind::kLeaf, 0, {}}, shape};
    PrimitiveRecord record{program::Opcode::kAdd, shape, {}, {operand, operand}};
    EXPECT_TRUE(ElementOp::create(record).ok());
    record.attributes[5] = 1;
    EXPECT_FALSE(ElementOp::create(record).ok());
    PrimitiveRecord fill{program::Opcode::kFill, shape, {0x7FC00000}, {}};
    EXPECT_FALSE(ElementOp::create(fill).ok());
    fill.attributes[0] = 0x3F800000;
    EXPECT_TRUE(ElementOp::create(fill).ok());
}

}  // namespace
}  // namespace gym::dispute
