#include "unit_library.hpp"

#include <algorithm>

namespace gym::game::sim {
namespace {

using dispute::LeafRecord;
using testing::Liar;
using testing::must;
using testing::SampleUnit;

Digest random_digest(std::mt19937_64& rng) {
    Digest digest;
    for (std::uint8_t& byte : digest.data)
        byte = static_cast<std::uint8_t>(rng());
    return digest;
}

}  // namespace

struct UnitLibrary::Program {
    explicit Program(const dispute::testing::Sample& sample)
        : unit(sample), honest(testing::rerun(unit)) {}
    SampleUnit unit;
    std::unique_ptr<RerunWork> honest;

    [[nodiscard]] Facts facts_of(UnitWork& work) const {
        return testing::facts_of(unit, work, must(honest->states())->initial_root);
    }
    [[nodiscard]] std::uint32_t leaf_of(LeafRecord::Kind kind) const {
        const auto found = std::ranges::find(unit.trace.leaves, kind, &LeafRecord::kind);
        return static_cast<std::uint32_t>(found - unit.trace.leaves.begin());
    }
};

UnitLibrary::UnitLibrary() {
    programs_.push_back(std::make_unique<Program>(testing::kSamples[5]));  // dense
    programs_.push_back(std::make_unique<Program>(testing::kSamples[0]));  // gpt
}
UnitLibrary::~UnitLibrary() = default;

UnitLibrary& UnitLibrary::shared() {
    static UnitLibrary library;
    return library;
}

const UnitKind& UnitLibrary::kind(std::size_t number) {
    const auto known = kinds_.find(number);
    return known != kinds_.end() ? known->second : make(number);
}

UnitKind& UnitLibrary::make(std::size_t number) {
    UnitKind& kind = kinds_[number];
    kind.program = number % kPrograms;
    std::mt19937_64 rng(number);
    if (is_aggregate(number))
        make_aggregate(kind, (number - kAggregates) / kPrograms, rng);
    else
        make_train(kind, number / kPrograms, rng);
    // A device's fault may change nothing that anybody sees.
    kind.faulty = kind.contradiction.has_value() ||
                  (number != right_of(number) && kind.facts != this->kind(right_of(number)).facts);
    return kind;
}

void UnitLibrary::make_train(UnitKind& kind, std::size_t variant, std::mt19937_64& rng) {
    Program& program = *programs_[kind.program];
    const Facts right = program.facts_of(*program.honest);
    kind.facts = right;
    kind.answer = testing::asserter_of(*program.honest);
    kind.challenge = testing::challenger_of(*program.honest);
    if (variant == 0) {
        kind.what = "right";
        return;
    }
    switch (variant % 8) {
        case 1:
        case 2:
        case 3:
        case 4:
            make_faulty_device(kind, rng);
            break;
        case 5: {
            kind.what = "commits to garbage";
            Facts garbage = right;
            garbage.records_root = random_digest(rng);
            garbage.final_state_root = random_digest(rng);
            kind.facts = garbage;
            break;
        }
        case 6:
            kind.what = "contradicts its round";
            kind.contradiction = static_cast<std::uint8_t>(rng() % 7);
            break;
        default:
            make_liar(kind, rng);
            break;
    }
}

void UnitLibrary::make_faulty_device(UnitKind& kind, std::mt19937_64& rng) {
    Program& program = *programs_[kind.program];
    const auto& ops = program.unit.program.ops();
    testing::Fault fault;
    fault.step = rng() % program.unit.spec.steps;
    fault.op = static_cast<std::uint32_t>(rng() % ops.size());
    fault.output = rng();
    fault.bit = rng();
    kind.what = "a faulty device";
    RerunWorkOptions options;
    kind.run = testing::rerun(program.unit, std::move(options));
    kind.device =
        std::make_unique<testing::FaultyWork>(*kind.run, fault, ops[fault.op].outputs.size());
    kind.facts = program.facts_of(*kind.device);
    kind.answer = testing::asserter_of(*kind.device);
    kind.challenge = testing::challenger_of(*kind.device);
}

void UnitLibrary::make_liar(UnitKind& kind, std::mt19937_64& rng) {
    Program& program = *programs_[kind.program];
    RerunWork& honest = *program.honest;
    kind.liar = std::make_unique<Liar>(honest);
    Liar& liar = *kind.liar;
    const auto step = static_cast<std::uint32_t>(rng() % program.unit.spec.steps);
    switch (rng() % 4) {
        case 0:
            kind.what = "another loss";
            liar.lie_in_record(step, [](engine::StepRecord& r) { r.loss_bits ^= 1; });
            break;
        case 1: {
            kind.what = "another token";
            const auto windows = testing::changed(*must(honest.windows(step)), 0, 1);
            const std::uint32_t batch = program.leaf_of(LeafRecord::Kind::kBatch);
            liar.lie_about(step).leaf_roots[batch] = windows.root();
            liar.lie_in_record(step, [&](engine::StepRecord& r) { r.batch_root = windows.root(); });
            liar.token_windows.emplace(step, windows);
            break;
        }
        case 2: {
            kind.what = "a skipped step";
            std::vector<Digest> roots = must(honest.step(step))->before_roots;
            const Digest root = commit::merkle_root(roots);
            liar.lie_about_unit().state_roots[step] = root;
            if (liar.unit->records[step].state_root)
                liar.lie_in_record(step, [&](engine::StepRecord& r) { r.state_root = root; });
            liar.answers[Stage::kState] = std::move(roots);
            break;
        }
        default: {
            kind.what = "another delta";
            const dispute::TracedTensor& delta = *must(honest.delta());
            liar.whole_delta = testing::changed(delta, rng() % delta.bytes().size(), 1);
            break;
        }
    }
    kind.facts = program.facts_of(liar);
    kind.answer = liar.player();
    kind.challenge = testing::challenger_of(liar);
}

const UnitLibrary::Planned& UnitLibrary::plan(Plans& plans, const testing::Player& player,
                                              const TranscriptCache::Reached& at) {
    const auto known = plans.find(at.plan);
    if (known != plans.end()) return known->second;
    auto move = player(at.transcript);
    Planned planned =
        move.ok() ? Planned(std::make_shared<const Move>(std::move(*move))) : Planned(move.error());
    return plans.emplace(at.plan, std::move(planned)).first->second;
}

const UnitLibrary::Planned& UnitLibrary::answer(std::size_t asserter,
                                                const TranscriptCache::Reached& at) {
    return plan(answers_[asserter], kind(asserter).answer, at);
}

const UnitLibrary::Planned& UnitLibrary::challenge(std::size_t own, std::size_t asserter,
                                                   const TranscriptCache::Reached& at) {
    return plan(challenges_[{own, asserter}], kind(own).challenge, at);
}

}  // namespace gym::game::sim
