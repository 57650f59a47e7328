#include "random_outer.hpp"

#include <algorithm>

#include "gym/codec/row_layout.hpp"
#include "gym/dispute/delta_layout.hpp"
#include "gym/game/outer_tensors.hpp"

namespace gym::game::testing {

using commit::MerkleTree;

namespace {

enum Ending : std::uint64_t { kBySigner, kBySlot, kByColumn, kByOuter };
constexpr std::uint64_t kEndings = 4;

std::vector<Digest> roots_of(const std::vector<OuterDelta>& deltas) {
    std::vector<Digest> roots;
    for (const OuterDelta& delta : deltas)
        roots.push_back(delta.root);
    return roots;
}

}  // namespace

TracedOuter::TracedOuter(const dispute::testing::Sample& kind, const crypto::Eip712Domain& domain,
                         bool takes_late)
    : sample(kind, 1, domain) {
    sample.previous.accept_late = takes_late;
    sample.record.previous_record = protocol::hash(sample.previous);
    for (const bool held : {false, true}) {
        auto& epoch = held ? sample.previous_epoch : sample.epoch;
        epoch.clear();
        const auto add = [&](std::uint32_t slot, std::uint64_t signer, auto change) {
            protocol::UnitCommitment says = sample.commitment(slot, sample.add_delta(), held);
            change(says);
            epoch.push_back(sample.sign(says, signer));
        };
        const auto right = [](protocol::UnitCommitment&) {};
        add(0, 0, right);
        add(1, 99, right);
        add(4, 4, [](auto& says) { says.tokens += 1; });
        add(7, 7, right);
        epoch.back().signature.data[64] = 0;
        add(300, 300, [](auto& says) { says.records_root = {}; });
        add(300, 300, right);
        add(301, 301, right);  // the round has no such slot
    }
    // All of the round before came late, too: a game shows either.
    sample.epoch.insert(sample.epoch.end(), sample.previous_epoch.begin(),
                        sample.previous_epoch.end());
    work = sample.rerun();
    header = encode(work->trace().header);
}

RandomOuter::RandomOuter(Rng& rng, TracedOuter& unit, std::uint64_t ending)
    : GameWriter(rng),
      unit_(unit),
      ending_(ending % kEndings),
      tree_(below(2) == 0 ? OuterTree::kBase : OuterTree::kMomentum) {
    choose_deltas();
    trees_ = *must(unit_.work->run(computed_from()));
    number_ = static_cast<std::uint32_t>(below(tensor_count(program(), tree_)));
    // An update is one of many.
    if (has_update(program()) && tree_ == OuterTree::kMomentum && below(2) == 0)
        number_ = static_cast<std::uint32_t>(update_number(program()));
    parameter_ = static_cast<std::uint32_t>(parameter_of(program(), tree_, number_));
    tensor_ = *must(unit_.work->tensor(tree_, number_));
    element_ = below(dispute::element_count(tensor_->shape));
    lie();
}

void RandomOuter::choose_deltas() {
    while (deltas_.empty())
        for (const bool held : {false, true})
            if (below(4) != 0) choose_deltas(held);
}

void RandomOuter::choose_deltas(bool held) {
    const Digest round = protocol::hash(held ? unit_.sample.previous : unit_.sample.record);
    for (const auto& [says, signature] : epoch(held)) {
        const bool again =
            !deltas_.empty() && deltas_.back().slot == says.slot && deltas_.back().held == held;
        if (says.round_record == round && !again && below(2) == 0)
            deltas_.push_back({says.slot, says.delta_root, held});
    }
}

/// What the asserter takes them for: now and then all count fully.
std::vector<OuterDelta> RandomOuter::computed_from() {
    std::vector<OuterDelta> out = deltas_;
    if (below(8) != 0) return out;
    for (OuterDelta& delta : out)
        delta.held = false;
    return out;
}

std::uint32_t RandomOuter::held() const {
    return static_cast<std::uint32_t>(std::ranges::count(deltas_, true, &OuterDelta::held));
}

void RandomOuter::lie() {
    if (ending_ != kBySlot && below(4) != 0) {
        const std::uint64_t bits = tensor_->shape.dtype == program::DType::kU8 ? 8 : 32;
        *tensor_ = with_flipped_bit(*tensor_, bits * element_ + below(bits));
        auto& roots = tree_ == OuterTree::kBase ? trees_.base : trees_.momentum;
        roots[number_] = tensor_->root();
        if (below(8) == 0) element_ = below(dispute::element_count(tensor_->shape));
        if (is_update(program(), tree_, number_)) lie_about_residual();
    }
    joint_ = leaves(OuterTree::kBoth);
    if (ending_ == kBySlot && below(4) != 0) joint_[below(joint_.size())] = random_digest(rng_);
    trees_.state_root = commit::merkle_root(joint_);
}

/// Now and then a residual beside the lie about its row is another, too: with it the row is none.
void RandomOuter::lie_about_residual() {
    const auto place = codec::row_of(element_);
    if (!place || place->row == 0 || below(2) == 0) return;
    const dispute::StateRecord& slot = owner_of(element_);
    const auto number = static_cast<std::uint32_t>(residual_number(program(), slot.parameter));
    const dispute::TracedTensor right = *must(unit_.work->tensor(tree_, number));
    const std::uint64_t first =
        (place->row - codec::row_of(slot.delta_offset)->row) * codec::kRowElements;
    residual_ = with_flipped_bit(right, 32 * first + 24 + below(7));
    trees_.momentum[number] = residual_->root();
}

const dispute::StateRecord& RandomOuter::owner_of(std::uint64_t byte) const {
    return *std::ranges::find_if(
        unit_.work->trace().state, [&](const dispute::StateRecord& record) {
            return record.delta_offset != 0 &&
                   byte < dispute::delta_end(program::DeltaCodec::kDense, record);
        });
}

std::vector<Digest> RandomOuter::leaves(OuterTree tree) const {
    std::vector<Digest> out;
    if (tree != OuterTree::kMomentum) out = trees_.base;
    if (tree != OuterTree::kBase)
        out.insert(out.end(), trees_.momentum.begin(), trees_.momentum.end());
    return out;
}

void RandomOuter::declare() {
    engine::StepRecord record;
    record.batch_root = engine::included_root(deltas_.size(), held(), trees_.deltas_root);
    record.state_root = trees_.state_root;
    protocol::UnitCommitment says;
    says.round_record = protocol::hash(unit_.sample.record);
    says.slot = protocol::kAggregateSlot;
    says.records_root = engine::records_root({&record, 1});
    says.final_state_root = commit::merkle_root(trees_.base);
    says.delta_root = commit::merkle_root(trees_.momentum);
    const OuterFacts facts = outer_facts_of(says, unit_.sample.record, unit_.sample.epoch_roots());
    transcript_.emplace(facts, start_of(random_digest(rng_), facts));
    const MerkleTree tree(roots_of(deltas_));
    const Cursor outer{.stage = Stage::kOuter,
                       .height = static_cast<std::uint8_t>(commit::tree_depth(deltas_.size()))};
    move(move::DeclareOuter{facts, engine::encode_step_record(record), tree.root(),
                            children_of(tree, outer), slots_of(deltas_), held()});
    if (below(3) == 0) descend(tree, below(deltas_.size()), false);
}

std::vector<Case> RandomOuter::play() {
    declare();
    if (ending_ == kBySigner)
        prove_signer();
    else if (ending_ == kBySlot)
        prove_slot();
    else
        descend_to_tensor();
    return std::move(cases_);
}

void RandomOuter::prove_signer() {
    const std::vector<Digest> roots = roots_of(deltas_);
    const auto position = static_cast<std::uint32_t>(below(roots.size()));
    move(move::PickIncluded{frame(), slots_of(deltas_), position});
    const bool held = deltas_[position].held;
    const bool late = held && below(2) == 0;
    const auto& shown = epoch(held && !late);
    std::vector<Digest> all;
    std::uint32_t index = 0;
    for (std::uint32_t i = 0; i < shown.size(); ++i) {
        all.push_back(protocol::commitment_leaf(shown[i]));
        if (shown[i].commitment.delta_root == roots[position]) index = i;
    }
    move(move::ShowIncluded{transcript_->outer_facts(), index, protocol::encode(shown[index]),
                            must(commit::merkle_prove(all, index)),
                            must(commit::merkle_prove(roots, position)), late});
    const protocol::RoundRecord& record = held ? unit_.sample.previous : unit_.sample.record;
    cases_.push_back(
        {transcript_->at(),
         move::ProveSigner{transcript_->outer_facts(), protocol::encode(protocol::head_of(record)),
                           protocol::prove_slot(record, shown[index].commitment.slot),
                           transcript_->commitment()}});
}

void RandomOuter::prove_slot() {
    move(move::PickOuter{frame(), transcript_->outer_facts(), unit_.header, OuterTree::kBoth});
    const std::vector<Digest> right = leaves(OuterTree::kBoth);
    std::uint64_t leaf = below(joint_.size());
    for (std::size_t i = 0; i < joint_.size(); ++i)
        if (joint_[i] != right[i] && below(4) != 0) leaf = i;
    const MerkleTree tree(joint_);
    descend(tree, leaf, false);
    const std::uint64_t count = trees_.base.size();
    const bool base = leaf < count;
    const MerkleTree source(base ? trees_.base : trees_.momentum);
    cases_.push_back(
        {transcript_->at(), move::ProveOuterSlot{frame(), transcript_->outer_facts(), unit_.header,
                                                 leaf_pick(tree, leaf),
                                                 root_pick(source, base ? leaf : leaf - count)}});
}

dispute::RecordProof RandomOuter::slot_record() const {
    const auto& state = unit_.work->trace().state;
    const auto slot = std::ranges::find_if(state, [&](const dispute::StateRecord& record) {
        return record.delta_offset != 0 && record.parameter == parameter_;
    });
    return must(unit_.work->records().state(static_cast<std::uint32_t>(slot - state.begin())));
}

void RandomOuter::descend_to_tensor() {
    move(move::PickOuter{frame(), transcript_->outer_facts(), unit_.header, tree_});
    const MerkleTree tree(leaves(tree_));
    descend(tree, number_, false);
    const bool is_bytes = is_update(program(), tree_, number_);
    move(move::PickOuterTensor{frame(), unit_.header, leaf_pick(tree, number_),
                               is_bytes ? dispute::RecordProof{} : slot_record()});
    const std::uint64_t size = is_bytes ? 1 : sizeof(float);
    descend_chunks(*tensor_, element_ * size / commit::kChunkBytes);
    if (is_bytes)
        prove_update_byte();
    else
        prove_element();
}

void RandomOuter::prove_element() {
    if (has_update(program()) && tree_ == OuterTree::kBase && below(4) != 0) {
        OuterWork::Before before = must(unit_.work->before(parameter_, element_));
        return prove_update(element_, transcript_->chunk(), slot_record().record,
                            {std::move(before.base), update_chunk()});
    }
    move(move::PickElement{*transcript_->op(), frame(), element_, transcript_->chunk()});
    prove_column();
}

void RandomOuter::prove_column() {
    Bytes values = must(unit_.work->column(parameter_, element_));
    const auto position = static_cast<std::uint32_t>(below(deltas_.size()));
    if (ending_ == kByColumn && below(4) != 0)
        values[std::size_t{4} * position + below(4)] ^= static_cast<std::uint8_t>(1U << below(8));
    move(move::PostColumn{values});
    if (ending_ == kByColumn) {
        cases_.push_back(
            {transcript_->at(),
             move::ProveColumn{*transcript_->op(), frame(), unit_.header, values, position,
                               slot_record(),
                               must(unit_.work->delta_element(position, parameter_, element_))}});
        return;
    }
    OuterWork::Before before = must(unit_.work->before(parameter_, element_));
    if (is_residual(program(), tree_, transcript_->op()->primitive))
        return prove_update(
            element_, values, slot_record().record,
            {std::move(before.momentum), std::move(before.residual), update_chunk()});
    cases_.push_back(
        {transcript_->at(),
         move::ProveOuter{*transcript_->op(), frame(), transcript_->outer_facts(), unit_.header,
                          values, std::move(before.base), std::move(before.momentum)}});
}

void RandomOuter::prove_update(std::uint64_t element, const Bytes& posted, const Bytes& record,
                               std::vector<dispute::ChunksOpening> operands) {
    cases_.push_back(
        {transcript_->at(),
         move::ProveUpdate{*transcript_->op(), frame(), transcript_->outer_facts(), unit_.header,
                           record, element, posted, std::move(operands)}});
}

void RandomOuter::prove_update_byte() {
    const auto at = codec::row_of(element_);
    if (!at || at->row == 0) return prove_update(element_, transcript_->chunk(), {}, {});
    const dispute::StateRecord& slot = owner_of(element_);
    parameter_ = slot.parameter;
    const std::uint64_t row = at->row - codec::row_of(slot.delta_offset)->row;
    move(move::PickRow{*transcript_->op(), frame(), transcript_->outer_facts(), unit_.header, row,
                       slot_record()});
    number_ = transcript_->op()->primitive;
    const dispute::TracedTensor residual =
        residual_ ? *residual_ : *must(unit_.work->tensor(tree_, number_));
    dispute::ChunksOpening opening = must(dispute::open_chunk(residual.bytes(), 256 * row, 1));
    opening.path = must(commit::merkle_prove(trees_.momentum, number_));
    move(move::PostRow{*transcript_->op(), std::move(opening)});
    if (residual_ || below(2) == 0) {
        move::ProveRow proof{static_cast<std::uint8_t>(below(34)), transcript_->chunk(),
                             transcript_->residuals()};
        for (std::uint8_t place = 0; place < codec::kRowBytes && below(8) != 0; ++place) {
            if (!decide(transcript_->at(), move::ProveRow{place, proof.chunk, proof.residuals})
                     .ok())
                continue;
            proof.place = place;
            break;
        }
        cases_.push_back({transcript_->at(), std::move(proof)});
        return;
    }
    const Bytes& values = transcript_->residuals();
    element_ = codec::kRowElements * row + below(values.size() / sizeof(float));
    move(move::PickElement{*transcript_->op(), frame(), element_, values});
    prove_column();
}

dispute::TracedTensor RandomOuter::update() const {
    if (tensor_->shape.dtype == program::DType::kU8) return *tensor_;
    return *must(unit_.work->tensor(OuterTree::kMomentum,
                                    static_cast<std::uint32_t>(update_number(program()))));
}

dispute::ChunksOpening RandomOuter::update_chunk() {
    const auto record =
        must(dispute::decode_state_record(slot_record().record, program::DeltaCodec::kDense));
    const auto span = dispute::delta_span(program::DeltaCodec::kDense, record, element_);
    dispute::ChunksOpening opening = must(dispute::open_chunk(update().bytes(), span.begin, 1));
    opening.path = must(commit::merkle_prove(trees_.momentum, update_number(program())));
    return opening;
}

}  // namespace gym::game::testing
