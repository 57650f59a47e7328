#pragma once

#include <boost/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"

/// Reading what gym-api answers: every accessor throws std::exception for another form, which
/// read_answer() turns into an error.
namespace gym::app::api_json {

template <class T>
T take(Result<T> result) {
    if (!result.ok()) throw std::runtime_error(result.error().message);
    return std::move(result).value();
}
inline std::string text_of(const boost::json::object& object, std::string_view key) {
    return std::string(object.at(key).as_string());
}
template <class T = std::uint64_t>
T number_of(const boost::json::object& object, std::string_view key) {
    return object.at(key).to_number<T>();
}
/// An Address, a Digest, a Signature.
template <class T>
T fixed_of(const boost::json::object& object, std::string_view key) {
    return take(T::parse(text_of(object, key)));
}
inline Bytes bytes_of(const boost::json::object& object, std::string_view key) {
    return take(from_hex(text_of(object, key)));
}

/// @errors kMalformed naming `what`.
template <class F>
auto read_answer(const char* what, F&& body) -> Result<decltype(body())> {
    try {
        return body();
    } catch (const std::exception& error) {
        return fail(ErrorCode::kMalformed, std::string("gym-api's answer about a ") + what +
                                               " has another form: " + error.what());
    }
}

}  // namespace gym::app::api_json
