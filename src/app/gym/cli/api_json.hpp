#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "gym/common/bytes.hpp"
#include "gym/common/json_fields.hpp"
#include "gym/common/result.hpp"

/// Reading what gym-api answers: what throws is turned into an error by read_answer().
namespace gym::app::api_json {

using json_fields::amount_of;
using json_fields::fixed_of;
using json_fields::number_of;
using json_fields::take;
using json_fields::text_of;

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
