#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <string>
#include <utility>

#include "gym/common/amount.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// What every binding file shares: errors, amounts of money, and calls without Python's lock.
namespace gym::python {

/// An Error on its way to Python, where zoo_gym.errors has a class for each code.
class RaisedError : public std::exception {
  public:
    explicit RaisedError(Error error) : error_(std::move(error)) {}
    [[nodiscard]] const Error& error() const noexcept { return error_; }
    [[nodiscard]] const char* what() const noexcept override { return error_.message.c_str(); }

  private:
    Error error_;
};

/// Makes `module` raise RaisedError as the class of zoo_gym.errors. Call once a module.
void register_errors();

/// The value, or RaisedError.
template <class T>
T unwrap(Result<T> result) {
    if (!result.ok()) throw RaisedError(result.error());
    return std::move(result).value();
}
inline void unwrap(const Status& status) {
    if (!status.ok()) throw RaisedError(status.error());
}

/// Runs `work` while other Python threads may run, and unwraps its Result.
template <class Work>
auto unlocked(Work&& work) {
    auto result = [&] {
        const pybind11::gil_scoped_release release;
        return std::forward<Work>(work)();
    }();
    return unwrap(std::move(result));
}

/// Tokens as a decimal.Decimal, exactly.
[[nodiscard]] pybind11::object to_decimal(const Amount& amount);
/// A text like "12.5". Raises for anything else.
[[nodiscard]] Amount parse_amount(const std::string& tokens, const char* name);
/// A 0x... root or id. Raises for anything else.
[[nodiscard]] Digest parse_digest(const std::string& text, const char* name);

}  // namespace gym::python
