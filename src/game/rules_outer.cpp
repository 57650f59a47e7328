#include <algorithm>

#include "gym/commit/codec.hpp"
#include "gym/commit/sha256.hpp"
#include "gym/crypto/keccak.hpp"
#include "gym/crypto/key.hpp"
#include "gym/dispute/delta_layout.hpp"
#include "gym/dispute/opening.hpp"
#include "gym/dispute/outer_step.hpp"
#include "gym/game/outer_tensors.hpp"
#include "gym/game/transcript.hpp"
#include "gym/game/withdrawn.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "gym/program/train_program.hpp"
#include "outer_plan.hpp"
#include "outer_proofs.hpp"

// An aggregate. contracts/src/dispute/OuterRules.sol: down to a tensor of it, to one element of all
// included deltas, or to one of them. OuterProofs.sol: a tensor under the record's state root.
// OpeningRules.proveSigner.
namespace gym::game::rules {
namespace {

using dispute::TraceHeader;

/// The record of the one step that an aggregate has.
Result<engine::StepRecord> open_outer_record(ByteView bytes, const Digest& records_root) {
    GYM_TRY(const engine::StepRecord record, open_record(bytes, Digest{}, records_root));
    const bool plain = record.step == 0 && record.loss_bits == 0 && record.grad_norm_bits == 0 &&
                       !record.skipped && !record.gradient_root && record.state_root;
    if (!plain) return fail(ErrorCode::kMismatch, "not the record of an outer step");
    GYM_CHECK(check_not_zero(*record.state_root));
    return record;
}

/// word_of() backwards.
std::uint64_t number_in(const Digest& word) {
    std::uint64_t number = 0;
    for (const std::uint8_t byte : word.view().last(sizeof number))
        number = number << 8 | byte;
    return number;
}

Status check_facts(const OuterFrame& frame, const OuterFacts& facts) {
    if (hash_of(facts) == frame.facts) return {};
    return fail(ErrorCode::kMismatch, "the facts are not the aggregate's");
}

/// Hash of the record of the round that a shown delta at stage `included` is of.
const Digest& record_of(const Cursor& c, const OuterFacts& facts) {
    return c.height == 0 ? facts.round_record : facts.previous_record;
}

/// A commitment is under the root of the epoch that its cursor says.
Status check_epoch(const Cursor& shown, const move::ShowIncluded& m) {
    const bool before = shown.height == kHeldHeight;
    const Digest& root = before ? m.facts.previous_epoch_root : m.facts.epoch_root;
    const std::uint32_t leaves = before ? m.facts.previous_epoch_leaves : m.facts.epoch_leaves;
    return commit::merkle_verify(root, {m.index, leaves}, shown.node, m.path);
}

/// Held deltas alone are late, and a round before that is not posted has none: no record would say
/// that it takes them.
Status check_late(const Cursor& c, const OuterFacts& facts) {
    if (c.height != kHeldHeight) return fail(ErrorCode::kMismatch, "only held deltas are late");
    return check_not_zero(facts.previous_record);
}

/// Of a delta that is subtracted: that a record lists it as one that went in. Whether that record
/// is posted, the commitment is to the round that it went into, and a game has proven it wrong is
/// what the contract alone can see.
Result<Step> show_withdrawn(const Cursor& c, const move::ShowIncluded& m) {
    if (m.late) return fail(ErrorCode::kMismatch, "only held deltas are late");
    GYM_TRY(const WithdrawnEvidence evidence, decode_withdrawn_evidence(m.commitment));
    const bool held = c.height > kWithdrawnHeight;
    GYM_TRY(const protocol::RoundHead own, protocol::decode_round_head(evidence.own));
    GYM_TRY(const protocol::RoundHead listing, protocol::decode_round_head(evidence.listing));
    const std::uint64_t named = number_in(c.twin), age = named >> 16;
    if (protocol::hash(own) != m.facts.round_record || !own.subtract)
        return fail(ErrorCode::kMismatch, "the aggregate's round does not subtract deltas");
    if (listing.job_id != own.job_id || listing.round + age != own.round + 1 ||
        listing.round < (held ? 3U : 2U))
        return fail(ErrorCode::kMismatch, "the record is not that of the round after it went in");
    const protocol::UnitCommitment& says = evidence.commitment.commitment;
    if (says.kind != protocol::UnitKind::kTrain || says.slot != (named & 0xFFFF))
        return fail(ErrorCode::kMismatch, "the commitment is not of this slot");
    GYM_CHECK(commit::merkle_verify(c.node, {c.index, c.leaves}, says.delta_root, m.included));
    GYM_CHECK(commit::merkle_verify(
        listing.included_root, {m.index, listing.included},
        protocol::included_leaf({says.slot, evidence.unit, says.delta_root, held}), m.path));
    Cursor next = c;
    next.answered = true;
    next.node = Digest();
    return Step{next};
}

bool is_one_tree(OuterTree tree) {
    return tree == OuterTree::kBase || tree == OuterTree::kMomentum;
}

/// The four bytes at `offset` of a tensor of `total`.
Result<std::uint64_t> word_in(const dispute::ChunksOpening& opening, std::uint64_t total,
                              std::uint64_t offset) {
    if (total < kWordBytes || offset > total - kWordBytes)
        return fail(ErrorCode::kOutOfRange, "the tensor has no such element");
    GYM_TRY(const Bytes bytes, dispute::check_chunks(opening, {total, offset, kWordBytes}));
    return little_endian(bytes);
}

/// The parameter whose record a tensor must come with.
Result<dispute::StateRecord> record_of_tensor(const TraceHeader& header, OuterTree tree,
                                              std::uint64_t number,
                                              const dispute::RecordProof& slot) {
    GYM_TRY(dispute::StateRecord record, dispute::check_state_record(header, slot));
    if (record.delta_offset != 0 && record.parameter == parameter_of(header, tree, number))
        return record;
    return fail(ErrorCode::kMismatch, "the record of another parameter, or of none");
}

}  // namespace

Digest tagged(std::string_view tag, ByteView bytes) {
    commit::Hasher hasher;
    return hasher.update(as_bytes(tag)).update(bytes).finish();
}

program::DeltaGroups counted_by(const OuterFrame& frame, std::uint64_t deltas) {
    const program::DeltaGroups groups = program::groups_of(frame.held);
    if (deltas <= program::kDeltasMax && program::are_legal(groups, deltas)) return groups;
    return {0, deltas, deltas};
}

Result<float> element_under(const ListedTensor& tensor, const OpFrame& op, std::uint64_t element,
                            const dispute::ChunksOpening& opening) {
    if (!op.shape) return fail(ErrorCode::kMismatch, "no tensor was picked");
    const Digest root = dispute::tensor_digest(*op.shape, opening.tree_root);
    GYM_CHECK(
        commit::merkle_verify(tensor.root, {tensor.number, tensor.count}, root, opening.path));
    const std::uint64_t total = dispute::size_bytes(*op.shape);
    if (element >= total / kWordBytes)
        return fail(ErrorCode::kOutOfRange, "the tensor has no such element");
    GYM_TRY(const std::uint64_t bits, word_in(opening, total, element * kWordBytes));
    return kernels::f32::from_bits(static_cast<std::uint32_t>(bits));
}

Result<protocol::SignedCommitment> read_commitment(ByteView bytes) {
    // Of the kinds there are, with the one that it names put in afterwards.
    constexpr std::size_t kKindAt = 2;
    Bytes known(bytes.begin(), bytes.end());
    if (known.size() > kKindAt)
        known[kKindAt] = static_cast<std::uint8_t>(protocol::UnitKind::kTrain);
    GYM_TRY(protocol::SignedCommitment out, protocol::decode_signed_commitment(known));
    out.commitment.kind = static_cast<protocol::UnitKind>(bytes[kKindAt]);
    return out;
}

Result<Address> signer_of(const crypto::Eip712Domain& domain,
                          const protocol::SignedCommitment& commitment) {
    return crypto::recover_address(protocol::signing_digest(domain, commitment.commitment),
                                   commitment.signature);
}

std::optional<std::uint8_t> signer_fault(const crypto::Eip712Domain& domain,
                                         const protocol::SignedCommitment& commitment,
                                         const protocol::RoundTerms& terms,
                                         const protocol::SlotAssignment* slot) {
    const auto signer = signer_of(domain, commitment);
    if (!signer.ok()) return kSignatureField;
    return train_contradiction(commitment.commitment, terms, slot, *signer);
}

Result<Step> decide(const Cursor& c, const move::DeclareOuter& m) {
    GYM_CHECK(expect(c, Stage::kUnit, false));
    const Digest facts_hash = hash_of(m.facts);
    GYM_CHECK(check_frame(c, facts_hash));
    GYM_TRY(const engine::StepRecord record, open_outer_record(m.record, m.facts.records_root));
    OuterFrame frame;
    GYM_TRY(const std::vector<OuterDelta> deltas, read_declared(m.slots, m.held));
    frame.deltas = static_cast<std::uint32_t>(deltas.size());
    if (engine::included_root(frame.deltas, program::groups_of(m.held), m.root) !=
        record.batch_root)
        return fail(ErrorCode::kMismatch, "the deltas are not the record's");
    frame.facts = facts_hash;
    frame.program = m.facts.trace_root;
    frame.deltas_root = m.root;
    frame.held = m.held;
    frame.slots = crypto::keccak256(m.slots);
    frame.state_root = *record.state_root;
    GYM_TRY(Cursor next, root_of(Stage::kOuter, m.root, frame.deltas, hash_of(frame)));
    GYM_CHECK(check_children(next, m.root, m.children, kAnswerLevelsMax));
    next.answered = true;
    return Step{next, std::nullopt, std::nullopt, frame};
}

Result<Step> decide(const Cursor& c, const move::ShowIncluded& m) {
    GYM_CHECK(expect(c, Stage::kIncluded, false));
    GYM_CHECK(check_frame(c, hash_of(m.facts)));
    if (c.height >= kWithdrawnHeight) return show_withdrawn(c, m);
    GYM_TRY(const protocol::SignedCommitment shown, read_commitment(m.commitment));
    const protocol::UnitCommitment& says = shown.commitment;
    // Not record_of(): as the contract, also at a height that no game reaches.
    const Digest& round = c.height == kHeldHeight ? m.facts.previous_record : m.facts.round_record;
    if (says.kind != protocol::UnitKind::kTrain || word_of(says.slot) != c.twin ||
        says.round_record != round)
        return fail(ErrorCode::kMismatch,
                    "the commitment is not of this slot in the delta's round");
    GYM_CHECK(commit::merkle_verify(c.node, {c.index, c.leaves}, says.delta_root, m.included));
    Cursor next = c;
    next.answered = true;
    next.node = tagged("gym.commitment.v1", m.commitment);
    if (m.late) {
        GYM_CHECK(check_late(c, m.facts));
        next.height = kLateHeight;
    }
    GYM_CHECK(check_epoch(next, m));
    return Step{next};
}

Result<Step> decide(const Cursor& c, const move::PickOuter& m) {
    GYM_CHECK(expect(c, Stage::kOuter, true));
    GYM_CHECK(check_frame(c, hash_of(m.frame)));
    GYM_CHECK(check_facts(m.frame, m.facts));
    GYM_TRY(const TraceHeader header, open_header(m.header, m.frame.program));
    OuterFrame frame = m.frame;
    frame.tree = m.tree;
    if (!is_one_tree(m.tree) && m.tree != OuterTree::kBoth)
        return fail(ErrorCode::kOutOfRange, "an aggregate has no such tree");
    const Digest& root = m.tree == OuterTree::kBase       ? m.facts.final_state_root
                         : m.tree == OuterTree::kMomentum ? m.facts.momentum_after
                                                          : frame.state_root;
    GYM_TRY(const Cursor next,
            root_of(Stage::kOuterState, root, tensor_count(header, m.tree), hash_of(frame)));
    return Step{next, std::nullopt, std::nullopt, frame};
}

/// What the list that was declared has in one place, and the height that says of which group it is.
struct DeclaredEntry {
    std::uint64_t word = 0;  ///< the slot, behind the age of a withdrawn delta
    std::uint8_t height = 0;
};

/// As the contract reads it, which checked the list when it was declared: by what the frame counts
/// alone.
Result<DeclaredEntry> entry_of(const OuterFrame& frame, ByteView slots, std::uint64_t position) {
    const program::DeltaGroups groups = counted_by(frame, frame.deltas);
    const std::uint64_t added = frame.deltas - groups.withdrawn;
    const std::uint64_t timely = added - groups.held;
    const std::uint64_t entries = kWithdrawnEntryBytes * groups.withdrawn;
    if (position >= added) {
        const std::uint64_t behind = kWithdrawnEntryBytes * (frame.deltas - position);
        if (behind > slots.size())
            return fail(ErrorCode::kOutOfRange, "no withdrawn delta was declared there");
        DeclaredEntry out;
        for (const std::uint8_t byte : slots.last(behind).first(kWithdrawnEntryBytes))
            out.word = out.word << 8U | byte;
        const bool held = position >= frame.deltas - groups.withdrawn_held;
        out.height = static_cast<std::uint8_t>(kWithdrawnHeight + (held ? 1 : 0));
        return out;
    }
    if (entries > slots.size())
        return fail(ErrorCode::kOutOfRange, "no sets of slots were declared");
    const std::uint64_t half = (slots.size() - entries) / 2;
    const bool held = position >= timely;
    const std::vector<std::uint32_t> set = slots_in(slots.subspan(held ? half : 0, half));
    const std::uint64_t place = held ? position - timely : position;
    if (place >= set.size())
        return fail(ErrorCode::kOutOfRange, "the set that was declared ends before this delta");
    return DeclaredEntry{set[place], held ? kHeldHeight : std::uint8_t{0}};
}

Result<Step> decide(const Cursor& c, const move::PickIncluded& m) {
    GYM_CHECK(expect(c, Stage::kOuter, true));
    GYM_CHECK(check_frame(c, hash_of(m.frame)));
    if (crypto::keccak256(m.slots) != m.frame.slots)
        return fail(ErrorCode::kMismatch, "the slots are not those that were declared");
    if (m.position >= m.frame.deltas)
        return fail(ErrorCode::kOutOfRange, "no delta has this position");
    GYM_TRY(const DeclaredEntry entry, entry_of(m.frame, m.slots, m.position));
    Cursor next;
    next.stage = Stage::kIncluded;
    next.height = entry.height;
    next.index = m.position;
    next.leaves = m.frame.deltas;
    next.node = m.frame.deltas_root;
    next.twin = word_of(entry.word);
    next.frame = m.frame.facts;
    return Step{next};
}

Result<Step> decide(const Cursor& c, const move::PickOuterTensor& m) {
    GYM_CHECK(expect(c, Stage::kOuterState, true));
    GYM_CHECK(check_frame(c, hash_of(m.frame)));
    if (!is_one_tree(m.frame.tree))
        return fail(ErrorCode::kConflict, "tensors are opened in the trees that were committed to");
    GYM_CHECK(check_leaf_pick(c, m.to));
    GYM_TRY(const TraceHeader header, open_header(m.header, m.frame.program));
    OpFrame op;
    op.step = c.frame;
    op.program = m.frame.program;
    op.leaf = dispute::kNoLeaf;
    op.primitive = static_cast<std::uint32_t>(m.to.index);
    if (is_update(header, m.frame.tree, m.to.index)) {
        if (m.slot != dispute::RecordProof{})
            return fail(ErrorCode::kMismatch, "the update has no record");
        op.shape = dispute::delta_shape(header);
    } else {
        GYM_TRY(dispute::StateRecord slot,
                record_of_tensor(header, m.frame.tree, m.to.index, m.slot));
        op.record = dispute::state_record_digest(m.slot.record);
        op.shape = std::move(slot.shape);
    }
    Cursor next;
    next.stage = Stage::kTensor;
    next.leaves = chunk_count(*op.shape);
    next.node = m.to.node;
    next.frame = hash_of(op);
    return Step{next, std::nullopt, op};
}

namespace {

/// Bits of an element in the posted chunk of a tensor, or in the posted residuals of a row.
Result<std::uint64_t> claimed_float(const Cursor& c, const move::PickElement& m) {
    if (c.stage == Stage::kRow) {
        GYM_CHECK(check_frame(c, hash_of(m.op)));
        if (hash_of(m.outer) != m.op.step)
            return fail(ErrorCode::kMismatch, "the tensor is another aggregate's");
        return claimed_in_row(c, m.element, m.chunk);
    }
    GYM_CHECK(enter_chunk(c, m.op, hash_of(m.outer)));
    if (!m.op.shape || m.op.shape->dtype != program::DType::kF32)
        return fail(ErrorCode::kConflict, "no column makes the bytes of an update");
    return claimed_in(c, m.op, ElementBytes{m.element, kWordBytes}, m.chunk);
}

}  // namespace

Result<Step> decide(const Cursor& c, const move::PickElement& m) {
    GYM_TRY(const std::uint64_t claimed, claimed_float(c, m));
    if (!is_one_tree(m.outer.tree))
        return fail(ErrorCode::kConflict, "the tensor is not the outer step's");
    Cursor next;
    next.stage = Stage::kColumn;
    next.index = m.element;
    next.leaves = m.outer.deltas;
    next.node = word_of(claimed);
    next.frame = c.frame;
    return Step{next};
}

Result<Finding> decide(const Cursor& c, const move::ProveSigner& m,
                       const crypto::Eip712Domain* commitments) {
    GYM_CHECK(expect(c, Stage::kIncluded, true));
    GYM_CHECK(check_frame(c, hash_of(m.facts)));
    if (commitments == nullptr)
        return fail(ErrorCode::kInvalidArgument, "no domain to check signatures by was given");
    if (tagged("gym.commitment.v1", m.commitment) != c.node)
        return fail(ErrorCode::kMismatch, "the commitment is not the one that was shown");
    if (tagged("gym.round.v1", m.record) != record_of(c, m.facts))
        return fail(ErrorCode::kMismatch, "the record is not the round's");
    GYM_TRY(const protocol::RoundHead head, protocol::decode_round_head(m.record));
    // Whoever signed it: no commitment to that round is under the root.
    if (c.height == kLateHeight && !head.accept_late) return Finding{kNotTakenLateField, {}, {}};
    GYM_TRY(const protocol::SignedCommitment shown, read_commitment(m.commitment));
    // As the contract: without a signer nobody looks at the slot.
    if (!signer_of(*commitments, shown).ok()) return Finding{kSignatureField, {}, {}};
    GYM_TRY(const auto slot, protocol::open_slot(head, shown.commitment.slot, m.slot));
    const auto field = signer_fault(*commitments, shown, head, slot ? &*slot : nullptr);
    if (!field) return fail(ErrorCode::kConflict, "there is no fault");
    return Finding{*field, {}, {}};
}

Result<Finding> decide(const Cursor& c, const move::ProveOuterSlot& m) {
    GYM_CHECK(expect(c, Stage::kOuterState, true));
    GYM_CHECK(check_frame(c, hash_of(m.frame)));
    if (m.frame.tree != OuterTree::kBoth)
        return fail(ErrorCode::kConflict, "the tree is one that was committed to");
    if (hash_of(m.facts) != m.frame.facts)
        return fail(ErrorCode::kMismatch, "the facts are not the aggregate's");
    GYM_TRY(const TraceHeader header, open_header(m.header, m.frame.program));
    GYM_CHECK(check_leaf_pick(c, m.leaf));
    const std::uint64_t count = header.parameters;
    const bool parameter = m.leaf.index < count;
    const Digest& root = parameter ? m.facts.final_state_root : m.facts.momentum_after;
    const std::uint64_t index = parameter ? m.leaf.index : m.leaf.index - count;
    if (m.source.index != index)
        return fail(ErrorCode::kMismatch, "not the tensor in the same place");
    const std::uint64_t tensors = parameter ? count : outer_count(header);
    GYM_CHECK(commit::merkle_verify(root, {index, tensors}, m.source.node, m.source.path));
    return unequal(m.leaf.index, m.leaf.node, m.source.node);
}

}  // namespace gym::game::rules
