#include "dispute/game_position.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <map>
#include <type_traits>
#include <utility>
#include <variant>

#include "gym/chain/abi.hpp"
#include "gym/contracts/dispute_game.hpp"
#include "gym/game/calldata.hpp"
#include "gym/game/evidence.hpp"
#include "gym/game/outer_tensors.hpp"
#include "gym/game/state.hpp"

namespace gym::app {
namespace {

using game::Stage;

constexpr const char* kCommitmentFields[] = {"kind",   "worker", "delta codec",   "steps",
                                             "tokens", "FLOPs",  "a root of zero"};
constexpr const char* kSignerFields[] = {"kind",
                                         "worker",
                                         "delta codec",
                                         "steps",
                                         "tokens",
                                         "FLOPs",
                                         "a root of zero",
                                         "nobody's signature",
                                         "late, in a round that takes none"};
constexpr const char* kRecordFields[] = {"batch root", "loss", "gradient norm", "skipped"};

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

template <std::size_t N>
std::string field_name(const char* const (&names)[N], const Amount& element) {
    const auto index = element.to_u64();
    return index.ok() && *index < N ? names[*index] : "field " + element.to_string();
}

/// The leaves below a node: "chunk 12 of 25", or "chunks 8 to 15 of 25".
std::string leaves_below(const game::Cursor& cursor, const std::string& noun) {
    if (cursor.height >= 64 || cursor.leaves == 0) return noun;
    const std::uint64_t first = cursor.index << cursor.height;
    const std::uint64_t last = std::min(((cursor.index + 1) << cursor.height), cursor.leaves) - 1;
    if (first >= last) return noun + " " + number(first) + " of " + number(cursor.leaves);
    const std::string many = noun == "trace leaf" ? "trace leaves" : noun + "s";
    return many + " " + number(first) + " to " + number(last) + " of " + number(cursor.leaves);
}

template <std::size_t... I>
std::map<Bytes, std::string> names_by_selector(std::index_sequence<I...>) {
    std::map<Bytes, std::string> out;
    const auto add = [&](game::Move move) {
        const std::string name(game::name_of(move));
        const Bytes call = game::encode_call({{}, {}, std::move(move)});
        out[Bytes(call.begin(), call.begin() + 4)] = name;
    };
    (add(std::variant_alternative_t<I, game::Move>{}), ...);
    for (const char* text :
         {"announce(bytes32)", "open(bytes,bytes,(bytes,bytes32[]),uint32,bytes32[],bytes32)",
          "openLate(bytes,bytes,(bytes,bytes32[]),uint32,bytes32[],bytes32)",
          "openConflict(bytes,bytes,bytes,bytes32)",
          "openWithheld(bytes,bytes,(bytes,bytes32[]),uint32,bytes32[],bytes32)"}) {
        const auto signature = chain::AbiSignature::parse(text);
        if (!signature.ok()) continue;
        const auto selector = signature->selector();
        out[Bytes(selector.begin(), selector.end())] = signature->name;
    }
    return out;
}

std::string name_of_selector(ByteView selector) {
    static const auto* const names = new auto(names_by_selector(
        std::make_index_sequence<std::variant_size_v<game::Move>>()));  // as long as the process
    const auto found = names->find(Bytes(selector.begin(), selector.end()));
    return found == names->end() ? to_hex0x(selector) : found->second;
}

std::string step_text(const GamePosition& where) {
    if (where.delta) return "the delta";
    return where.step ? "step " + number(*where.step) : "a step";
}

std::string leaf_text(const GamePosition& where) {
    std::string out = step_text(where);
    if (where.leaf && !where.delta) out += ", trace leaf " + number(*where.leaf);
    return out;
}

std::string macro_text(const GamePosition& where) {
    if (where.delta) return step_text(where);
    if (where.leaf && where.primitives == 0) return step_text(where) + ", token windows";
    std::string out = leaf_text(where);
    if (where.first_primitive && where.primitives > 0)
        out += ", op of primitives " + number(*where.first_primitive) + " to " +
               number(*where.first_primitive + where.primitives - 1);
    return out;
}

std::string primitive_text(const GamePosition& where) {
    if (!where.primitive) return macro_text(where);
    std::string out = leaf_text(where) + ", primitive " + number(*where.primitive) + " of " +
                      number(where.primitives);
    if (where.opcode) out += " (" + std::string(program::to_string(*where.opcode)) + ")";
    return out;
}

/// Whether the tensor that is disputed is the update.
bool is_of_update(const GamePosition& where) {
    return where.tensor && where.program &&
           game::is_update(*where.program, where.tree, *where.tensor);
}

std::string outer_text(const GamePosition& where) {
    if (is_of_update(where)) return "the aggregate's update";
    std::string out = "the aggregate";
    std::uint64_t parameter = where.tensor.value_or(0);
    const bool residual =
        where.tensor && where.program && game::is_residual(*where.program, where.tree, parameter);
    if (where.program) parameter = game::parameter_of(*where.program, where.tree, parameter);
    if (where.tensor) out += ", parameter " + number(parameter);
    if (where.tree == game::OuterTree::kMomentum)
        out += residual ? ", its residual" : ", its momentum";
    return out;
}

std::string row_text(const GamePosition& where) {
    return outer_text(where) + (where.row ? ", row " + number(*where.row) : "");
}

std::string delta_text(const game::OuterDelta& delta) {
    const char* const what = delta.is_withdrawn() ? "the withdrawn delta"
                             : delta.held         ? "the held delta"
                                                  : "the delta";
    return what + (" of slot " + number(delta.slot)) + " in the aggregate";
}

std::string included_text(const GamePosition& where) {
    return where.included_delta ? delta_text(*where.included_delta) : "a delta in the aggregate";
}

std::string inputs_text(const GamePosition& where) {
    std::string out = "the aggregate and its inputs";
    if (where.held > 0)
        out += ", " + number(where.held) + " of " + number(where.deltas) + " deltas held";
    if (where.withdrawn > 0)
        out += ", " + number(where.withdrawn) + " of " + number(where.deltas) + " deltas withdrawn";
    return out;
}

std::string tensor_text(const GamePosition& where) {
    return where.aggregate ? outer_text(where) : primitive_text(where);
}

std::string element_text(const GamePosition& where) {
    return where.element ? ", element " + number(*where.element) : "";
}

std::string conflict_text(const Amount& field) {
    if (field == Amount(game::kNextRecordField))
        return "the next round's record does not continue from the aggregate";
    if (field == Amount(game::kEquivocationField))
        return "two different commitments to one unit are signed";
    return "two records contradict each other: field " + field.to_string();
}

/// The tensors that a node of an aggregate stands for.
std::string outer_state_text(const game::Cursor& cursor, const GamePosition& where) {
    switch (where.tree) {
        case game::OuterTree::kBase:
            return "the aggregate, " + leaves_below(cursor, "parameter");
        case game::OuterTree::kMomentum:
            return "the aggregate, " +
                   leaves_below(cursor, where.program && game::has_update(*where.program)
                                            ? "outer state tensor"
                                            : "momentum tensor");
        case game::OuterTree::kBoth:
        case game::OuterTree::kNone:
            break;
    }
    return "the aggregate's record, " + leaves_below(cursor, "state tensor");
}

/// The low 8 bytes of a word whose others are zero.
std::optional<std::uint64_t> small_number(const Digest& word) {
    if (std::any_of(word.data.begin(), word.data.begin() + 24,
                    [](std::uint8_t byte) { return byte != 0; }))
        return std::nullopt;
    std::uint64_t out = 0;
    for (std::size_t i = 24; i < 32; ++i)
        out = out << 8 | word.data[i];
    return out;
}

std::string hex_of(std::uint64_t bits, unsigned bytes) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "0x%0*llx", static_cast<int>(2 * bytes),
                  static_cast<unsigned long long>(bits));
    return text.data();
}

std::string typed_value(std::uint64_t bits, program::DType type) {
    using enum program::DType;
    const std::string name(to_string(type));
    switch (type) {
        case kF32: {
            std::array<char, 32> text{};
            std::snprintf(
                text.data(), text.size(), "%.9g",
                static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
            return std::string(text.data()) + " (" + name + " " + hex_of(bits, 4) + ")";
        }
        case kI32:
            return std::to_string(static_cast<std::int32_t>(bits)) + " (" + name + " " +
                   hex_of(bits, 4) + ")";
        case kI64:
            return std::to_string(static_cast<std::int64_t>(bits)) + " (" + name + " " +
                   hex_of(bits, 8) + ")";
        case kI16:
            return std::to_string(static_cast<std::int16_t>(bits)) + " (" + name + " " +
                   hex_of(bits, 2) + ")";
        default:
            return number(bits) + " (" + name + ")";
    }
}

void take_leaf(const game::move::PickLeaf& pick, GamePosition& where) {
    where.leaf = pick.leaf_record.index;
    const auto record = dispute::decode_leaf(pick.leaf_record.record);
    if (!record.ok()) return;
    where.primitives = record->count;
    if (record->count > 0) where.first_primitive = record->first;
    where.shape = record->shape;
}

void take_primitive(const game::move::PickPrimitive& pick, GamePosition& where) {
    where.primitive = static_cast<std::uint32_t>(pick.to.index);
    const auto record = dispute::decode_primitive(pick.primitive.record);
    if (!record.ok()) return;
    where.opcode = record->code;
    where.shape = record->output;
}

}  // namespace

void GamePosition::follow(const game::Move& move) {
    const auto take_op = [this](const game::OpFrame& op) {
        if (op.shape) shape = op.shape;
        if (aggregate) {
            tensor = op.primitive;
            return;
        }
        delta = op.leaf == dispute::kNoLeaf;
        leaf = op.leaf;
        primitives = op.count;
        if (op.count > 0) first_primitive = op.first;
        if (!op.record.is_zero()) primitive = op.primitive;
    };
    std::visit(
        [&](const auto& one) {
            using One = std::decay_t<decltype(one)>;
            if constexpr (std::is_same_v<One, game::move::PickStep>)
                step = static_cast<std::uint32_t>(one.to.after.index);
            if constexpr (std::is_same_v<One, game::move::PickDelta>) {
                delta = true;
                const auto header = dispute::decode_trace_header(one.header);
                compressed = header.ok() && header->delta_codec != program::DeltaCodec::kFloat;
            }
            if constexpr (std::is_same_v<One, game::move::DeclareOuter>) {
                aggregate = true;
                const program::DeltaGroups groups = program::groups_of(one.held);
                const auto declared = game::read_declared(one.slots, one.held);
                deltas = declared.ok() ? declared->size() : 0;
                held = groups.held;
                withdrawn = groups.withdrawn;
            }
            if constexpr (std::is_same_v<One, game::move::PickOuter>) {
                tree = one.tree;
                const auto header = dispute::decode_trace_header(one.header);
                if (header.ok()) program = *header;
            }
            if constexpr (std::is_same_v<One, game::move::PickOuterTensor>)
                tensor = static_cast<std::uint32_t>(one.to.index);
            if constexpr (std::is_same_v<One, game::move::PickElement>) element = one.element;
            if constexpr (std::is_same_v<One, game::move::PickIncluded>) {
                const auto declared = game::read_declared(one.slots, one.frame.held);
                if (declared.ok() && one.position < declared->size())
                    included_delta = (*declared)[one.position];
            }
            if constexpr (requires { one.frame.state_before; }) step = one.frame.step;
            if constexpr (requires { one.frame.macro_root; }) take_op(one.frame);
            if constexpr (requires { one.op.macro_root; }) take_op(one.op);
            // From the update to a residual.
            if constexpr (std::is_same_v<One, game::move::PickRow>) {
                row = one.row;
                const auto record =
                    dispute::decode_state_record(one.slot.record, program::DeltaCodec::kDense);
                if (record.ok() && this->program)
                    tensor = static_cast<std::uint32_t>(
                        game::residual_number(*this->program, record->parameter));
            }
            if constexpr (std::is_same_v<One, game::move::PickLeaf>) take_leaf(one, *this);
            if constexpr (std::is_same_v<One, game::move::PickPrimitive>)
                take_primitive(one, *this);
        },
        move);
}

GamePosition position_after(std::span<const player::LoggedEvent> course) {
    GamePosition out;
    for (const player::LoggedEvent& happened : course) {
        if (const auto* opened = std::get_if<contracts::Opened>(&happened.event))
            if (const auto call = game::read_withheld(opened->data); call.ok())
                out.asked = call->evidence.data;
        const auto* moved = std::get_if<contracts::Moved>(&happened.event);
        if (moved == nullptr) continue;
        const auto sent = game::read_call(moved->data);
        if (sent.ok()) out.follow(sent->move);
    }
    return out;
}

std::string status_text(game::GameStatus status) {
    using enum game::GameStatus;
    switch (status) {
        case kAsserterMoves:
            return "the asserter must answer";
        case kChallengerMoves:
            return "the challenger must move";
        case kUpheld:
            return "over: the challenger ran out of time; this game found no fault in the unit";
        case kFaultProven:
            return "over: the fault is proven";
        case kFaultByClock:
            return "over: the asserter ran out of time";
        case kMoot:
            return "over: another game showed the unit to be faulty";
        case kNone:
            return "unknown to the contract";
    }
    return "?";
}

std::string slot_text(const std::optional<protocol::UnitKey>& key) {
    if (!key) return "-";
    return key->slot == protocol::kAggregateSlot ? "aggregate" : number(key->slot);
}

std::string move_name(ByteView call_data) {
    return name_of_selector(call_data.first(std::min<std::size_t>(4, call_data.size())));
}

namespace {

/// "the base state, tensor 3, chunk 12": what somebody is asked to show.
std::string asked_text(const game::WithheldData& data) {
    const std::string chunk = "chunk " + number(data.chunk);
    switch (data.what) {
        case game::Wanted::kCommitment:
            return "the published commitment, in its epoch";
        case game::Wanted::kDelta:
        case game::Wanted::kLateDelta:
            return "the delta, " + chunk;
        case game::Wanted::kBase:
            return "the base state, tensor " + number(data.tensor) + ", " + chunk;
        case game::Wanted::kOuter:
            return "the outer state, tensor " + number(data.tensor) + ", " + chunk;
        case game::Wanted::kDataset:
            return data.tensor == 0 ? "the dataset's head" : "the dataset, " + chunk;
    }
    return "data";
}

}  // namespace

std::string place_text(const game::Cursor& cursor, const GamePosition& where) {
    switch (cursor.stage) {
        case Stage::kNone:
            break;
        case Stage::kUnit:
            return where.asked ? asked_text(*where.asked) : "the unit";
        case Stage::kSteps:
            return leaves_below(cursor, "step");
        case Stage::kStep:
            return step_text(where) + ", its record";
        case Stage::kTrace:
            return step_text(where) + ", " + leaves_below(cursor, "trace leaf");
        case Stage::kState:
            return step_text(where) + ", " + leaves_below(cursor, "state tensor");
        case Stage::kGradients:
            return step_text(where) + ", " + leaves_below(cursor, "gradient");
        case Stage::kMacro:
            return macro_text(where);
        case Stage::kPrimitives:
            return leaf_text(where) + ", " + leaves_below(cursor, "primitive") + " of its op";
        case Stage::kTensor:
            return tensor_text(where) + ", its tensor";
        case Stage::kChunks:
            return tensor_text(where) + ", " + leaves_below(cursor, "chunk");
        case Stage::kOuter:
            return inputs_text(where);
        case Stage::kOuterState:
            return outer_state_text(cursor, where);
        case Stage::kColumn:
            return outer_text(where) + ", element " + number(cursor.index) + " of " +
                   number(cursor.leaves) + " deltas";
        case Stage::kPart:
            return outer_text(where) + ", element " + number(cursor.index) + " of " +
                   number(cursor.leaves) + " deltas, part " + number(cursor.height);
        case Stage::kIncluded:
            return included_text(where);
        case Stage::kRow:
            return row_text(where);
    }
    return "stage " + number(static_cast<std::uint8_t>(cursor.stage));
}

std::string fault_text(const contracts::FaultFound& fault, const GamePosition& where) {
    const std::string proof = name_of_selector(fault.move);
    const std::string element = fault.element.to_string();
    if (proof == "open" || proof == "openLate")
        return "the commitment contradicts its round record: " +
               field_name(kCommitmentFields, fault.element);
    if (proof == "openConflict") return conflict_text(fault.element);
    if (proof == "proveOuter") return outer_text(where) + ", element " + element;
    if (proof == "proveRow") return row_text(where) + ", byte " + element + " of the update's row";
    if (proof == "proveUpdate")
        return outer_text(where) + (is_of_update(where) ? ", byte " : ", element ") + element;
    if (proof == "proveColumn")
        return outer_text(where) + element_text(where) + ", in delta " + element;
    if (proof == "provePart")
        return outer_text(where) + element_text(where) + ", what part " + element + " adds";
    if (proof == "proveOuterSlot") return "the aggregate's record, state tensor " + element;
    if (proof == "proveSigner")
        return included_text(where) +
               ", its commitment: " + field_name(kSignerFields, fault.element);
    if (proof == "proveElement") return primitive_text(where) + ", element " + element;
    if (proof == "proveToken") return step_text(where) + ", token windows, element " + element;
    if (proof == "proveDelta")
        return (where.compressed ? "the delta, byte " : "the delta, word ") + element;
    if (proof == "proveRecord")
        return step_text(where) + ", its record: " + field_name(kRecordFields, fault.element);
    if (proof == "proveInput") return step_text(where) + ", input leaf " + element;
    if (proof == "proveSlot") return step_text(where) + ", state tensor " + element;
    if (proof == "proveGradient") return step_text(where) + ", gradient " + element;
    return proof + ", element " + element;
}

std::string value_text(const Digest& word, const contracts::FaultFound& fault,
                       const GamePosition& where) {
    const auto bits = small_number(word);
    if (!bits) return word.hex();
    const std::string proof = name_of_selector(fault.move);
    if (proof == "proveElement" && where.shape) return typed_value(*bits, where.shape->dtype);
    if ((proof == "proveDelta" && !where.compressed) || proof == "proveOuter" ||
        proof == "proveColumn" || (proof == "proveUpdate" && !is_of_update(where)))
        return typed_value(*bits, program::DType::kF32);
    return number(*bits);
}

}  // namespace gym::app
