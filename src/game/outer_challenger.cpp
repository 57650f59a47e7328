#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "gym/codec/row_layout.hpp"
#include "gym/dispute/delta_layout.hpp"
#include "gym/dispute/outer_step.hpp"
#include "gym/game/column_parts.hpp"
#include "gym/game/outer_tensors.hpp"
#include "gym/game/rules.hpp"
#include "gym/game/strategy.hpp"
#include "gym/game/transcript.hpp"
#include "gym/kernels/dense_rows.hpp"
#include "gym/kernels/f32.h"
#include "gym/kernels/float_environment.hpp"
#include "no_move.hpp"
#include "outer_plan.hpp"
#include "posted_tree.hpp"
#include "rules_common.hpp"

// The challenger's moves against an aggregate. Of an update, U and the residuals are looked at
// before the base: a proof about the base or a residual takes the row from the asserter's U.
namespace gym::game {
namespace {

class OuterChallenge {
  public:
    OuterChallenge(OuterWork& own, const GameTranscript& transcript)
        : own_(own), transcript_(transcript), at_(transcript.at()) {}

    Result<Move> plan() {
        switch (at_.stage) {
            case Stage::kOuter:
                return outer();
            case Stage::kIncluded:
                return signer();
            case Stage::kOuterState:
                return tensors();
            case Stage::kChunks:
                return at_.height == 0 ? element() : chunks();
            case Stage::kColumn:
                return column();
            case Stage::kPart:
                return part();
            case Stage::kRow:
                return row();
            default:
                return fail(ErrorCode::kInternal, "the challenger has no move at this stage");
        }
    }

  private:
    [[nodiscard]] const dispute::TraceHeader& program() const { return own_.trace().header; }
    [[nodiscard]] Bytes header() const { return encode(program()); }
    [[nodiscard]] OuterTree tree() const { return transcript_.outer()->tree; }
    /// The outer step with the deltas that were declared. @errors kNotFound: they are not known.
    Result<const OuterTrees*> run() {
        const auto declared = declared_deltas(own_.included(), transcript_);
        if (!declared)
            return fail(ErrorCode::kNotFound, "the deltas that were declared are not known");
        return own_.run(*declared);
    }

    /// The state record of a parameter.
    [[nodiscard]] Result<dispute::RecordProof> record_of(std::uint64_t parameter) const {
        const auto& slots = own_.trace().state;
        const auto found = std::ranges::find_if(slots, [&](const dispute::StateRecord& record) {
            return record.delta_offset != 0 && record.parameter == parameter;
        });
        return own_.records().state(static_cast<std::uint32_t>(found - slots.begin()));
    }

    Result<Move> outer() {
        const auto declared = declared_deltas(own_.included(), transcript_);
        if (!declared) return unknown_list();
        if (const auto unknown = first_not_committed_to(*declared)) return pick_included(*unknown);
        GYM_TRY(const OuterTrees* trees, own_.run(*declared));
        const OuterFacts& facts = transcript_.outer_facts();
        const bool base = commit::merkle_root(trees->base) != facts.final_state_root;
        const bool outer = commit::merkle_root(trees->momentum) != facts.momentum_after;
        OuterTree wrong = OuterTree::kNone;
        if (outer && (has_update(program()) || !base))
            wrong = OuterTree::kMomentum;
        else if (base)
            wrong = OuterTree::kBase;
        else if (trees->state_root != transcript_.outer()->state_root)
            wrong = OuterTree::kBoth;
        if (wrong == OuterTree::kNone) return no_fault("in the outer step");
        return Move(move::PickOuter{*transcript_.outer(), facts, header(), wrong});
    }

    /// Down to the first delta that is not in one's own list, which its asserter must show: what is
    /// shown of it does not say what the others are.
    Result<Move> unknown_list() {
        const std::vector<Digest> roots = roots_of(own_.included());
        if (roots.size() != transcript_.outer()->deltas)
            return fail(ErrorCode::kNotFound, "another number of deltas was declared");
        const PostedTree deltas(transcript_, Stage::kOuter, roots);
        const auto first = deltas.first_difference(at_);
        if (!first) return no_fault("in the included deltas");
        if (first->height > 0) return Move(move::PickNode{pick_below(deltas, *first, at_)});
        return pick_included(static_cast<std::uint32_t>(first->index));
    }

    /// Position of the first included delta without a commitment that is right in all that can be
    /// seen of it.
    std::optional<std::uint32_t> first_not_committed_to(std::span<const OuterDelta> deltas) {
        for (const bool held : {false, true})
            if (const auto position = first_not_committed_to(deltas, held)) return position;
        return first_without_reason(deltas);
    }

    /// The first withdrawn delta of which it is known that nothing shows why. Who does not know
    /// what there is to show believes that it is there.
    std::optional<std::uint32_t> first_without_reason(std::span<const OuterDelta> deltas) {
        const auto own = own_.included();
        if (own_.withdrawn().size() != groups_of(own).withdrawn) return std::nullopt;
        for (std::uint32_t i = 0; i < deltas.size(); ++i) {
            if (!deltas[i].is_withdrawn()) continue;
            const auto known = std::ranges::find(own, deltas[i]);
            if (known == own.end() ||
                source_of(own_, static_cast<std::size_t>(known - own.begin())) == nullptr)
                return i;
        }
        return std::nullopt;
    }

    /// The same among those of one round. Who does not know its record, or the commitments under
    /// an epoch that may have them, believes that they are there.
    std::optional<std::uint32_t> first_not_committed_to(std::span<const OuterDelta> deltas,
                                                        bool held) {
        const Digest& round = held ? transcript_.outer_facts().previous_record
                                   : transcript_.outer_facts().round_record;
        const protocol::RoundRecord* record = own_.record_of(held);
        const auto in_time = known_epoch(held);
        const auto late = held ? known_late(record) : Epoch();
        if (!in_time || !late) return std::nullopt;
        if (record == nullptr && !(in_time->empty() && late->empty())) return std::nullopt;
        const auto is_right = [&](const auto& one, const OuterDelta& delta) {
            return is_commitment_to(one, delta, round) &&
                   !rules::signer_fault(own_.domain(), one, *record,
                                        record->find_slot(one.commitment.slot));
        };
        for (std::uint32_t i = 0; i < deltas.size(); ++i) {
            if (deltas[i].held != held || deltas[i].is_withdrawn()) continue;
            const auto is_to_it = [&](const auto& one) { return is_right(one, deltas[i]); };
            if (!std::ranges::any_of(*in_time, is_to_it) && !std::ranges::any_of(*late, is_to_it))
                return i;
        }
        return std::nullopt;
    }

    using Epoch = std::span<const protocol::SignedCommitment>;

    /// The commitments under the epoch of this round, or of the one before: none where the chain
    /// has no such epoch. Nothing: they are not known.
    std::optional<Epoch> known_epoch(bool before) {
        const OuterFacts& facts = transcript_.outer_facts();
        const Digest& root = before ? facts.previous_epoch_root : facts.epoch_root;
        if (before && root.is_zero()) return Epoch();
        const Epoch epoch = own_.epoch(before);
        const std::uint32_t leaves = before ? facts.previous_epoch_leaves : facts.epoch_leaves;
        if (epoch.size() != leaves || commit::merkle_root(epoch_leaves(epoch)) != root)
            return std::nullopt;
        return epoch;
    }

    /// Those among which late ones of the round before may be: none where its record takes none, or
    /// the chain has no epoch of it.
    std::optional<Epoch> known_late(const protocol::RoundRecord* before) {
        const bool posted = !transcript_.outer_facts().previous_record.is_zero();
        if (!posted || (before != nullptr && !before->accept_late)) return Epoch();
        return known_epoch(false);
    }

    Result<Move> pick_included(std::uint32_t position) {
        return Move(
            move::PickIncluded{*transcript_.outer(), slots_of(transcript_.included()), position});
    }

    /// The commitment that was shown is wrong, or the delta was in fact committed to.
    Result<Move> signer() {
        // The contracts have seen all that there is to see.
        if (at_.height >= kWithdrawnHeight)
            return no_fault("in what shows why a delta is withdrawn");
        GYM_TRY(const protocol::SignedCommitment shown,
                rules::read_commitment(transcript_.commitment()));
        const protocol::RoundRecord* record = own_.record_of(at_.height != 0);
        if (record == nullptr)
            return fail(ErrorCode::kNotFound, "the record of the round before is not known");
        return Move(move::ProveSigner{
            transcript_.outer_facts(), protocol::encode(protocol::head_of(*record)),
            protocol::prove_slot(*record, shown.commitment.slot), transcript_.commitment()});
    }

    Result<Move> tensors() {
        GYM_TRY(const OuterTrees* trees, run());
        const PostedTree leaves(transcript_, Stage::kOuterState, leaves_of(*trees, tree()));
        const auto first = first_wrong(leaves);
        if (!first) return no_fault("in the tensors that the outer step made");
        if (first->height > 0) return Move(move::PickNode{pick_below(leaves, *first, at_)});
        Pick leaf = pick_below(leaves, *first, at_);
        if (tree() == OuterTree::kBoth) return slot(*trees, std::move(leaf));
        dispute::RecordProof record;
        if (!is_update(program(), tree(), leaf.index)) {
            GYM_TRY(record, record_of(parameter_of(program(), tree(), leaf.index)));
        }
        return Move(move::PickOuterTensor{*transcript_.outer(), header(), std::move(leaf),
                                          std::move(record)});
    }

    /// The update's node before all others.
    [[nodiscard]] std::optional<NodePlace> first_wrong(const PostedTree& leaves) const {
        if (has_update(program()) && tree() == OuterTree::kMomentum)
            if (auto update = leaves.difference_above(at_, update_number(program()))) return update;
        return leaves.first_difference(at_);
    }

    /// The trees that were committed to are right, so what the record has is not theirs.
    Result<Move> slot(const OuterTrees& trees, Pick leaf) {
        const std::uint64_t count = trees.base.size();
        const bool parameter = leaf.index < count;
        const std::vector<Digest>& right = parameter ? trees.base : trees.momentum;
        const std::uint64_t index = parameter ? leaf.index : leaf.index - count;
        GYM_TRY(std::vector<Digest> path, commit::merkle_prove(right, index));
        Pick source{index, right[index], std::move(path), {}, {}};
        return Move(move::ProveOuterSlot{*transcript_.outer(), transcript_.outer_facts(), header(),
                                         std::move(leaf), std::move(source)});
    }

    Result<const dispute::TracedTensor*> disputed() {
        GYM_TRY([[maybe_unused]] const OuterTrees* trees, run());
        return own_.tensor(tree(), transcript_.op()->primitive);
    }

    Result<Move> chunks() {
        GYM_TRY(const dispute::TracedTensor* tensor, disputed());
        const PostedTree chunks(transcript_, Stage::kChunks, tensor->chunk_leaves);
        const auto first = chunks.first_difference(at_);
        if (!first) return no_fault("in the tensor's chunks");
        return Move(move::PickNode{pick_below(chunks, *first, at_)});
    }

    Result<Move> element() {
        GYM_TRY(const dispute::TracedTensor* tensor, disputed());
        const ByteView mine = tensor->chunk(at_.index);
        const Bytes& theirs = transcript_.chunk();
        const auto wrong = std::ranges::mismatch(mine, theirs).in1 - mine.begin();
        if (static_cast<std::size_t>(wrong) == mine.size()) return no_fault("in the chunk");
        const std::uint64_t byte =
            at_.index * commit::kChunkBytes + static_cast<std::uint64_t>(wrong);
        if (is_update(program(), tree(), transcript_.op()->primitive)) return update_byte(byte);
        const std::uint64_t element = byte / sizeof(float);
        if (has_update(program()) && tree() == OuterTree::kBase) return base_element(element);
        return Move(move::PickElement{*transcript_.op(), *transcript_.outer(), element, theirs});
    }

    /// A byte of the update: of a parameter's row, or one that is the same in every update.
    Result<Move> update_byte(std::uint64_t byte) {
        const auto at = codec::row_of(byte);
        if (!at || at->row == 0)
            return Move(move::ProveUpdate{*transcript_.op(),
                                          *transcript_.outer(),
                                          transcript_.outer_facts(),
                                          header(),
                                          {},
                                          byte,
                                          transcript_.chunk(),
                                          {}});
        const auto& slots = own_.trace().state;
        const auto slot = std::ranges::find_if(slots, [&](const dispute::StateRecord& record) {
            return record.delta_offset != 0 && record.delta_offset <= byte &&
                   byte < dispute::delta_end(program().delta_codec, record);
        });
        if (slot == slots.end())
            return fail(ErrorCode::kInternal, "no parameter has a row of the update");
        GYM_TRY(dispute::RecordProof record,
                own_.records().state(static_cast<std::uint32_t>(slot - slots.begin())));
        const std::uint64_t row = at->row - codec::row_of(slot->delta_offset)->row;
        return Move(move::PickRow{*transcript_.op(), *transcript_.outer(),
                                  transcript_.outer_facts(), header(), row, std::move(record)});
    }

    /// An element of the base, where the whole outer state is right.
    Result<Move> base_element(std::uint64_t element) {
        const std::uint32_t parameter = transcript_.op()->primitive;
        GYM_TRY(const dispute::RecordProof record, record_of(parameter));
        GYM_TRY(OuterWork::Before before, own_.before(parameter, element));
        GYM_TRY(dispute::ChunksOpening update, update_chunk(parameter, element));
        return Move(move::ProveUpdate{*transcript_.op(),
                                      *transcript_.outer(),
                                      transcript_.outer_facts(),
                                      header(),
                                      record.record,
                                      element,
                                      transcript_.chunk(),
                                      {std::move(before.base), std::move(update)}});
    }

    /// The asserter's chunk of the update that has an element's row: as it was posted, or one's
    /// own, where the asserter's update is the same.
    Result<dispute::ChunksOpening> update_chunk(std::uint32_t parameter, std::uint64_t element) {
        GYM_TRY(const OuterTrees* trees, run());
        const std::uint64_t number = update_number(program());
        GYM_TRY(const dispute::TracedTensor* own,
                own_.tensor(OuterTree::kMomentum, static_cast<std::uint32_t>(number)));
        const auto slot =
            std::ranges::find_if(own_.trace().state, [&](const dispute::StateRecord& record) {
                return record.delta_offset != 0 && record.parameter == parameter;
            });
        const auto span = dispute::delta_span(program().delta_codec, *slot, element);
        const std::uint64_t chunk = span.begin / commit::kChunkBytes;
        const bool posted = std::ranges::any_of(transcript_.moves(), [](const PlayedMove& played) {
            return std::holds_alternative<move::PickRow>(played.move);
        });
        dispute::ChunksOpening opening;
        const ByteView mine = own->chunk(chunk);
        opening.chunks.push_back({Bytes(mine.begin(), mine.end()), {}});
        opening.tree_root = commit::merkle_root(own->chunk_leaves);
        GYM_TRY(opening.chunks[0].path, commit::merkle_prove(own->chunk_leaves, chunk));
        if (posted) {
            const PostedTree chunks(transcript_, Stage::kChunks, own->chunk_leaves);
            opening.chunks[0] = {transcript_.chunk(), chunks.path({0, chunk})};
            opening.tree_root = chunks.node({commit::tree_depth(own->chunk_leaves.size()), 0});
        }
        // The tensors of the base, where it is disputed, say nothing about the outer state.
        if (tree() != OuterTree::kMomentum) {
            GYM_TRY(opening.path, commit::merkle_prove(trees->momentum, number));
            return opening;
        }
        const PostedTree tensors(transcript_, Stage::kOuterState, trees->momentum);
        opening.path = tensors.path({0, number});
        return opening;
    }

    using Row = std::array<float, codec::kRowElements>;

    static Row decoded(ByteView row) {
        Row out{};
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = kernels::row_value(
                kernels::row_level_at(row.data(), static_cast<std::int32_t>(i)), row[0]);
        return out;
    }
    static Row floats(ByteView bytes) {
        Row out{};
        for (std::size_t i = 0; i < std::min(out.size(), bytes.size() / sizeof(float)); ++i)
            out[i] = kernels::f32::from_bits(static_cast<std::uint32_t>(
                rules::little_endian(bytes.subspan(i * sizeof(float), sizeof(float)))));
        return out;
    }

    /// A posted row with its residuals: either they do not make the row, or one of the residuals is
    /// not what the row leaves of the step.
    Result<Move> row() {
        const kernels::ExactFloatEnvironment environment;
        const Bytes& values = transcript_.residuals();
        const ByteView theirs =
            ByteView(transcript_.chunk()).subspan(at_.height * codec::kRowBytes, codec::kRowBytes);
        const Row change = decoded(theirs), residual = floats(values);
        Row sums{};
        for (std::size_t i = 0; i < values.size() / sizeof(float); ++i)
            sums[i] = kernels::f32::add(change[i], residual[i]);
        constexpr Row kZeros{};
        std::array<std::uint8_t, codec::kRowBytes> right{};
        kernels::encode_dense_row(kernels::Isa::kScalar, sums.data(), kZeros.data(),
                                  kernels::kRowElements, right.data());
        for (std::size_t place = 0; place < right.size(); ++place)
            if (right[place] != theirs[place])
                return Move(
                    move::ProveRow{static_cast<std::uint8_t>(place), transcript_.chunk(), values});
        GYM_TRY(const Row steps, own_steps());
        for (std::size_t i = 0; i < values.size() / sizeof(float); ++i) {
            const float left = kernels::f32::sub(steps[i], change[i]);
            if (kernels::f32::to_bits(left) == kernels::f32::to_bits(residual[i])) continue;
            return Move(move::PickElement{*transcript_.op(), *transcript_.outer(),
                                          at_.index * codec::kRowElements + i, values});
        }
        return no_fault("in the row");
    }

    /// What the step made of the row's residuals: one's own row and what it left make it again. An
    /// element of level 0 is left as it was, its sign too.
    Result<Row> own_steps() {
        GYM_TRY([[maybe_unused]] const OuterTrees* trees, run());
        const std::uint32_t number = transcript_.op()->primitive;
        const std::uint64_t first = at_.index * codec::kRowElements;
        GYM_TRY(const dispute::TracedTensor* tensor, own_.tensor(OuterTree::kMomentum, number));
        const ByteView bytes = tensor->bytes();
        const std::uint64_t begin = first * sizeof(float);
        const Row left =
            floats(bytes.subspan(begin, std::min<std::uint64_t>(codec::kRowElements * sizeof(float),
                                                                bytes.size() - begin)));
        GYM_TRY(const dispute::TracedTensor* update,
                own_.tensor(OuterTree::kMomentum,
                            static_cast<std::uint32_t>(update_number(program()))));
        const ByteView row =
            update->chunk(row_chunk()).subspan(at_.height * codec::kRowBytes, codec::kRowBytes);
        const Row change = decoded(row);
        Row steps = left;
        for (std::size_t i = 0; i < steps.size(); ++i)
            if (change[i] != 0) steps[i] = kernels::f32::add(change[i], left[i]);
        return steps;
    }

    /// The chunk of the update that the cursor's row lies in.
    [[nodiscard]] std::uint64_t row_chunk() const {
        const auto& moves = transcript_.moves();
        const auto picked = std::find_if(moves.rbegin(), moves.rend(), [](const PlayedMove& one) {
            return std::holds_alternative<move::PickRow>(one.move);
        });
        return picked->at.index;
    }

    Result<Move> column() {
        GYM_TRY([[maybe_unused]] const OuterTrees* trees, run());
        const auto parameter = static_cast<std::uint32_t>(
            parameter_of(program(), tree(), transcript_.op()->primitive));
        GYM_TRY(const Bytes values, own_.column(parameter, at_.index));
        const Bytes mine = column_answer(at_, values, *transcript_.outer());
        const Bytes& theirs = transcript_.values();
        if (dispute::column_parts(at_.leaves) != 0) {
            if (const auto wrong = first_wrong_part(mine, theirs))
                return Move(move::PickPart{theirs, *wrong});
        } else if (const auto wrong = first_wrong_value(mine, theirs)) {
            return value(parameter, *wrong);
        }
        GYM_TRY(OuterWork::Before before, own_.before(parameter, at_.index));
        if (is_residual(program(), tree(), transcript_.op()->primitive))
            return residual(parameter, std::move(before));
        return Move(move::ProveOuter{*transcript_.op(), *transcript_.outer(),
                                     transcript_.outer_facts(), header(), theirs,
                                     std::move(before.base), std::move(before.momentum)});
    }

    /// A part that does not have the exponent that it is said to have, else one with another sum:
    /// while one exponent is wrong, a sum says nothing.
    static std::optional<std::uint8_t> first_wrong_part(ByteView mine, ByteView theirs) {
        for (const std::size_t size : {std::size_t{1}, kPartBytes})
            for (std::size_t at = 0; at < mine.size(); at += kPartBytes)
                if (!std::ranges::equal(mine.subspan(at, size), theirs.subspan(at, size)))
                    return static_cast<std::uint8_t>(at / kPartBytes);
        return std::nullopt;
    }

    static std::optional<std::uint32_t> first_wrong_value(ByteView mine, ByteView theirs) {
        const auto wrong = std::ranges::mismatch(mine, theirs).in1 - mine.begin();
        if (static_cast<std::size_t>(wrong) == mine.size()) return std::nullopt;
        return static_cast<std::uint32_t>(static_cast<std::size_t>(wrong) / sizeof(float));
    }

    /// A part whose values are posted, and which does not add what it is said to.
    Result<Move> part() {
        GYM_TRY([[maybe_unused]] const OuterTrees* trees, run());
        const auto parameter = static_cast<std::uint32_t>(
            parameter_of(program(), tree(), transcript_.op()->primitive));
        GYM_TRY(const Bytes values, own_.column(parameter, at_.index));
        const Bytes mine = column_answer(at_, values, *transcript_.outer());
        if (const auto wrong = first_wrong_value(mine, transcript_.values()))
            return value(parameter, first_of_column(at_) + *wrong);
        return Move(move::ProvePart{*transcript_.op(), *transcript_.outer(), transcript_.values()});
    }

    Result<Move> residual(std::uint32_t parameter, OuterWork::Before before) {
        GYM_TRY(const dispute::RecordProof record, record_of(parameter));
        GYM_TRY(dispute::ChunksOpening update, update_chunk(parameter, at_.index));
        return Move(move::ProveUpdate{
            *transcript_.op(),
            *transcript_.outer(),
            transcript_.outer_facts(),
            header(),
            record.record,
            at_.index,
            transcript_.values(),
            {std::move(before.momentum), std::move(before.residual), std::move(update)}});
    }

    Result<Move> value(std::uint32_t parameter, std::uint32_t position) {
        GYM_TRY(dispute::RecordProof record, record_of(parameter));
        GYM_TRY(dispute::ChunksOpening delta, own_.delta_element(position, parameter, at_.index));
        return Move(move::ProveColumn{*transcript_.op(), *transcript_.outer(), header(),
                                      transcript_.values(), position, std::move(record),
                                      std::move(delta)});
    }

    OuterWork& own_;
    const GameTranscript& transcript_;
    const Cursor& at_;
};

}  // namespace

Result<Move> plan_challenge(OuterWork& own, const GameTranscript& transcript) {
    GYM_ASSERT(transcript.at().answered, "the challenger moves where there is an answer");
    GYM_TRY(Move move, OuterChallenge(own, transcript).plan());
    const auto ruling = decide(transcript.at(), move, &own.domain());
    if (ruling.ok()) return move;
    return no_move_wins(move, ruling.error());
}

}  // namespace gym::game
