#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "gym/common/assert.hpp"

namespace gym {

/// Why an expected failure happened; callers branch on it, users read Error::message.
enum class ErrorCode {
    kInvalidArgument,    ///< the caller's input breaks a documented rule
    kMalformed,          ///< bytes, text or a message do not decode
    kShapeMismatch,      ///< tensor shapes or dtypes do not fit
    kNotFound,           ///< what was named does not exist
    kAlreadyExists,      ///< the name is taken by something else
    kConflict,           ///< same id, other content; or a state that forbids the request
    kUnauthenticated,    ///< the caller's identity could not be established
    kPermissionDenied,   ///< the caller may not do this
    kInsufficientFunds,  ///< an account cannot cover the amount
    kOutOfRange,         ///< a number is beyond a documented bound
    kMismatch,           ///< content does not hash to its root, or results differ
    kUnavailable,        ///< a peer, database or chain does not answer; retrying may help
    kTimeout,            ///< the deadline passed
    kCancelled,          ///< a stop was requested
    kIo,                 ///< the operating system refused a file or socket operation
    kInternal,           ///< a library failed in a way that input does not explain
};

/// The stable lower-case name of `code` ("not_found"), for logs and JSON.
[[nodiscard]] std::string_view to_string(ErrorCode code) noexcept;

/// An error: what happened, where, and what to do about it.
struct Error {
    ErrorCode code = ErrorCode::kInternal;
    std::string message;

    /// The same error with `where` put before its message ("loading p.gym: ...").
    [[nodiscard]] Error in(std::string_view where) const {
        return {code, std::string(where) + ": " + message};
    }
    friend bool operator==(const Error&, const Error&) = default;
};

/// A value or an Error. Reading the wrong side is a broken invariant and aborts.
template <class T>
class [[nodiscard]] Result {
  public:
    using value_type = T;
    Result(T value)
        : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

    [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
    explicit operator bool() const noexcept { return ok(); }

    [[nodiscard]] T& value() & {
        require_value();
        return *std::get_if<0>(&state_);
    }
    [[nodiscard]] const T& value() const& {
        require_value();
        return *std::get_if<0>(&state_);
    }
    [[nodiscard]] T&& value() && {
        require_value();
        return std::move(*std::get_if<0>(&state_));
    }
    [[nodiscard]] const Error& error() const {
        GYM_ASSERT(!ok(), "error() of a Result that holds a value");
        return *std::get_if<1>(&state_);
    }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    [[nodiscard]] T value_or(T fallback) const { return ok() ? value() : std::move(fallback); }

  private:
    void require_value() const {
        if (!ok()) [[unlikely]]
            assertion_failed("result.ok()", std::get_if<1>(&state_)->message, __FILE__, __LINE__);
    }
    std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
  public:
    using value_type = void;
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

    [[nodiscard]] bool ok() const noexcept { return !error_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    [[nodiscard]] const Error& error() const {
        GYM_ASSERT(!ok(), "error() of a Result that holds success");
        return *error_;
    }

  private:
    std::optional<Error> error_;
};

using Status = Result<void>;

/// Makes an Error; `fail(ErrorCode::kNotFound, "no job 7")` converts to any Result.
[[nodiscard]] inline Error fail(ErrorCode code, std::string message) {
    return Error{code, std::move(message)};
}

}  // namespace gym

#define GYM_CONCAT_INNER(a, b) a##b
#define GYM_CONCAT(a, b) GYM_CONCAT_INNER(a, b)

/// Returns the error of `expression` (a Result or Status) from the enclosing function, if it has
/// one.
#define GYM_CHECK(expression)                                              \
    do {                                                                   \
        if (auto gym_status = (expression); !gym_status.ok()) [[unlikely]] \
            return gym_status.error();                                     \
    } while (false)

/// `GYM_TRY(auto x, f());` declares x from f()'s value, or returns f()'s error.
#define GYM_TRY(declaration, expression) \
    GYM_TRY_INNER(GYM_CONCAT(gym_result_, __LINE__), declaration, expression)
#define GYM_TRY_INNER(name, declaration, expression) \
    auto name = (expression);                        \
    if (!name.ok()) [[unlikely]]                     \
        return name.error();                         \
    declaration = std::move(name).value()
