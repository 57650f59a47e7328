#include "memory_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "gym/program/train_program.hpp"

namespace gym::engine {
namespace {

using program::Op;
using program::Opcode;
using program::Program;
using program::Slot;
using program::SlotId;
using program::SlotKind;

constexpr std::size_t kNever = ~std::size_t{0};

struct Lives {
    std::vector<std::size_t> written;  ///< op that writes the slot, kNever for none
    std::vector<std::size_t>
        last_read;  ///< op that reads it last; ops.size() if it is needed afterwards
};

bool is_state(const Slot& slot) {
    return slot.kind == SlotKind::kParam || slot.kind == SlotKind::kState;
}

Lives find_lives(const Program& program) {
    const auto& ops = program.ops();
    Lives lives{std::vector<std::size_t>(program.slots().size(), kNever),
                std::vector<std::size_t>(program.slots().size(), 0)};
    for (std::size_t i = 0; i < ops.size(); ++i) {
        for (const SlotId id : ops[i].inputs)
            lives.last_read[id] = i;
        for (const SlotId id : ops[i].outputs) {
            lives.written[id] = i;
            lives.last_read[id] = std::max(lives.last_read[id], i);
        }
    }
    for (const auto& output : program.outputs())
        if (outlives_the_run(program, output.name)) lives.last_read[output.slot] = ops.size();
    return lives;
}

/// Ops that read element i of their same-sized operands before they write element i of any output,
/// and no other element: their outputs may lie over an input.
bool writes_in_place(Opcode code) {
    switch (code) {
        case Opcode::kAdamw:
        case Opcode::kAdamwGuarded:
        case Opcode::kAdd:
        case Opcode::kSub:
        case Opcode::kMul:
        case Opcode::kDiv:
        case Opcode::kFma:
            return true;
        default:
            return false;
    }
}

/// Whether `next` can be computed straight over the state tensor `slot`.
bool can_overwrite(const Program& program, const Lives& lives, SlotId slot, SlotId next) {
    if (program.slot(next).kind != SlotKind::kTemp || lives.written[next] == kNever) return false;
    const std::size_t writer = lives.written[next];
    const Op& op = program.ops()[writer];
    if (!writes_in_place(op.code) || lives.last_read[slot] > writer) return false;
    // Every tensor operand of the output's size is read elementwise; a repeated smaller one would
    // be read after it was overwritten.
    const auto same_size = [&](SlotId id) {
        return program.slot(id).dims == program.slot(next).dims;
    };
    return std::ranges::all_of(op.inputs, [&](SlotId id) { return id != slot || same_size(id); });
}

void place_next_values(const Program& program, Lives& lives, MemoryPlan& plan) {
    std::vector<unsigned> uses(program.slots().size(), 0);
    for (const Slot& slot : program.slots()) {
        if (is_state(slot)) ++uses[slot.next];
    }
    for (SlotId id = 0; id < program.slots().size(); ++id) {
        const Slot& slot = program.slot(id);
        if (!is_state(slot) || slot.next == id) continue;
        // A value that two slots take cannot lie in both.
        if (uses[slot.next] == 1 && can_overwrite(program, lives, id, slot.next)) {
            plan.slots[slot.next] = {MemoryPlan::Place::kInState, 0, id};
        } else {
            lives.last_read[slot.next] = program.ops().size();
        }
    }
}

/// First-fit allocator over one growing arena.
class Arena {
  public:
    std::uint64_t allocate(std::uint64_t size) {
        auto best = free_.end();
        for (auto it = free_.begin(); it != free_.end(); ++it) {
            if (it->second >= size && (best == free_.end() || it->second < best->second)) best = it;
        }
        if (best == free_.end()) return grow(size);
        const auto [offset, available] = *best;
        free_.erase(best);
        if (available > size) free_.emplace(offset + size, available - size);
        return offset;
    }
    void release(std::uint64_t offset, std::uint64_t size) {
        auto [it, added] = free_.emplace(offset, size);
        if (const auto after = std::next(it);
            after != free_.end() && it->first + it->second == after->first) {
            it->second += after->second;
            free_.erase(after);
        }
        if (it != free_.begin()) {
            const auto before = std::prev(it);
            if (before->first + before->second == it->first) {
                before->second += it->second;
                free_.erase(it);
            }
        }
    }
    [[nodiscard]] std::uint64_t size() const { return size_; }

  private:
    std::uint64_t grow(std::uint64_t size) {
        std::uint64_t offset = size_;
        if (!free_.empty()) {
            const auto last = std::prev(free_.end());
            if (last->first + last->second == size_) {
                offset = last->first;
                free_.erase(last);
            }
        }
        size_ = offset + size;
        return offset;
    }
    std::map<std::uint64_t, std::uint64_t> free_;  // offset -> size
    std::uint64_t size_ = 0;
};

std::uint64_t padded_size(const Slot& slot) {
    const std::uint64_t size = program::size_bytes(slot);
    return (size + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

}  // namespace

bool outlives_the_run(const Program& program, std::string_view output) {
    if (output != program::kLogitsOutput) return true;
    for (SlotId id = 0; id < program.slots().size(); ++id)
        if (program.slot(id).kind == SlotKind::kParam && program.slot(id).next != id) return false;
    return true;
}

MemoryPlan plan_memory(const Program& program) {
    MemoryPlan plan;
    plan.slots.resize(program.slots().size());
    for (SlotId id = 0; id < program.slots().size(); ++id) {
        if (program.slot(id).kind == SlotKind::kTemp)
            plan.slots[id].place = MemoryPlan::Place::kUnused;
    }
    Lives lives = find_lives(program);
    place_next_values(program, lives, plan);

    const std::size_t op_count = program.ops().size();
    std::vector<std::vector<SlotId>> dying(op_count + 1);
    Arena arena;
    for (std::size_t i = 0; i < op_count; ++i) {
        for (const SlotId id : program.ops()[i].outputs) {
            if (plan.slots[id].place != MemoryPlan::Place::kUnused) continue;
            plan.slots[id] = {MemoryPlan::Place::kArena,
                              arena.allocate(padded_size(program.slot(id))), program::kNoSlot};
            dying[lives.last_read[id]].push_back(id);
        }
        for (const SlotId id : dying[i])
            arena.release(plan.slots[id].offset, padded_size(program.slot(id)));
    }
    plan.arena_bytes = arena.size();
    return plan;
}

}  // namespace gym::engine
