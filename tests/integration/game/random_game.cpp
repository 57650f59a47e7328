#include "random_game.hpp"

#include <algorithm>
#include <cstring>

namespace gym::game::testing {

using commit::MerkleTree;
using dispute::LeafRecord;
using dispute::TracedTensor;

namespace {

/// How games end; all other numbers: by an element.
enum Ending : std::uint64_t { kByRecord, kByInput, kBySlot, kByGradient, kByToken, kByDelta };
constexpr std::uint64_t kEndings = 10;

TracedTensor traced(const dispute::Shape& shape, ByteView bytes) {
    TracedTensor tensor{shape, nullptr, commit::chunk_leaves(bytes)};
    tensor.memory =
        std::make_shared<dispute::TensorMemory>(must(dispute::TensorMemory::copy(bytes, {})));
    return tensor;
}

void change(Rng& rng, Digest& digest) {
    digest.data[rng() % Digest::kSize] ^= static_cast<std::uint8_t>(1U << rng() % 8);
}

}  // namespace

TracedTensor with_flipped_bit(const TracedTensor& tensor, std::uint64_t bit) {
    const ByteView view = tensor.bytes();
    Bytes bytes(view.begin(), view.end());
    bytes[bit / 8 % bytes.size()] ^= static_cast<std::uint8_t>(1U << bit % 8);
    return traced(tensor.shape, bytes);
}

std::vector<Digest> children_of(const MerkleTree& tree, const Cursor& c, unsigned levels_max) {
    const unsigned down = answer_levels(c.height, levels_max), to = c.height - down;
    std::vector<Digest> children;
    for (std::uint64_t i = c.index << down; down > 0 && i < (c.index + 1) << down; ++i)
        if (i << to < tree.leaf_count()) children.push_back(tree.node(to, i));
    return children;
}

TracedUnit::TracedUnit(dispute::testing::SampleUnit kind)
    : sample(std::move(kind)),
      records(sample.trace),
      header(dispute::encode(sample.trace.header)),
      work_(must(RerunWork::create(sample.unit()))) {
    for (std::uint64_t i = 0; i < sample.spec.steps; ++i)
        steps.push_back(sample.step(i));
    for (const std::uint32_t token : sample.dataset.tokens())
        for (std::size_t k = 0; k < sample.dataset.header().token_bytes(); ++k)
            tokens.push_back(static_cast<std::uint8_t>(token >> (8 * k)));
}

dispute::MacroTrace& TracedUnit::macro(std::uint32_t step, std::uint32_t leaf) {
    const std::uint32_t first = sample.trace.leaves.at(leaf).first;
    const auto found =
        std::ranges::find(sample.trace.macros, first, &dispute::MacroRange::first_primitive);
    const auto op = static_cast<std::uint32_t>(found - sample.trace.macros.begin());
    const auto known = macros_.find({step, op});
    if (known != macros_.end()) return known->second;
    auto created =
        must(dispute::MacroTrace::create(sample.unit(), sample.trace, steps.at(step), op));
    return macros_.emplace(std::pair{step, op}, std::move(created)).first->second;
}

TracedTensor TracedUnit::windows(std::uint32_t step) const {
    const auto& tokens_of_step = steps.at(step).inputs.batch.tokens;
    const auto batch =
        std::ranges::find(sample.trace.leaves, LeafRecord::Kind::kBatch, &LeafRecord::kind);
    return traced(batch->shape, {reinterpret_cast<const std::uint8_t*>(tokens_of_step.data()),
                                 tokens_of_step.size() * sizeof(std::int32_t)});
}

RandomGame::RandomGame(Rng& rng, TracedUnit& unit, std::uint64_t ending)
    : GameWriter(rng), unit_(unit), ending_(ending % kEndings) {
    step_ = static_cast<std::uint32_t>(below(unit.steps.size()));
    // Only checkpoints have gradient roots, and the last step is one.
    if (ending_ == kByGradient) step_ = static_cast<std::uint32_t>(unit.steps.size() - 1);
    for (const dispute::StepTrace& step : unit.steps) {
        records_.push_back(step.record);
        states_.push_back(step.state_root);
    }
    const dispute::StepTrace& step = unit.steps[step_];
    before_ = step.before_roots;
    leaves_ = step.leaf_roots;
    after_ = dispute::next_state_roots(unit.sample.trace, before_, leaves_);
    for (const std::uint32_t leaf : unit.sample.trace.gradients)
        gradients_.push_back(leaves_[leaf]);
}

void RandomGame::lie() {
    engine::StepRecord& record = records_[step_];
    // The subject of the proof, or anything.
    constexpr std::uint64_t kAbout[][2] = {{0, 4}, {5, 6}, {6, 8}, {8, 9}};
    const bool about = ending_ < std::size(kAbout) && below(8) != 0;
    switch (about ? kAbout[ending_][0] + below(kAbout[ending_][1] - kAbout[ending_][0])
                  : below(9)) {
        case 0:
            record.loss_bits ^= 1U << below(32);
            break;
        case 1:
            record.grad_norm_bits ^= 1U << below(32);
            break;
        case 2:
            record.skipped = !record.skipped;
            break;
        case 3:
            change(rng_, record.batch_root);
            break;
        case 4:
            change(rng_, leaves_[below(leaves_.size())]);
            break;
        case 5:
            change(rng_, leaves_[input_leaf()]);
            break;
        case 6:
            change(rng_, after_[below(after_.size())]);
            break;
        case 7:
            change(rng_, before_[below(before_.size())]);
            break;
        default:
            change(rng_, gradients_[below(gradients_.size())]);
            break;
    }
}

/// Clock or random position, if the program has them.
std::uint32_t RandomGame::input_leaf() {
    const std::uint32_t inputs = unit_.sample.trace.header.input_leaves;
    const auto leaf = static_cast<std::uint32_t>(below(inputs));
    return leaf == 0 && inputs > 1 ? 1 : leaf;
}

void GameWriter::move(const Move& move) {
    cases_.push_back({transcript_->at(), move});
    const Status played = transcript_->play(move);
    if (!played.ok()) assertion_failed(name_of(move), played.error().message, __FILE__, __LINE__);
}

Pick GameWriter::leaf_pick(const MerkleTree& tree, std::uint64_t leaf) const {
    std::vector<Digest> path = must(tree.prove(leaf));
    path.resize(transcript_->at().height);
    return {leaf, tree.node(0, leaf), std::move(path), {}, {}};
}

Pick GameWriter::root_pick(const MerkleTree& tree, std::uint64_t leaf) const {
    return {leaf, tree.node(0, leaf), must(tree.prove(leaf)), {}, {}};
}

void GameWriter::descend(const MerkleTree& tree, std::uint64_t leaf, bool to_leaf) {
    // Not always the way that players go, and not always to the end.
    while (transcript_->at().height > 0) {
        const Cursor& c = transcript_->at();
        if (!c.answered) {
            move(move::Answer{children_of(tree, c)});
            continue;
        }
        if (!to_leaf && (c.height == 1 || below(3) == 0)) return;
        const unsigned down = 1 + static_cast<unsigned>(below(to_leaf ? c.height : c.height - 1));
        const unsigned to = c.height - down;
        const std::vector<Digest> path = must(tree.prove(leaf));
        move(move::PickNode{{leaf >> to,
                             tree.node(to, leaf >> to),
                             {path.begin() + to, path.begin() + c.height},
                             {},
                             {}}});
    }
}

void RandomGame::commit_to(const Digest& delta_root) {
    Facts facts;
    const auto& spec = unit_.sample.spec;
    // The commitment must be consistent; the rest is the asserter's to declare.
    const Digest before = commit::merkle_root(before_);
    states_[step_] = commit::merkle_root(after_);
    if (step_ > 0) states_[step_ - 1] = before;
    engine::StepRecord& record = records_[step_];
    if (record.state_root) record.state_root = states_[step_];
    if (record.gradient_root) record.gradient_root = commit::merkle_root(gradients_);
    const MerkleTree chain(engine::record_chain(records_)), states(states_);
    facts.records_root = chain.root();
    facts.final_state_root = states_.back();
    facts.delta_root = delta_root;
    facts.job_seed = spec.job_seed;
    facts.trace_root = dispute::trace_root(unit_.sample.trace.header);
    facts.initial_state_root =
        step_ == 0 ? before : commit::merkle_root(unit_.steps[0].before_roots);
    facts.dataset_root = spec.dataset_root;
    facts.round = spec.round;
    facts.slot = spec.slot;
    facts.steps = spec.steps;
    facts.checkpoint_every = spec.checkpoint_every;
    transcript_.emplace(facts, start_of(random_digest(rng_), facts));

    Cursor root{.stage = Stage::kSteps,
                .height = static_cast<std::uint8_t>(commit::tree_depth(spec.steps))};
    move(move::DeclareStates{facts, states.root(), children_of(chain, root, kTwinLevelsMax),
                             children_of(states, root, kTwinLevelsMax)});
}

void RandomGame::play_to_step() {
    commit_to(random_digest(rng_));
    const Facts& facts = transcript_->facts();
    const MerkleTree chain(engine::record_chain(records_)), states(states_);
    const auto both = [&](std::uint64_t step) {
        return Pick{step, chain.node(0, step), must(chain.prove(step)), states.node(0, step),
                    must(states.prove(step))};
    };
    move(
        move::PickStep{facts, {states.root(), both(step_), step_ == 0 ? Pick{} : both(step_ - 1)}});
    const MerkleTree leaves(leaves_);
    Cursor trace{.stage = Stage::kTrace,
                 .height = static_cast<std::uint8_t>(commit::tree_depth(leaves_.size()))};
    move(move::OpenStep{frame(), facts, unit_.header, engine::encode_step_record(records_[step_]),
                        leaves.root(), children_of(leaves, trace)});
}

std::vector<Case> RandomGame::play() {
    for (std::uint64_t lies = below(4) + (ending_ < kByToken ? 1 : 0) + 1; lies > 2; --lies)
        lie();
    switch (ending_) {
        case kByRecord:
            prove_record();
            break;
        case kByInput:
            prove_input();
            break;
        case kBySlot:
            prove_slot();
            break;
        case kByGradient:
            prove_gradient();
            break;
        case kByToken:
            descend_to_token();
            break;
        case kByDelta:
            descend_to_delta();
            break;
        default:
            descend_to_element();
            break;
    }
    return std::move(cases_);
}

void RandomGame::prove_record() {
    play_to_step();
    const dispute::TraceHeader& h = unit_.sample.trace.header;
    move::ProveRecord proof{
        frame(), unit_.header, transcript_->record(), static_cast<std::uint8_t>(below(4)), {}, {}};
    const engine::StepRecord &claimed = records_[step_], &right = unit_.steps[step_].record;
    const bool wrong[] = {
        claimed.batch_root != right.batch_root, claimed.loss_bits != right.loss_bits,
        claimed.grad_norm_bits != right.grad_norm_bits, claimed.skipped != right.skipped};
    for (std::uint8_t field = 0; field < std::size(wrong); ++field)
        if (wrong[field] && below(8) != 0) proof.field = field;
    const std::uint32_t named[] = {0, h.loss, h.grad_norm, h.skipped};
    const std::uint32_t leaf = named[proof.field] == dispute::kNoLeaf ? 0 : named[proof.field];
    proof.leaf = root_pick(MerkleTree(leaves_), leaf);
    proof.leaf_record = must(unit_.records.leaf(leaf));
    cases_.push_back({transcript_->at(), proof});
}

void RandomGame::prove_input() {
    play_to_step();
    std::uint32_t leaf = input_leaf();
    for (std::uint32_t i = 0; i < unit_.sample.trace.header.input_leaves; ++i)
        if (leaves_[i] != unit_.steps[step_].leaf_roots[i] && below(4) != 0) leaf = i;
    cases_.push_back(
        {transcript_->at(),
         move::ProveInput{frame(), transcript_->facts(), unit_.header,
                          root_pick(MerkleTree(leaves_), leaf), must(unit_.records.leaf(leaf))}});
}

void RandomGame::prove_slot() {
    play_to_step();
    move(move::PickTree{frame(), unit_.header, {}});
    const MerkleTree after(after_);
    std::uint64_t slot = below(after_.size());
    // One that is wrong, if any.
    const auto right = dispute::next_state_roots(unit_.sample.trace, before_, leaves_);
    for (std::size_t i = 0; i < right.size(); ++i)
        if (right[i] != after_[i] && below(4) != 0) slot = i;
    descend(after, slot, false);
    const dispute::Source& next = unit_.sample.trace.state[slot].next;
    const bool computed = next.kind == dispute::Source::Kind::kLeaf;
    cases_.push_back(
        {transcript_->at(),
         move::ProveSlot{frame(), unit_.header, leaf_pick(after, slot),
                         must(unit_.records.state(static_cast<std::uint32_t>(slot))),
                         root_pick(MerkleTree(computed ? leaves_ : before_), next.index)}});
}

void RandomGame::prove_gradient() {
    play_to_step();
    move(move::PickTree{frame(), unit_.header, transcript_->record()});
    const MerkleTree gradients(gradients_);
    std::uint64_t number = below(gradients_.size());
    const auto& named = unit_.sample.trace.gradients;
    for (std::size_t i = 0; i < named.size(); ++i)
        if (gradients_[i] != leaves_[named[i]] && below(4) != 0) number = i;
    descend(gradients, number, false);
    cases_.push_back(
        {transcript_->at(),
         move::ProveGradient{frame(), unit_.header, leaf_pick(gradients, number),
                             must(unit_.records.gradient(static_cast<std::uint32_t>(number))),
                             root_pick(MerkleTree(leaves_), named[number])}});
}

}  // namespace gym::game::testing
