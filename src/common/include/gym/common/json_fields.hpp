#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"

/// Members of an object of somebody else's making. Each throws a std::exception if the member is
/// missing or has another form; whoever reads a whole document catches it and names the document.
/// Pure functions, safe from any thread.
namespace gym::json_fields {

/// The value; throws the error's message, which loses its code.
template <class T>
T take(Result<T> result) {
    if (!result.ok()) throw std::runtime_error(result.error().message);
    return std::move(result).value();
}
/// Of the object: valid as long as it is.
inline std::string_view view_of(const boost::json::object& object, std::string_view key) {
    const boost::json::string& text = object.at(key).as_string();
    return {text.data(), text.size()};
}
inline std::string text_of(const boost::json::object& object, std::string_view key) {
    return std::string(view_of(object, key));
}
/// Throws also for a fraction and for what a T cannot hold.
template <class T = std::uint64_t>
T number_of(const boost::json::object& object, std::string_view key) {
    return object.at(key).to_number<T>();
}
/// An Address, a Digest, a Signature.
template <class T>
T fixed_of(const boost::json::object& object, std::string_view key) {
    return take(T::parse(view_of(object, key)));
}
/// Wei, as decimal text.
inline Amount amount_of(const boost::json::object& object, std::string_view key) {
    return take(Amount::parse(view_of(object, key)));
}

}  // namespace gym::json_fields
