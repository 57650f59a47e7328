#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "filled_slots.hpp"
#include "gym/blob/blob_store.hpp"
#include "gym/engine/outer_state.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/rerun_outer.hpp"
#include "sample_unit.hpp"

/// An aggregate of a sample program: in two rounds five workers committed to deltas. Three of the
/// second round are included, and with add_held() two of the first. With overlap() three of the
/// first are, and no other.
namespace gym::game::testing {

class SampleOuter {
  public:
    /// @param number of the job: with another one everything is another.
    /// @param signed_for of commitments.
    explicit SampleOuter(const dispute::testing::Sample& sample, std::uint64_t number = 1,
                         crypto::Eip712Domain signed_for = protocol::signing_domain(31'337,
                                                                                    Address{}))
        : unit(sample), domain(std::move(signed_for)), rng_(number) {
        record.job_id = engine::testing::seed_of("job " + std::to_string(number));
        base = noisy(unit.base, 0.5F);
        momentum = noisy(engine::zero_outer_state(unit.program, unit.base).value(), 0.01F);
        write_record();
        for (const std::uint32_t slot : kSlots)
            commit(slot, add_delta());
        for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{3}})
            included.push_back({kSlots[i], epoch[i].commitment.delta_root});
        for (const std::uint32_t slot : kSlots)
            commit(slot, add_delta(), true);
    }
    /// From now on two more deltas are included, of the round before; one is of a slot that has one
    /// of this round.
    void add_held() {
        for (const std::size_t i : {std::size_t{1}, std::size_t{2}})
            included.push_back({kSlots[i], previous_epoch[i].commitment.delta_root, true});
    }

    /// All slots of the round have committed to deltas, and all are included: some of few deltas
    /// many times.
    void fill(std::uint32_t slots) {
        record.slots =
            gym::testing::filled_slots({slots - 1, key(slots - 1).address(), kPpm, kSteps});
        for (std::uint32_t slot = 0; slot < slots; ++slot)
            record.slots[slot].worker = key(slot).address();
        std::vector<Digest> some;
        for (int i = 0; i < 20; ++i)
            some.push_back(add_delta());
        epoch.clear();
        included.clear();
        for (std::uint32_t slot = 0; slot < slots; ++slot) {
            commit(slot, some[slot % some.size()]);
            included.push_back({slot, some[slot % some.size()]});
        }
    }

    /// The second round's aggregate takes deltas of the first alone, as where rounds overlap.
    /// @param trains whether the second round has slots, as all but the job's last.
    void overlap(bool trains = true) {
        included.clear();
        for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{3}})
            included.push_back({kSlots[i], previous_epoch[i].commitment.delta_root, true});
        if (trains) return;
        record.slots.clear();
        epoch.clear();
    }

    /// After add_held(): the last held delta's commitment came late, and is under this round's
    /// root. Signs all commitments again. @param taken whether the record of the round before says
    /// that it takes late ones.
    void make_late(bool taken) {
        previous.accept_late = taken;
        record.previous_record = protocol::hash(previous);
        sign_again(epoch, false);
        sign_again(previous_epoch, true);
        const std::size_t place = 2;  // of the last delta that add_held() includes
        epoch.push_back(previous_epoch[place]);
        previous_epoch.erase(previous_epoch.begin() + place);
    }

    /// From now on two deltas are subtracted that went in with the aggregate before: one of the
    /// round before, and one of a round before that, which was held. Both commitments have too many
    /// tokens. Signs all commitments again.
    void add_withdrawn() {
        withdraws = true;
        older = previous;
        previous.round = 2;
        previous.previous_record = protocol::hash(older);
        record.round = 3;
        record.previous_record = protocol::hash(previous);
        record.subtract = true;
        const std::array<Digest, 2> roots{previous_epoch[kFaulty].commitment.delta_root,
                                          previous_epoch[0].commitment.delta_root};
        for (const bool held : {false, true}) {
            const std::uint32_t slot = kSlots[held ? 0 : kFaulty];
            record.included.push_back({slot, unit_of(slot), roots[held ? 1 : 0], held});
            included.push_back({slot, roots[held ? 1 : 0], held, 1});
        }
        sign_again(epoch, false);
        sign_again(previous_epoch, true);
        protocol::UnitCommitment says = previous_epoch[kFaulty].commitment;
        says.tokens += 1;
        previous_epoch[kFaulty] = sign(says, says.slot);
        says = commitment(kSlots[0], roots[1], true);
        says.tokens += 1;
        says.round_record = protocol::hash(older);
        older_epoch = {sign(says, says.slot)};
    }
    /// Of the withdrawn deltas.
    [[nodiscard]] std::vector<std::optional<WithdrawnSource>> reasons() const {
        if (!withdraws) return {};
        return {WithdrawnSource{previous_epoch[kFaulty], unit_of(kSlots[kFaulty]), record},
                WithdrawnSource{older_epoch[0], unit_of(kSlots[0]), record}};
    }

    /// Of add_withdrawn(): the place in the epoch of the round before.
    static constexpr std::size_t kFaulty = 3;
    static constexpr std::array<std::uint32_t, 5> kSlots{0, 1, 4, 7, 300};
    static constexpr std::uint32_t kSteps = 4;

    /// The signer of a slot; number 99 is the coordinator.
    static crypto::PrivateKey key(std::uint64_t number) {
        return crypto::PrivateKey::from_bytes(
                   engine::testing::seed_of("key " + std::to_string(number)).view())
            .value();
    }
    /// Bytes of a new delta are known from now on. @return their root.
    Digest add_delta() {
        const Bytes bytes =
            engine::encode_delta(unit.program, unit.base, noisy(unit.base, 0.02F)).value();
        const Digest root = blob::blob_root(bytes);
        deltas[root] = bytes;
        return root;
    }
    /// A right commitment of a slot's worker to a delta, under the epoch of this round or of the
    /// one before.
    void commit(std::uint32_t slot, const Digest& delta, bool held = false) {
        (held ? previous_epoch : epoch).push_back(sign(commitment(slot, delta, held), slot));
    }
    [[nodiscard]] protocol::UnitCommitment commitment(std::uint32_t slot, const Digest& delta,
                                                      bool held = false) const {
        protocol::UnitCommitment out;
        out.round_record = protocol::hash(held ? previous : record);
        out.slot = slot;
        out.records_root = engine::testing::seed_of("records " + std::to_string(slot));
        out.final_state_root = engine::testing::seed_of("state " + std::to_string(slot));
        out.delta_codec = record.delta_codec;
        out.delta_root = delta;
        out.steps = kSteps;
        out.tokens = record.tokens_per_step * kSteps;
        out.flops = record.flops_per_step * kSteps;
        return out;
    }
    [[nodiscard]] protocol::SignedCommitment sign(const protocol::UnitCommitment& what,
                                                  std::uint64_t by) const {
        return protocol::sign(domain, what, key(by));
    }

    [[nodiscard]] OuterInputs inputs() const {
        return {unit.program, base,   momentum,  record,         epoch,
                included,     domain, &previous, previous_epoch, reasons()};
    }
    [[nodiscard]] DeltaSource source() const {
        return [this](const OuterDelta& delta) -> Result<blob::VerifiedBlob> {
            const auto found = deltas.find(delta.root);
            if (found == deltas.end())
                return fail(ErrorCode::kNotFound, "no delta " + delta.root.hex());
            return blob::VerifiedBlob::hash(found->second);
        };
    }
    [[nodiscard]] std::unique_ptr<RerunOuter> rerun(RerunWorkOptions options = {}) const {
        auto work = RerunOuter::create(inputs(), source(), std::move(options));
        EXPECT_TRUE(work.ok()) << (work.ok() ? "" : work.error().message);
        return std::move(work).value();
    }
    [[nodiscard]] EpochRoots epoch_roots() const {
        return {root_of(epoch), root_of(previous_epoch)};
    }
    /// The coordinator's commitment by its run.
    [[nodiscard]] protocol::UnitCommitment outcome(OuterWork& work) const {
        const OuterTrees& trees = *work.run(work.included()).value();
        engine::StepRecord step;
        step.batch_root = engine::included_root(work.included().size(), groups_of(work.included()),
                                                trees.deltas_root);
        step.state_root = trees.state_root;
        protocol::UnitCommitment out;
        out.kind = protocol::UnitKind::kAggregate;
        out.round_record = protocol::hash(record);
        out.slot = protocol::kAggregateSlot;
        out.records_root = engine::records_root({&step, 1});
        out.final_state_root = commit::merkle_root(trees.base);
        out.delta_codec = record.delta_codec;
        out.delta_root = commit::merkle_root(trees.momentum);
        out.steps = 1;
        out.flops = 77;
        return out;
    }
    [[nodiscard]] OuterFacts facts(OuterWork& work) const {
        return outer_facts_of(outcome(work), record, epoch_roots());
    }

    /// A state of the same shapes with other numbers; an update keeps its bytes.
    engine::State noisy(engine::State state, float size) {
        std::uniform_real_distribution<float> noise(-size, size);
        for (engine::StateTensor& tensor : state.tensors) {
            if (tensor.dtype != commit::DType::kF32) continue;
            for (std::size_t i = 0; i < tensor.bytes.size(); i += sizeof(float)) {
                float value = 0;
                std::memcpy(&value, &tensor.bytes[i], sizeof value);
                value += noise(rng_);
                std::memcpy(&tensor.bytes[i], &value, sizeof value);
            }
        }
        return state;
    }

    dispute::testing::SampleUnit unit;
    engine::State base, momentum;
    crypto::Eip712Domain domain;
    protocol::RoundRecord record, previous;
    std::vector<protocol::SignedCommitment> epoch, previous_epoch;
    std::vector<OuterDelta> included;
    bool withdraws = false;       ///< add_withdrawn() was called
    protocol::RoundRecord older;  ///< before `previous`
    std::vector<protocol::SignedCommitment> older_epoch;
    std::map<Digest, Bytes> deltas;

    static EpochRoot root_of(const std::vector<protocol::SignedCommitment>& epoch) {
        std::vector<Digest> leaves;
        for (const auto& one : epoch)
            leaves.push_back(protocol::commitment_leaf(one));
        return {commit::merkle_root(leaves), static_cast<std::uint32_t>(leaves.size())};
    }

  private:
    /// Its id in records.
    static Digest unit_of(std::uint32_t slot) {
        return engine::testing::seed_of("unit " + std::to_string(slot));
    }
    void sign_again(std::vector<protocol::SignedCommitment>& commitments, bool held) const {
        for (protocol::SignedCommitment& one : commitments) {
            const protocol::UnitCommitment says = one.commitment;
            one = sign(commitment(says.slot, says.delta_root, held), says.slot);
        }
    }
    void write_record() {
        record.round = 2;
        record.base_state_root = engine::state_root(base);
        record.momentum_root = engine::state_root(momentum);
        record.program_root = unit.spec.program_root;
        record.dataset_root = unit.spec.dataset_root;
        record.job_seed = unit.spec.job_seed;
        record.trace_root = dispute::trace_root(unit.trace.header);
        record.initial_state_root = engine::testing::seed_of("initial");
        record.delta_codec = static_cast<std::uint16_t>(unit.trace.header.delta_codec);
        record.checkpoint_every = 2;
        record.tokens_per_step = record.flops_per_step = 64;
        record.slots =
            gym::testing::filled_slots({kSlots.back(), key(kSlots.back()).address(), kPpm, kSteps});
        for (const std::uint32_t slot : kSlots)
            record.slots[slot].worker = key(slot).address();
        previous = record;
        previous.round = 1;
        previous.base_state_root = engine::testing::seed_of("base before");
        record.previous_record = protocol::hash(previous);
    }
    std::mt19937_64 rng_;
};

}  // namespace gym::game::testing
