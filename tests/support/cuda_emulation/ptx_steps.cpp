// The opcodes that kernels may have.
#include <algorithm>
#include <cstdlib>

#include "checked_memory.hpp"
#include "findings.hpp"
#include "ptx_arithmetic.hpp"

namespace gym::ptx {
namespace {

using emulation::Access;

// ---- from types and functions to steps

template <typename T, typename Function>
void unary(Thread& thread, const Instruction& i) {
    set(thread, i.operands[0], Function()(get<T>(thread, i.operands[1])));
}
template <typename T, typename Function>
void binary(Thread& thread, const Instruction& i) {
    set<T>(thread, i.operands[0],
           Function()(get<T>(thread, i.operands[1]), get<T>(thread, i.operands[2])));
}
template <typename T, typename Function>
void shift(Thread& thread, const Instruction& i) {
    set<T>(thread, i.operands[0],
           Function()(get<T>(thread, i.operands[1]), get<std::uint32_t>(thread, i.operands[2])));
}
template <typename T, typename Function>
void ternary(Thread& thread, const Instruction& i) {
    set<T>(thread, i.operands[0],
           Function()(get<T>(thread, i.operands[1]), get<T>(thread, i.operands[2]),
                      get<T>(thread, i.operands[3])));
}
template <typename T, typename Wide>
void multiply_wide(Thread& thread, const Instruction& i) {
    set<Wide>(thread, i.operands[0],
              Multiply()(Wide{get<T>(thread, i.operands[1])}, Wide{get<T>(thread, i.operands[2])}));
}
template <typename T, typename Wide>
void multiply_add_wide(Thread& thread, const Instruction& i) {
    set<Wide>(thread, i.operands[0],
              MultiplyAdd()(Wide{get<T>(thread, i.operands[1])},
                            Wide{get<T>(thread, i.operands[2])}, get<Wide>(thread, i.operands[3])));
}
template <typename From, typename To>
void convert(Thread& thread, const Instruction& i) {
    set<To>(thread, i.operands[0], static_cast<To>(get<From>(thread, i.operands[1])));
}
using Words = std::uint32_t (*)(std::uint32_t, std::uint32_t, std::uint32_t);
template <Words kFunction>
void three_words(Thread& thread, const Instruction& i) {
    set(thread, i.operands[0],
        kFunction(get<std::uint32_t>(thread, i.operands[1]),
                  get<std::uint32_t>(thread, i.operands[2]),
                  get<std::uint32_t>(thread, i.operands[3])));
}
template <std::uint32_t (*kFunction)(std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t)>
void four_words(Thread& thread, const Instruction& i) {
    set(thread, i.operands[0],
        kFunction(
            get<std::uint32_t>(thread, i.operands[1]), get<std::uint32_t>(thread, i.operands[2]),
            get<std::uint32_t>(thread, i.operands[3]), get<std::uint32_t>(thread, i.operands[4])));
}
template <typename T>
void choose(Thread& thread, const Instruction& i) {
    set<T>(thread, i.operands[0],
           get<T>(thread, i.operands[get<bool>(thread, i.operands[3]) ? 1 : 2]));
}

/// One value, two words into a double word, or a double word into two.
template <typename T>
void move(Thread& thread, const Instruction& i) {
    if (i.operands.size() == 2) return set<T>(thread, i.operands[0], get<T>(thread, i.operands[1]));
    using Half = std::conditional_t<sizeof(T) == 8, std::uint32_t, std::uint16_t>;
    constexpr unsigned kBits = sizeof(Half) * 8;
    if (i.first_group == 2) {
        const std::uint64_t whole = get<T>(thread, i.operands[2]);
        set<Half>(thread, i.operands[0], static_cast<Half>(whole));
        return set<Half>(thread, i.operands[1], static_cast<Half>(whole >> kBits));
    }
    const std::uint64_t low = get<Half>(thread, i.operands[1]),
                        high = get<Half>(thread, i.operands[2]);
    set<T>(thread, i.operands[0], static_cast<T>(high << kBits | low));
}

// ---- comparisons

enum class Compare { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

template <typename T, Compare kCompare>
bool holds(T a, T b) {
    switch (kCompare) {
        case Compare::kEqual:
            return a == b;
        case Compare::kNotEqual:
            return a < b || a > b;  // false of NaN
        case Compare::kLess:
            return a < b;
        case Compare::kLessEqual:
            return a <= b;
        case Compare::kGreater:
            return a > b;
        case Compare::kGreaterEqual:
            return a >= b;
    }
    return false;
}
/// @tparam kUnordered true, too, if one of them is NaN.
template <typename T, Compare kCompare, bool kUnordered = false>
void compare(Thread& thread, const Instruction& i) {
    const T a = get<T>(thread, i.operands[1]), b = get<T>(thread, i.operands[2]);
    bool result = holds<T, kCompare>(a, b);
    if constexpr (kUnordered) result = result || a != a || b != b;
    set(thread, i.operands[0], result);
}
template <bool kNan>
void compare_nan(Thread& thread, const Instruction& i) {
    const auto a = get<float>(thread, i.operands[1]), b = get<float>(thread, i.operands[2]);
    set(thread, i.operands[0], (a != a || b != b) == kNan);
}

// ---- memory

enum class Space { kGeneric, kShared, kLocal, kParameters };

/// The host's address of an operand in brackets.
template <Space kSpace>
std::uint8_t* address(const Thread& thread, const Operand& operand) {
    const std::uint64_t at = raw(thread, operand) + static_cast<std::uint64_t>(operand.offset);
    if (kSpace == Space::kShared) return thread.shared + static_cast<std::uint32_t>(at);
    return reinterpret_cast<std::uint8_t*>(at);
}

template <typename T, Space kSpace>
void load(Thread& thread, const Instruction& i) {
    const std::size_t count = i.operands.size() - 1;
    const std::uint8_t* const from = address<kSpace>(thread, i.operands.back());
    emulation::check_access(Access::kRead, from, sizeof(T) * count, &i);
    for (std::size_t k = 0; k < count; ++k) {
        T value;
        std::memcpy(&value, from + k * sizeof(T), sizeof value);
        set<T>(thread, i.operands[k], value);
    }
}
template <typename T, Space kSpace>
void store(Thread& thread, const Instruction& i) {
    const std::size_t count = i.operands.size() - 1;
    std::uint8_t* const to = address<kSpace>(thread, i.operands.front());
    emulation::check_access(Access::kWrite, to, sizeof(T) * count, &i);
    for (std::size_t k = 0; k < count; ++k) {
        const T value = get<T>(thread, i.operands[1 + k]);
        std::memcpy(to + k * sizeof(T), &value, sizeof value);
    }
}
/// atom has the old value as first operand, red has none.
template <typename T, typename Function, bool kResult>
void atomic(Thread& thread, const Instruction& i) {
    std::uint8_t* const at = address<Space::kGeneric>(thread, i.operands[kResult ? 1 : 0]);
    emulation::check_atomic(at, sizeof(T), &i);
    T old;
    std::memcpy(&old, at, sizeof old);
    const T now = Function()(old, get<T>(thread, i.operands[kResult ? 2 : 1]));
    std::memcpy(at, &now, sizeof now);
    if (kResult) set<T>(thread, i.operands[0], old);
}
void shared_to_generic(Thread& thread, const Instruction& i) {
    set(thread, i.operands[0],
        reinterpret_cast<std::uintptr_t>(thread.shared) + raw(thread, i.operands[1]));
}
void generic_to_shared(Thread& thread, const Instruction& i) {
    set(thread, i.operands[0],
        raw(thread, i.operands[1]) - reinterpret_cast<std::uintptr_t>(thread.shared));
}
void copy_async(Thread& thread, const Instruction& i) {
    if (raw(thread, i.operands[2]) != 16)
        return emulation::report("copies other than 16 bytes", &i);
    const auto source_bytes = get<std::uint32_t>(thread, i.operands[3]);
    if (source_bytes != 0 && source_bytes != 16)
        return emulation::report("copies a part of 16 bytes", &i);
    emulation::copy_16_bytes(address<Space::kShared>(thread, i.operands[0]),
                             address<Space::kGeneric>(thread, i.operands[1]), source_bytes == 16,
                             &i);
}
void copy_commit(Thread&, const Instruction&) {
    emulation::commit_copies();
}
void copy_wait(Thread& thread, const Instruction& i) {
    emulation::wait_for_copies(get<std::uint32_t>(thread, i.operands[0]));
}

// ---- control

void branch(Thread& thread, const Instruction& i) {
    thread.pc = i.target;
}
void leave(Thread& thread, const Instruction&) {
    thread.pc = SIZE_MAX;
}
void barrier(Thread& thread, const Instruction& i) {
    if (raw(thread, i.operands[0]) != 0) emulation::report("a barrier other than 0", &i);
    emulation::block_barrier(&i);
}
/// d, value, lane mask, clamp, members.
void shuffle(Thread& thread, const Instruction& i) {
    if (raw(thread, i.operands[3]) != 31) emulation::report("a shuffle of less than a warp", &i);
    auto value = get<std::uint32_t>(thread, i.operands[1]);
    emulation::shuffle_xor(get<std::uint32_t>(thread, i.operands[4]), &value, sizeof value,
                           get<std::uint32_t>(thread, i.operands[2]), &i);
    set(thread, i.operands[0], value);
}
/// d (4), a (4), b (2), c (4).
void multiply_bytes(Thread& thread, const Instruction& i) {
    std::int32_t c[4];
    std::uint32_t a[4], b[2];
    for (unsigned k = 0; k < 4; ++k) {
        a[k] = get<std::uint32_t>(thread, i.operands[4 + k]);
        c[k] = get<std::int32_t>(thread, i.operands[10 + k]);
    }
    for (unsigned k = 0; k < 2; ++k)
        b[k] = get<std::uint32_t>(thread, i.operands[8 + k]);
    emulation::mma_m16n8k32_s8_u8(c, a, b, &i);
    for (unsigned k = 0; k < 4; ++k)
        set(thread, i.operands[k], c[k]);
}

/// d (4), row.
void load_matrices(Thread& thread, const Instruction& i) {
    std::uint32_t words[4];
    emulation::load_matrices(words, address<Space::kShared>(thread, i.operands[4]), &i);
    for (unsigned k = 0; k < 4; ++k)
        set(thread, i.operands[k], words[k]);
}

// ---- from opcodes to steps

using Parts = std::vector<std::string_view>;

Parts split(std::string_view text) {
    Parts parts;
    while (!text.empty()) {
        const std::size_t dot = std::min(text.find('.'), text.size());
        parts.push_back(text.substr(0, dot));
        text.remove_prefix(std::min(dot + 1, text.size()));
    }
    return parts;
}

/// function.operator()<T>() of the integer type; null of others.
template <typename Function>
Step of_integer(std::string_view type, const Function& function) {
    const char kind = type.empty() ? '?' : type[0];
    const std::string_view bits = type.substr(type.empty() ? 0 : 1);
    const bool is_signed = kind == 's';
    if (kind != 's' && kind != 'u' && kind != 'b') return nullptr;
    if (bits == "8")
        return is_signed ? function.template operator()<std::int8_t>()
                         : function.template operator()<std::uint8_t>();
    if (bits == "16")
        return is_signed ? function.template operator()<std::int16_t>()
                         : function.template operator()<std::uint16_t>();
    if (bits == "32")
        return is_signed ? function.template operator()<std::int32_t>()
                         : function.template operator()<std::uint32_t>();
    if (bits == "64")
        return is_signed ? function.template operator()<std::int64_t>()
                         : function.template operator()<std::uint64_t>();
    return nullptr;
}
/// f32 as its bits: moves, loads, stores.
template <typename Function>
Step of_any(std::string_view type, const Function& function) {
    return of_integer(type == "f32" ? "b32" : type, function);
}

#define GYM_STEP(...) [&]<typename T>() -> Step { return &__VA_ARGS__; }

Step float_arithmetic(const Parts& parts) {
    // Correctly rounded, subnormals kept, and nothing else.
    if (parts.size() == 2 && parts[0] == "neg") return &unary<float, Negate>;
    if (parts.size() != 3 || parts[1] != "rn") return nullptr;
    if (parts[0] == "add") return &binary<float, Add>;
    if (parts[0] == "sub") return &binary<float, Subtract>;
    if (parts[0] == "mul") return &binary<float, Multiply>;
    if (parts[0] == "div") return &binary<float, Divide>;
    if (parts[0] == "fma") return &ternary<float, MultiplyAdd>;
    if (parts[0] == "sqrt") return &unary<float, SquareRoot>;
    if (parts[0] == "rcp") return &unary<float, Reciprocal>;
    return nullptr;
}

Step multiply(const Parts& parts) {
    const bool add = parts[0] == "mad";
    const std::string_view type = parts[2];
    if (parts[1] == "lo")
        return add ? of_integer(type, GYM_STEP(ternary<T, MultiplyAdd>))
                   : of_integer(type, GYM_STEP(binary<T, Multiply>));
    if (parts[1] == "hi" && !add) {
        if (type == "u32") return &binary<std::uint32_t, MultiplyHigh>;
        if (type == "s32") return &binary<std::int32_t, MultiplyHigh>;
        return nullptr;
    }
    if (parts[1] != "wide") return nullptr;
    if (type == "u32")
        return add ? &multiply_add_wide<std::uint32_t, std::uint64_t>
                   : &multiply_wide<std::uint32_t, std::uint64_t>;
    if (type == "s32")
        return add ? &multiply_add_wide<std::int32_t, std::int64_t>
                   : &multiply_wide<std::int32_t, std::int64_t>;
    if (type == "u16") return add ? nullptr : &multiply_wide<std::uint16_t, std::uint32_t>;
    if (type == "s16") return add ? nullptr : &multiply_wide<std::int16_t, std::int32_t>;
    return nullptr;
}

Step logic(const Parts& parts) {
    const std::string_view name = parts[0], type = parts[1];
    if (type == "pred") {
        if (name == "and") return &binary<bool, And>;
        if (name == "or") return &binary<bool, Or>;
        if (name == "xor") return &binary<bool, Xor>;
        return name == "not" ? &unary<bool, Not> : nullptr;
    }
    if (name == "and") return of_integer(type, GYM_STEP(binary<T, And>));
    if (name == "or") return of_integer(type, GYM_STEP(binary<T, Or>));
    if (name == "xor") return of_integer(type, GYM_STEP(binary<T, Xor>));
    if (name == "not") return of_integer(type, GYM_STEP(unary<T, Not>));
    if (name == "shl") return of_integer(type, GYM_STEP(shift<T, ShiftLeft>));
    if (name == "shr") return of_integer(type, GYM_STEP(shift<T, ShiftRight>));
    return nullptr;
}

Step integer_arithmetic(const Parts& parts) {
    const std::string_view name = parts[0], type = parts[1];
    if (name == "add") return of_integer(type, GYM_STEP(binary<T, Add>));
    if (name == "sub") return of_integer(type, GYM_STEP(binary<T, Subtract>));
    if (name == "div") return of_integer(type, GYM_STEP(binary<T, Divide>));
    if (name == "rem") return of_integer(type, GYM_STEP(binary<T, Remainder>));
    if (name == "min") return of_integer(type, GYM_STEP(binary<T, Minimum>));
    if (name == "max") return of_integer(type, GYM_STEP(binary<T, Maximum>));
    if (name == "neg") return of_integer(type, GYM_STEP(unary<T, Negate>));
    if (name == "abs") {
        if (type == "s32") return &unary<std::int32_t, Absolute>;
        if (type == "s64") return &unary<std::int64_t, Absolute>;
    }
    return nullptr;
}

template <bool kUnordered>
Step float_comparison(std::string_view name) {
    if (name == "eq") return &compare<float, Compare::kEqual, kUnordered>;
    if (name == "ne") return &compare<float, Compare::kNotEqual, kUnordered>;
    if (name == "lt") return &compare<float, Compare::kLess, kUnordered>;
    if (name == "le") return &compare<float, Compare::kLessEqual, kUnordered>;
    if (name == "gt") return &compare<float, Compare::kGreater, kUnordered>;
    if (name == "ge") return &compare<float, Compare::kGreaterEqual, kUnordered>;
    return nullptr;
}
Step comparison(const Parts& parts) {
    if (parts.size() != 3) return nullptr;
    const std::string_view name = parts[1], type = parts[2];
    if (type == "f32") {
        if (name == "nan") return &compare_nan<true>;
        if (name == "num") return &compare_nan<false>;
        if (name.size() == 3) return float_comparison<true>(name.substr(0, 2));
        return float_comparison<false>(name);
    }
    if (name == "eq") return of_integer(type, GYM_STEP(compare<T, Compare::kEqual>));
    if (name == "ne") return of_integer(type, GYM_STEP(compare<T, Compare::kNotEqual>));
    if (name == "lt" || name == "lo") return of_integer(type, GYM_STEP(compare<T, Compare::kLess>));
    if (name == "le" || name == "ls")
        return of_integer(type, GYM_STEP(compare<T, Compare::kLessEqual>));
    if (name == "gt" || name == "hi")
        return of_integer(type, GYM_STEP(compare<T, Compare::kGreater>));
    if (name == "ge" || name == "hs")
        return of_integer(type, GYM_STEP(compare<T, Compare::kGreaterEqual>));
    return nullptr;
}

template <typename From>
Step conversion_from(std::string_view to) {
    return of_integer(to, GYM_STEP(convert<From, T>));
}
Step conversion(const Parts& parts, std::string_view opcode) {
    if (opcode == "cvt.rni.f32.f32") return &unary<float, RoundToEven>;
    if (opcode == "cvt.rzi.s32.f32") return &unary<float, Truncate>;
    if (parts.size() == 4 && parts[1] == "rn" && parts[2] == "f32")
        return of_integer(parts[3], GYM_STEP(convert<T, float>));
    if (parts.size() != 3) return nullptr;
    const std::string_view to = parts[1];
    return of_integer(parts[2], [&]<typename T>() -> Step { return conversion_from<T>(to); });
}

template <Space kSpace>
Step load_or_store(bool is_load, std::string_view type) {
    return is_load ? of_any(type, GYM_STEP(load<T, kSpace>))
                   : of_any(type, GYM_STEP(store<T, kSpace>));
}
Step memory(const Parts& parts) {
    const bool is_load = parts[0] == "ld";
    std::size_t at = 1;
    const auto has = [&](std::string_view name) {
        return at < parts.size() && parts[at] == name && ++at != 0;
    };
    const bool shared = has("shared"), local = !shared && has("local");
    const bool parameters = !shared && !local && has("param");
    if (!shared && !local && !parameters) has("global");
    if (is_load) (void)(has("nc") || has("cg"));  // caches have nothing else here
    (void)(has("v2") || has("v4"));
    if (at + 1 != parts.size()) return nullptr;
    if (shared) return load_or_store<Space::kShared>(is_load, parts[at]);
    if (local) return load_or_store<Space::kLocal>(is_load, parts[at]);
    if (parameters) return is_load ? load_or_store<Space::kParameters>(true, parts[at]) : nullptr;
    return load_or_store<Space::kGeneric>(is_load, parts[at]);
}

template <bool kResult>
Step atomic_of(std::string_view name, std::string_view type) {
    if (name == "add") return of_integer(type, GYM_STEP(atomic<T, Add, kResult>));
    if (name == "max") return of_integer(type, GYM_STEP(atomic<T, Maximum, kResult>));
    return nullptr;
}
Step atomics(const Parts& parts) {
    Parts rest;
    for (const std::string_view part : parts)
        if (part != "global" && part != "relaxed" && part != "gpu") rest.push_back(part);
    if (rest.size() != 3) return nullptr;
    return rest[0] == "atom" ? atomic_of<true>(rest[1], rest[2])
                             : atomic_of<false>(rest[1], rest[2]);
}

Step address_conversion(std::string_view opcode) {
    if (opcode == "cvta.shared.u64") return &shared_to_generic;
    if (opcode == "cvta.to.shared.u64") return &generic_to_shared;
    for (const char* const same : {"cvta.to.global.u64", "cvta.global.u64", "cvta.local.u64",
                                   "cvta.to.local.u64", "cvta.param.u64", "cvta.to.param.u64"})
        if (opcode == same) return &move<std::uint64_t>;
    return nullptr;
}

Step one_of_a_kind(std::string_view opcode) {
    if (opcode == "bra" || opcode == "bra.uni") return &branch;
    if (opcode == "ret" || opcode == "exit") return &leave;
    if (opcode == "bar.sync" || opcode == "barrier.sync") return &barrier;
    if (opcode == "shfl.sync.bfly.b32") return &shuffle;
    if (opcode == "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32") return &multiply_bytes;
    if (opcode == "ldmatrix.sync.aligned.m8n8.x4.shared.b16") return &load_matrices;
    if (opcode == "cp.async.cg.shared.global") return &copy_async;
    if (opcode == "cp.async.commit_group") return &copy_commit;
    if (opcode == "cp.async.wait_group") return &copy_wait;
    if (opcode == "shf.l.wrap.b32") return &three_words<funnel_left>;
    if (opcode == "shf.r.wrap.b32") return &three_words<funnel_right>;
    if (opcode == "prmt.b32") return &three_words<permute_bytes>;
    if (opcode == "bfe.u32") return &three_words<extract_bits>;
    if (opcode == "bfi.b32") return &four_words<insert_bits>;
    if (opcode == "lop3.b32") return &four_words<logic_of_three>;
    if (opcode == "mov.pred") return &move<bool>;
    return nullptr;
}

}  // namespace

Step find_step(std::string_view opcode) {
    if (const Step step = one_of_a_kind(opcode); step != nullptr) return step;
    const Parts parts = split(opcode);
    if (parts.size() < 2) return nullptr;
    const std::string_view name = parts[0];
    if (name == "cvta") return address_conversion(opcode);
    if (name == "setp") return comparison(parts);
    if (name == "cvt") return conversion(parts, opcode);
    if (name == "ld" || name == "st") return memory(parts);
    if (name == "atom" || name == "red") return atomics(parts);
    if (name == "mov" && parts.size() == 2) return of_any(parts[1], GYM_STEP(move<T>));
    if (name == "selp" && parts.size() == 2) return of_any(parts[1], GYM_STEP(choose<T>));
    if (parts.back() == "f32") return float_arithmetic(parts);
    if ((name == "mul" || name == "mad") && parts.size() == 3) return multiply(parts);
    if (parts.size() != 2) return nullptr;
    if (const Step step = logic(parts); step != nullptr) return step;
    return integer_arithmetic(parts);
}

}  // namespace gym::ptx
