#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gym/commit/dtype.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/state.hpp"

/// The form of a state without its bytes, and checks of weights that come from outside.
namespace gym::engine {

/// A tensor's name, dtype and dims.
struct TensorLayout {
    std::string name;
    commit::DType dtype = commit::DType::kF32;
    std::vector<std::uint64_t> dims;

    friend bool operator==(const TensorLayout&, const TensorLayout&) = default;
};
using StateLayout = std::vector<TensorLayout>;

[[nodiscard]] StateLayout layout_of(const State& state);
/// Of the base states of `program`: its parameters in slot order.
[[nodiscard]] StateLayout parameter_layout(const program::Program& program);

/// One byte string per layout.
[[nodiscard]] Bytes encode_layout(const StateLayout& layout);
/// @errors kMalformed, kOutOfRange as decode_state().
[[nodiscard]] Result<StateLayout> decode_layout(ByteView bytes);

/// "f32 [4, 16]".
[[nodiscard]] std::string shape_text(std::string_view dtype,
                                     const std::vector<std::uint64_t>& dims);

/// Everything in which given tensors differ from those that a program needs, for one error.
class Differences {
  public:
    void missing(std::string_view name, const std::string& needed);
    void reshaped(std::string_view name, const std::string& found, const std::string& needed);
    void extra(std::string_view name, const std::string& found);
    /// Success if there is none. @errors kNotFound if tensors are missing, kMalformed if there are
    /// too many, kShapeMismatch for other shapes or for differences of several kinds. The message
    /// names the first 500 tensors, and then how many are left.
    [[nodiscard]] Status status() const;

  private:
    void add(ErrorCode code, std::string text);
    std::vector<std::pair<ErrorCode, std::string>> found_;
};

/// Success if tensors of the layout `given` can be the base state of a program with `needed`.
/// @errors as Differences; kShapeMismatch for the same tensors in another order.
[[nodiscard]] Status check_layout(const StateLayout& needed, const StateLayout& given);

/// @errors kInvalidArgument naming each tensor with values that are NaN or infinite.
[[nodiscard]] Status check_finite(const State& state);

/// What is to be known about an encoded state.
struct StateSummary {
    Digest root;  ///< state_root()
    StateLayout layout;
};

/// Reads an encoded state that arrives in pieces of any size, in memory that its largest tensor
/// does not change. Accepts what decode_state() accepts, if all f32 are finite. Not thread-safe.
class StateScanner {
  public:
    StateScanner();
    ~StateScanner();
    StateScanner(StateScanner&&) noexcept;
    StateScanner& operator=(StateScanner&&) noexcept;

    /// @errors kMalformed, kOutOfRange as decode_state(), with the byte at which the state breaks;
    /// kInvalidArgument naming the tensor with a NaN or an infinity.
    Status append(ByteView part);
    /// @errors kMalformed if the state is not complete.
    [[nodiscard]] Result<StateSummary> finish() &&;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gym::engine
