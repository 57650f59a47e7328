#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gym/commit/dtype.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/program/opcode.hpp"

/// The exact-op IR: a program is a list of ops over typed slots of fixed shape (docs/PROGRAMS.md).
namespace gym::program {

using commit::DType;

/// The meaning of every op; raised when any bit of any result would change.
inline constexpr std::uint32_t kNumericsVersion = 1;

// Bounds beyond which a program is refused.
inline constexpr std::size_t kRankMax = 5;
inline constexpr std::size_t kSlotsMax = std::size_t{1} << 16;
inline constexpr std::size_t kOpsMax = std::size_t{1} << 16;
inline constexpr std::size_t kOutputsMax = 4096;
inline constexpr std::size_t kNameBytesMax = 48;
inline constexpr std::uint64_t kSlotElementsMax = std::uint64_t{1} << 31;
inline constexpr std::uint64_t kConstantBytesMax = std::uint64_t{1}
                                                   << 26;  ///< all constants together
inline constexpr std::uint64_t kProductLengthMax = std::uint64_t{1} << 20;  ///< K of a matmul

using SlotId = std::uint32_t;
inline constexpr SlotId kNoSlot = 0xFFFFFFFF;
using Dims = std::vector<std::uint32_t>;

enum class SlotKind : std::uint8_t {
    kParam = 1,     ///< trained; initialised by `init`; carried to the next step by `next`
    kState = 2,     ///< optimizer state; the same
    kConstant = 3,  ///< `value`, fixed by the program
    kInput = 4,     ///< given anew for every run
    kTemp = 5,      ///< written by exactly one op, before every use
};

/// How a param or state slot begins (docs/NUMERICS.md, "Randomness").
struct Init {
    enum class Kind : std::uint8_t {
        kNone = 0,      ///< every other slot
        kConstant = 1,  ///< every element has these bits
        kNormal = 2,    ///< approximately normal with mean 0; `bits` is the f32 deviation
    };
    Kind kind = Kind::kNone;
    std::uint32_t bits = 0;
    friend bool operator==(const Init&, const Init&) = default;
};

struct Slot {
    std::string name;  ///< [a-z0-9_.], 1 to kNameBytesMax, unique; empty for temps
    SlotKind kind = SlotKind::kTemp;
    DType dtype = DType::kF32;
    Dims dims;  ///< 1 to kRankMax of them, each at least 1
    Init init;
    /// param, state: the slot whose value this one has at the next step (itself if unchanged).
    SlotId next = kNoSlot;
    Bytes value;  ///< constants: little-endian row-major

    friend bool operator==(const Slot&, const Slot&) = default;
};

[[nodiscard]] std::uint64_t element_count(const Dims& dims);
[[nodiscard]] std::uint64_t size_bytes(const Slot& slot);
[[nodiscard]] std::string to_string(const Dims& dims);

struct Op {
    Opcode code = Opcode::kFill;
    std::vector<SlotId> inputs;
    std::vector<SlotId> outputs;
    std::array<std::uint64_t, kAttributesMax> attributes{};  ///< unused ones are 0

    /// Attribute `index` as the f32 it holds the bits of.
    [[nodiscard]] float f32(std::size_t index) const {
        return std::bit_cast<float>(static_cast<std::uint32_t>(attributes[index]));
    }
    friend bool operator==(const Op&, const Op&) = default;
};

/// A slot whose value after a run has a meaning ("loss", "grad_norm", "logits").
struct Output {
    std::string name;
    SlotId slot = kNoSlot;
    friend bool operator==(const Output&, const Output&) = default;
};

/// A program before it is checked.
struct ProgramParts {
    std::uint32_t numerics_version = kNumericsVersion;
    std::vector<Slot> slots;
    std::vector<Op> ops;
    std::vector<Output> outputs;
    friend bool operator==(const ProgramParts&, const ProgramParts&) = default;
};

/// A legal program: every rule of validate.hpp holds. Immutable; safe to share between threads.
class Program {
  public:
    /// @errors kShapeMismatch, kOutOfRange, kInvalidArgument: which op or slot breaks which rule.
    static Result<Program> create(ProgramParts parts);

    [[nodiscard]] std::uint32_t numerics_version() const { return parts_.numerics_version; }
    [[nodiscard]] const std::vector<Slot>& slots() const { return parts_.slots; }
    [[nodiscard]] const std::vector<Op>& ops() const { return parts_.ops; }
    [[nodiscard]] const std::vector<Output>& outputs() const { return parts_.outputs; }
    [[nodiscard]] const ProgramParts& parts() const { return parts_; }
    [[nodiscard]] const Slot& slot(SlotId id) const { return parts_.slots[id]; }

    /// The named (non-temp) slot or output; kNoSlot if there is none.
    [[nodiscard]] SlotId find_slot(std::string_view name) const noexcept;
    [[nodiscard]] SlotId find_output(std::string_view name) const noexcept;
    /// The slots of one kind, in slot order.
    [[nodiscard]] std::vector<SlotId> slots_of(SlotKind kind) const;

    friend bool operator==(const Program&, const Program&) = default;

  private:
    explicit Program(ProgramParts parts) : parts_(std::move(parts)) {}
    ProgramParts parts_;
};

}  // namespace gym::program
