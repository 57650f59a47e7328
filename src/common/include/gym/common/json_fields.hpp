#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gym/common/amount.hpp"
#include "gym/common/result.hpp"

/// The one way to read members of JSON from outside: files, answers, requests. Each function throws
/// a std::exception that names the member and what was expected, such as
/// "credits[3].amount_wei: expected an amount in wei as decimal text, found null". The reader of a
/// whole document catches it and names the document. Pure functions, safe from any thread.
namespace gym::json_fields {

namespace detail {

/// A part of what stands in the place of the expected value.
inline std::string shown(const boost::json::value& value) {
    constexpr std::size_t kShownMax = 40;
    std::string text = boost::json::serialize(value);
    if (text.size() > kShownMax) text = text.substr(0, kShownMax) + "...";
    return text;
}

[[noreturn]] inline void reject(std::string_view key, std::string_view expected,
                                const boost::json::value* found) {
    throw std::runtime_error(
        std::string(key) + ": expected " + std::string(expected) +
        (found == nullptr ? ", but it is missing" : ", found " + shown(*found)));
}

/// Calls `read`; an error inside of it is about a part of `name`.
template <class Read>
decltype(auto) within(const std::string& name, Read&& read) {
    try {
        return read();
    } catch (const std::exception& error) {
        throw std::runtime_error(name + "." + error.what());
    }
}

}  // namespace detail

/// The value; throws the error's message, which loses its code.
template <class T>
T take(Result<T> result) {
    if (!result.ok()) throw std::runtime_error(result.error().message);
    return std::move(result).value();
}
/// The same of the member `key`, which the message then names.
template <class T>
T take(std::string_view key, Result<T> result) {
    if (!result.ok()) throw std::runtime_error(std::string(key) + ": " + result.error().message);
    return std::move(result).value();
}

/// The member, of any form.
inline const boost::json::value& member_of(const boost::json::object& object,
                                           std::string_view key) {
    const boost::json::value* value = object.if_contains(key);
    if (value == nullptr) detail::reject(key, "a value", value);
    return *value;
}
/// Of the object: valid as long as it is.
inline std::string_view view_of(const boost::json::object& object, std::string_view key) {
    const boost::json::value* value = object.if_contains(key);
    if (value == nullptr || !value->is_string()) detail::reject(key, "a text", value);
    return {value->get_string().data(), value->get_string().size()};
}
inline std::string text_of(const boost::json::object& object, std::string_view key) {
    return std::string(view_of(object, key));
}
/// Throws also for a fraction and for what a T cannot hold.
template <class T = std::uint64_t>
T number_of(const boost::json::object& object, std::string_view key) {
    const boost::json::value* value = object.if_contains(key);
    boost::json::error_code error;
    if (value != nullptr && value->is_number())
        if (const T number = value->to_number<T>(error); !error) return number;
    detail::reject(key, std::is_unsigned_v<T> ? "a whole number of 0 or more" : "a number", value);
}
inline bool flag_of(const boost::json::object& object, std::string_view key) {
    const boost::json::value* value = object.if_contains(key);
    if (value == nullptr || !value->is_bool()) detail::reject(key, "true or false", value);
    return value->get_bool();
}
/// An Address, a Digest, a Signature.
template <class T>
T fixed_of(const boost::json::object& object, std::string_view key) {
    const auto parsed = T::parse(view_of(object, key));
    if (!parsed.ok())
        detail::reject(key, std::to_string(sizeof(T)) + " bytes in hex", object.if_contains(key));
    return *parsed;
}
/// Wei, as decimal text.
inline Amount amount_of(const boost::json::object& object, std::string_view key) {
    const boost::json::value* value = object.if_contains(key);
    if (value != nullptr && value->is_string())
        if (const auto amount = Amount::parse(view_of(object, key)); amount.ok()) return *amount;
    detail::reject(key, "an amount in wei as decimal text", value);
}

/// What `read(object, key)` returns, absent for null: null_or(object, "epoch", number_of<>). A
/// missing member is an error all the same.
template <class Read>
auto null_or(const boost::json::object& object, std::string_view key, Read&& read)
    -> std::optional<std::decay_t<decltype(read(object, key))>> {
    if (member_of(object, key).is_null()) return std::nullopt;
    return read(object, key);
}
/// What `read(object)` makes of a member that is an object.
template <class Read>
auto object_of(const boost::json::object& object, std::string_view key, Read&& read) {
    const boost::json::value* value = object.if_contains(key);
    if (value == nullptr || !value->is_object()) detail::reject(key, "an object", value);
    return detail::within(std::string(key), [&] { return read(value->get_object()); });
}
/// What `read(object)` makes of every item of a list of objects.
template <class Read>
auto list_of(const boost::json::object& object, std::string_view key, Read&& read) {
    const boost::json::value* value = object.if_contains(key);
    if (value == nullptr || !value->is_array()) detail::reject(key, "a list", value);
    std::vector<std::decay_t<decltype(read(object))>> out;
    out.reserve(value->get_array().size());
    for (const boost::json::value& item : value->get_array()) {
        const std::string name = std::string(key) + "[" + std::to_string(out.size()) + "]";
        if (!item.is_object()) detail::reject(name, "an object", &item);
        out.push_back(detail::within(name, [&] { return read(item.get_object()); }));
    }
    return out;
}

}  // namespace gym::json_fields
