#include <algorithm>

#include "gym/game/outer_tensors.hpp"
#include "unit_library.hpp"

// Aggregates, right and wrong in many ways.
namespace gym::game::sim {

using testing::OuterLiar;
using testing::SampleOuter;

namespace {

constexpr std::uint32_t kNobodysSlot = 9, kForgedSlot = 12;

dispute::testing::Sample sample_of(std::size_t program) {
    return program == 0 ? dispute::testing::kUpdateSample : testing::kSamples[0];  // gpt
}

}  // namespace

struct UnitLibrary::Outer {
    explicit Outer(std::size_t program) : sample(sample_of(program), 1, domain()) {
        sample.add_held();
        sample.make_late(true);
        unknown = sample.add_delta();
        // The coordinator posts the epoch's root: workers would not have signed these.
        for (const bool held : {false, true}) {
            sample.commit(kNobodysSlot, sample.add_delta(), held);
            sample.commit(kForgedSlot, sample.add_delta(), held);
        }
        sample.epoch.back().signature.data[64] = 0;
        sample.previous_epoch.back().signature.data[64] = 0;
        for (const std::uint32_t slot : {kNobodysSlot, kForgedSlot})
            sample.epoch.push_back(find(slot, Time::kHeld));
        honest = sample.rerun();
    }
    /// When the commitment to a delta came.
    enum class Time : std::uint8_t { kNow, kHeld, kLate };
    [[nodiscard]] const protocol::SignedCommitment& find(std::uint32_t slot, Time time) const {
        const Digest round = protocol::hash(time == Time::kNow ? sample.record : sample.previous);
        const auto& epoch = time == Time::kHeld ? sample.previous_epoch : sample.epoch;
        return *std::ranges::find_if(epoch, [&](const protocol::SignedCommitment& one) {
            return one.commitment.slot == slot && one.commitment.round_record == round;
        });
    }
    SampleOuter sample;
    Digest unknown;  ///< of a delta that nobody committed to
    std::unique_ptr<RerunOuter> honest;
};

void UnitLibrary::make_aggregate(UnitKind& kind, std::size_t variant, std::mt19937_64& rng) {
    std::shared_ptr<Outer>& outer = outers_[kind.program];
    if (outer == nullptr) outer = std::make_shared<Outer>(kind.program);
    kind.what = "right aggregate";
    kind.facts = outer->sample.facts(*outer->honest);
    kind.answer = testing::asserter_of(*outer->honest);
    kind.challenge = testing::challenger_of(*outer->honest);
    if (variant == 0) return;
    constexpr std::uint8_t kFields[] = {0, 2, 3, 4, 6};
    switch (variant % 8) {
        case 1: {
            kind.what = "an aggregate that is garbage";
            OuterFacts garbage = outer->sample.facts(*outer->honest);
            garbage.records_root.data[rng() % Digest::kSize] ^= 1;
            kind.facts = garbage;
            return;
        }
        case 2:
            kind.what = "an aggregate that contradicts its round";
            kind.contradiction = kFields[rng() % std::size(kFields)];
            return;
        default:
            break;
    }
    kind.outer_liar = std::make_unique<OuterLiar>(*outer->honest);
    if (variant % 8 == 3 || variant % 8 == 4)
        make_other_list(kind, *outer, rng);
    else
        make_outer_liar(kind, *outer, rng);
    kind.facts = outer->sample.facts(*kind.outer_liar);
    kind.answer = kind.outer_liar->player();
    kind.challenge = testing::challenger_of(*kind.outer_liar);
}

void UnitLibrary::make_outer_liar(UnitKind& kind, Outer& outer, std::mt19937_64& rng) {
    OuterLiar& liar = *kind.outer_liar;
    const dispute::TraceHeader& program = outer.honest->trace().header;
    if (rng() % 4 == 0) {
        kind.what = "another tensor in the record's state";
        liar.lie_about_joint(rng() % tensor_count(program, OuterTree::kBoth), outer.unknown);
        return;
    }
    if (rng() % 4 == 0) {
        kind.what = "held deltas that count fully";
        liar.lie_about_weights();
        return;
    }
    const OuterTree tree = rng() % 2 == 0 ? OuterTree::kBase : OuterTree::kMomentum;
    const auto number = static_cast<std::uint32_t>(rng() % tensor_count(program, tree));
    const auto parameter = static_cast<std::uint32_t>(parameter_of(program, tree, number));
    const bool update = is_update(program, tree, number);
    const std::uint64_t bytes =
        update ? program.delta_bytes : outer.sample.base.tensors[parameter].bytes.size();
    const std::uint64_t byte = rng() % bytes;
    kind.what = "an element that the outer step does not give";
    liar.lie_about(tree, number, byte, 1 + rng() % 8);
    if (update || rng() % 3 != 0) return;
    kind.what = "an element of deltas that are not so";
    liar.values = testing::must(outer.honest->column(parameter, byte / sizeof(float)));
    liar.values->at(rng() % liar.values->size()) ^= 0x40;
}

void UnitLibrary::make_other_list(UnitKind& kind, Outer& outer, std::mt19937_64& rng) {
    std::vector<OuterDelta> list = outer.sample.included;
    const auto time = static_cast<Outer::Time>(rng() % 3);
    const auto in_slot = [&](std::uint32_t slot, Outer::Time when) {
        return OuterDelta{slot, outer.find(slot, when).commitment.delta_root,
                          when != Outer::Time::kNow};
    };
    switch (rng() % 6) {
        case 5:
            kind.what = "a leaf that nobody can open";
            kind.outer_liar->lie_about_leaf(rng() % list.size(),
                                            engine::testing::seed_of("no delta"));
            return;
        case 0:
            kind.what = "a delta that nobody committed to";
            list[rng() % list.size()].root = outer.unknown;
            break;
        case 1:
            kind.what = "deltas of other slots";
            std::swap(list.front().root, list.back().root);
            break;
        case 2:
            kind.what = "a delta of who has no slot";
            list.push_back(in_slot(kNobodysSlot, time));
            break;
        case 3:
            kind.what = "a delta of another round than it is declared as";
            list.push_back(in_slot(SampleOuter::kSlots[4],
                                   rng() % 2 == 0 ? Outer::Time::kNow : Outer::Time::kHeld));
            list.back().held = !list.back().held;
            break;
        default:
            kind.what = "a delta under a forged signature";
            list.push_back(in_slot(kForgedSlot, time));
            break;
    }
    std::ranges::sort(list, {},
                      [](const OuterDelta& delta) { return std::pair(delta.held, delta.slot); });
    kind.outer_liar->list = std::move(list);
}

}  // namespace gym::game::sim
